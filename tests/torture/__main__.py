"""The command: `python tests/torture [AREA …] [--minutes M] [--case N]`."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

sys.path.insert(0, str(Path(__file__).parents[1]))
# Spawned processes import this package too.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
)

from torture.area import Area, Outcome
from torture.areas import AREAS
from torture.record import Record
from torture.runner import torture
from torture.tables import failures, summary, write


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("areas", nargs=-1, type=click.Choice(list(AREAS)))
@click.option("--minutes", default=10.0, show_default=True, help="How long to go on.")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=os.cpu_count() or 1,
    help="How many areas to run at a time; one for each core by default.",
)
@click.option("--case", "seed", type=int, help="Run one case and show its traceback.")
@click.option("--fresh", is_flag=True, help="Forget what was tried before.")
@click.option(
    "--record",
    "path",
    type=click.Path(path_type=Path),
    default=Path(".torture/record.json"),
    show_default=True,
    help="Where to keep what was tried.",
)
@click.option(
    "--write",
    "document",
    type=click.Path(path_type=Path, exists=True),
    help="Put the tables into this page.",
)
def main(  # noqa: PLR0913, PLR0917 - click passes one argument for each option
    areas: tuple[str, ...],
    minutes: float,
    workers: int,
    seed: int | None,
    fresh: bool,  # noqa: FBT001 - click passes flags so
    path: Path,
    document: Path | None,
) -> None:
    """Look for what breaks: random cases of every kind, one for each seed.

    A later run goes on where this one stopped.  The exit code is 1 if a case failed.
    """
    chosen = {name: area for name, area in AREAS.items() if name in areas or not areas}
    if seed is not None:
        for area in chosen.values():
            print("accepted" if area.case(seed) else "refused")  # noqa: T201 - the result
        return
    record = Record.open(path.resolve(), fresh=fresh)
    if minutes > 0:
        with tempfile.TemporaryDirectory(prefix="onepull-torture-") as folder:
            os.environ["TMPDIR"] = folder  # whatever a killed case leaves goes with it
            run(chosen, minutes, record, workers)
    console = Console()
    console.print(summary(chosen, record))
    if document is not None:
        write(document, AREAS, record)
    if found := failures(chosen, record):
        console.print(f"\n{len(found)} failed. To repeat a case:")
        for line in found[:40]:
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)


def run(chosen: dict[str, Area], minutes: float, record: Record, workers: int) -> None:
    """Run the areas with a progress bar each."""
    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[cases]:>9,} cases  {task.fields[failed]:>4} failed"),
        TimeRemainingColumn(),
    )
    whole = sum(area.share for area in chosen.values())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bars = {
            name: progress.add_task(
                name,
                total=60 * minutes * workers * area.share / whole,
                cases=0,
                failed=0,
                start=False,
            )
            for name, area in chosen.items()
        }

        def tell(area: Area, outcome: Outcome) -> None:
            bar = bars[area.name]
            progress.start_task(bar)
            tally = record.of(area.name)
            progress.update(
                bar,
                advance=outcome.seconds,
                cases=tally.cases,
                failed=len(tally.failures),
            )

        torture(chosen.values(), minutes, record, tell, workers)


if __name__ == "__main__":
    main()
