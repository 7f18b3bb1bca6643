"""What commands have in common: tables, JSON, and a bar that shows how far a run is."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as RichTable

from onepull.report import Table
from onepull.simulation.compiled import is_warm

as_json = click.option("--json", "as_json", is_flag=True, help="Print the tables as JSON.")
where = click.option(
    "--on",
    "where",
    default="threads",
    show_default=True,
    metavar="WHERE",
    help="serial, threads[:N], processes[:N] or dask:ADDRESS.",
)


def show(tables: Sequence[Table], *, as_json: bool) -> None:
    """Print tables to the terminal, or as one JSON object by title."""
    if as_json:
        click.echo(json.dumps({table.title: table.records() for table in tables}, indent=2))
        return
    console = Console(highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        for table in tables:
            console.print(table.title, style="bold")
            for part in _parts(table, console):
                console.print()
                console.print(part)
            console.print()
            for note in table.notes:
                console.print(note, style="dim")
            console.print()
    click.echo("\n".join(line.rstrip() for line in captured.get().rstrip().splitlines()))


def _parts(table: Table, console: Console) -> Iterator[RichTable]:
    """Yield a table that is too wide for the terminal in parts, each with the first column."""
    chosen = [0]
    for i in range(1, len(table.columns)):
        if len(chosen) > 1 and _laid_out(table, [*chosen, i], console)[1] > console.width:
            yield _laid_out(table, chosen, console)[0]
            chosen = [0]
        chosen.append(i)
    yield _laid_out(table, chosen, console)[0]


def _laid_out(table: Table, chosen: list[int], console: Console) -> tuple[RichTable, int]:
    """Return some columns of a table as rich prints them, and how wide they want to be."""
    columns = [table.columns[i] for i in chosen]
    made = Table("", columns, [[row[i] for i in chosen] for row in table.rows]).to_rich()
    made.title, made.show_edge, made.pad_edge = None, False, False
    unbounded = console.options.update(max_width=10_000)
    return made, console.measure(made, options=unbounded).maximum


@contextmanager
def progress(title: str) -> Iterator[Callable[[str, int, int, int], None]]:
    """Show a bar on standard error; yields what to call with (title, horizon, done, total)."""
    console = Console(stderr=True)
    if not is_warm():
        console.print("compiling the simulator, once for this version …", style="dim")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as bar:
        task = bar.add_task(title, total=None, speed="")
        stage, started, base = "", 0.0, 0

        def update(title: str, horizon: int, done: int, total: int) -> None:
            nonlocal stage, started, base
            if title != stage:
                stage, started, base = title, time.monotonic(), done
                bar.reset(task, total=total, description=title)
            spent = time.monotonic() - started
            rate = (done - base) * horizon / spent / 1e6 if spent > 0 else 0.0
            speed = f"{rate:.1f} million trials/s" if rate else ""
            bar.update(task, completed=done, total=total, speed=speed)

        yield update
