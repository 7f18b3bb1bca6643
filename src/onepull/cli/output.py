"""What commands share: tables, JSON, wrapped text and a progress bar."""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as RichTable

from onepull.html import printable
from onepull.report import Table

if TYPE_CHECKING:  # needs the simulator
    from onepull.experiments import BufferFolder, ResultFolder

as_json = click.option("--json", "as_json", is_flag=True, help="Print the tables as JSON.")
where = click.option(
    "--on",
    "where",
    default="threads",
    show_default=True,
    metavar="WHERE",
    help="Where to run: serial, threads[:N], processes[:N] or dask:ADDRESS.",
)


def need_simulator() -> None:
    """Raise `MissingExtra` now if the simulator's extra is not installed."""
    import_module("onepull.simulation.compiled")


def show(tables: Sequence[Table], *, as_json: bool) -> None:
    """Print tables to the terminal, or as one JSON object by title."""
    if as_json:
        click.echo(json.dumps({table.title: table.records() for table in tables}, indent=2))
        return
    console = Console(highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        for table in tables:
            console.print(printable(table.title), style="bold")
            for part in _parts(table, console):
                console.print()
                console.print(part)
            console.print()
            for note in table.notes:
                console.print(printable(note), style="dim")
            console.print()
    click.echo("\n".join(line.rstrip() for line in captured.get().rstrip().splitlines()))


def say_written(what: str, path: Path) -> None:
    """Say on standard error where something was written."""
    click.echo(f"{what} {printable(str(path))}", err=True)


def say_repaired(folder: ResultFolder | BufferFolder) -> None:
    """Say on standard error which damaged files a run has replaced."""
    if folder.repaired:
        _tell(f"damaged, so their replications were run again: {folder.repaired}")


def end_with_damage(folders: Iterable[ResultFolder | BufferFolder]) -> None:
    """End with exit code 1 if what was shown lacks replications whose files are damaged."""
    damaged = [folder for folder in folders if folder.damage]
    for folder in damaged:
        _tell(f"{folder.path}: {folder.damage}")
    if damaged:
        click.get_current_context().exit(1)


def _tell(text: str) -> None:
    click.echo(f"onepull: {printable(text)}", err=True)


def show_proposal(text: str) -> None:
    """Print a proposal: the call on a line of its own, and the reason wrapped to the terminal."""
    *call, reason = printable(text, keep="\n").split("\n")
    width = Console().width
    wrapped = textwrap.fill(reason, width, break_long_words=False, break_on_hyphens=False)
    click.echo("\n".join(["", *call, wrapped]))


def _parts(table: Table, console: Console) -> Iterator[RichTable]:
    """Yield a table that is too wide for the terminal in parts, each with the first column."""
    chosen = [0]
    for group in groups(table.columns):
        if len(chosen) > 1 and _laid_out(table, [*chosen, *group], console)[1] > console.width:
            yield _laid_out(table, chosen, console)[0]
            chosen = [0]
        chosen += group
    yield _laid_out(table, chosen, console)[0]


def groups(columns: Sequence[str]) -> list[list[int]]:
    """Return the positions of the columns after the first, those that belong together in a list.

    An error or an interval stays beside the number that it is about.

    >>> groups(["policy", "regret", "±", "worst", "vs DCB", "95 % interval"])
    [[1, 2], [3], [4, 5]]
    """
    found: list[list[int]] = []
    for i, name in enumerate(columns[1:], start=1):
        if found and name.startswith(("±", "95 %")):
            found[-1].append(i)
        else:
            found.append([i])
    return found


def _laid_out(table: Table, chosen: list[int], console: Console) -> tuple[RichTable, int]:
    """Return some columns of a table as rich prints them, and how wide they want to be."""
    columns = [table.columns[i] for i in chosen]
    made = Table("", columns, [[row[i] for i in chosen] for row in table.rows]).to_rich()
    made.title, made.show_edge, made.pad_edge = None, False, False
    unbounded = console.options.update(max_width=10_000)
    return made, console.measure(made, options=unbounded).maximum


@contextmanager
def progress(title: str) -> Iterator[Callable[[str, int, int, int], None]]:
    """Show a progress bar on standard error, if that is a terminal.

    Yields a function to call with the title of the work, its trials in one unit of work, and how
    many units are done and in total.
    """
    from onepull.simulation.compiled import is_warm  # noqa: PLC0415 - loads the compiler

    console = Console(stderr=True)
    if not is_warm():
        console.print("compiling the simulator, once for this version …", style="dim")
    columns = (
        TextColumn("{task.description}", markup=False),  # a name may contain [brackets]
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as bar:
        task = bar.add_task(printable(title), total=None, speed="")
        stage, started, base = "", 0.0, 0

        def update(title: str, horizon: int, done: int, total: int) -> None:
            nonlocal stage, started, base
            if title != stage:
                stage, started, base = title, time.monotonic(), done
                bar.reset(task, total=total, description=printable(title))
            spent = time.monotonic() - started
            rate = (done - base) * horizon / spent / 1e6 if spent > 0 else 0.0
            speed = f"{rate:.1f} million trials/s" if rate else ""
            bar.update(task, completed=done, total=total, speed=speed)

        yield update
