"""`onepull plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from onepull.cli.output import end_with_damage, need_simulator, say_written
from onepull.experiments import ResultFolder
from onepull.report import figures, save

PLOT_KINDS: dict[str, Literal["nothing", "log", "root"]] = {
    "regret": "nothing",
    "regret/log": "log",
    "regret/root": "root",
}


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--kind",
    type=click.Choice([*PLOT_KINDS, "pulls"]),
    default="regret",
    show_default=True,
    help="What to draw: regret, regret/ln n, regret/√n, or the pulls of each arm.",
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    help="Draw this policy only; repeat to draw several. [default: all; for pulls, the first]",
)
@click.option("--log-y", is_flag=True, help="Use a logarithmic axis for the regret.")
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="The figure's file: *.svg, *.png or *.pdf.",
)
def command(folder: Path, kind: str, policies: tuple[str, ...], out: Path, *, log_y: bool) -> None:
    """Draw the regret or the pulls of a result FOLDER."""
    if kind == "pulls" and len(policies) > 1:
        raise click.UsageError(f"--kind pulls draws one policy, given {', '.join(policies)}")
    need_simulator()
    opened = ResultFolder.open(folder)
    result = opened.result()
    if kind == "pulls":
        figure = figures.pulls(result, (policies or result.policies)[0])
    else:
        figure = figures.regret(
            result,
            PLOT_KINDS[kind],
            title=opened.experiment.name,
            policies=policies or None,
            log_y=log_y,
        )
    save(figure, out)
    say_written("figure written to", out)
    end_with_damage([opened])
