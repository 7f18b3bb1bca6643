"""`onepull plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from onepull.experiments import ResultFolder
from onepull.report import figures, save

KINDS: dict[str, Literal["nothing", "log", "root"]] = {
    "regret": "nothing",
    "regret/log": "log",
    "regret/root": "root",
}


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--kind", type=click.Choice([*KINDS, "pulls"]), default="regret", show_default=True)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    help="Draw this policy only, or those, if given again. [all; for pulls the first]",
)
@click.option("--log-y", is_flag=True, help="A logarithmic axis for the regret.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="*.svg, *.png or *.pdf")
def command(folder: Path, kind: str, policies: tuple[str, ...], out: Path, *, log_y: bool) -> None:
    """Draw regret, regret/ln n, regret/√n or pulls per arm of a result FOLDER."""
    if kind == "pulls" and len(policies) > 1:
        raise click.UsageError(f"pulls are drawn of one policy, given {', '.join(policies)}")
    opened = ResultFolder.open(folder)
    result = opened.result()
    if kind == "pulls":
        figure = figures.pulls(result, (policies or result.policies)[0])
    else:
        figure = figures.regret(
            result,
            KINDS[kind],
            title=opened.experiment.name,
            policies=policies or None,
            log_y=log_y,
        )
    save(figure, out)
    click.echo(f"drawn in {out}", err=True)
