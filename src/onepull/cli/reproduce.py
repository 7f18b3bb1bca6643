"""`onepull reproduce`."""

from __future__ import annotations

from pathlib import Path

import click

from onepull.cli.output import as_json, need_simulator, progress, say_written, show, where
from onepull.experiments.reproduction import FULL, QUICK, Reproduction
from onepull.simulation.executors import open_executor


@click.command()
@click.option("--quick", is_flag=True, help="Run fewer replications: seconds instead of minutes.")
@click.option("--tried", is_flag=True, help="Also try other interpretations of Table II.")
@click.option(
    "--seed",
    default=1,
    show_default=True,
    type=click.IntRange(0),
    help="The seed of the random draws.",
)
@click.option(
    "--out",
    default="reproduction",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Where to write the figures, tables and the report.",
)
@where
@as_json
def command(  # noqa: PLR0913 - an argument for each option
    *, quick: bool, tried: bool, seed: int, out: Path, where: str, as_json: bool
) -> None:
    """Run the paper's experiments and compare the results.

    Reproduces tables I and II and figures 4a, 4b and 5, and checks theorems 1 and 2, each next to
    the paper's numbers.
    """
    need_simulator()
    out.mkdir(parents=True, exist_ok=True)  # fails now rather than after minutes
    reproduction = Reproduction(QUICK if quick else FULL, seed)
    with open_executor(where) as executor, progress("") as update:
        reproduction.run(executor, update, with_variants=tried)
    report = reproduction.write(out)
    show(reproduction.tables(), as_json=as_json)
    say_written("report written to", report)
