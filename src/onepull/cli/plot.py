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
@click.option("--policy", help="Draw this policy only. [all; for pulls the first]")
@click.option("--log-y", is_flag=True, help="A logarithmic axis for the regret.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="*.svg, *.png or *.pdf")
def command(folder: Path, kind: str, policy: str | None, out: Path, *, log_y: bool) -> None:
    """Draw regret, regret/ln n, regret/√n or pulls per arm of a result FOLDER."""
    opened = ResultFolder.open(folder)
    result = opened.result()
    if kind == "pulls":
        figure = figures.pulls(result, policy or result.policies[0])
    else:
        figure = figures.regret(
            result,
            KINDS[kind],
            title=opened.experiment.name,
            policies=[policy] if policy else None,
            log_y=log_y,
        )
    save(figure, out)
    click.echo(f"drawn in {out}", err=True)
