"""`onepull theory`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from onepull.cli.output import as_json, need_simulator, show
from onepull.errors import ParameterError
from onepull.experiments import Experiment
from onepull.experiments.experiment import APPLICATIONS, READY
from onepull.experiments.theory_tables import default_delta, theory_tables, usual_policies
from onepull.simulation.limits import MOST_TRIALS


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--application",
    type=click.Choice(READY),
    metavar="NAME",
    help=f"A built-in application instead of FILE: {', '.join(READY)}.",
)
@click.option(
    "--horizon",
    type=click.IntRange(2, MOST_TRIALS),
    help="The trial n of the bounds. [default: FILE's, else 100,000]",
)
@click.option("--epsilon", default=0.01, show_default=True, help="ε of DCB and CCB.")
@click.option(
    "--delta",
    type=float,
    help="The cell width of continuous contexts. [default: T^-1/2 of the range]",
)
@as_json
def command(  # noqa: PLR0913 - an argument for each option
    file: Path | None,
    application: str | None,
    horizon: int | None,
    epsilon: float,
    delta: float | None,
    *,
    as_json: bool,
) -> None:
    """Show what is proved about the problem of an experiment FILE.

    Shows the gaps and sets of arms, the paper's bounds as printed and corrected, the lowest
    possible regret, and the storage of the policies.
    """
    if (file is None) == (application is None):
        raise ParameterError("give either an experiment FILE or --application")
    policies = None
    if file is not None:
        need_simulator()
        simulation = Experiment.read(file).simulation
        environment, policies = simulation.environment, simulation.policies
        horizon = horizon or simulation.horizon
    else:
        build: Any = APPLICATIONS[str(application)]
        environment = build()
    trials = horizon or 100_000
    width = delta if delta is not None else default_delta(environment, trials)
    if policies is None:
        policies = usual_policies(environment.problem, epsilon, width)
    show(
        theory_tables(environment, policies, horizon=trials, epsilon=epsilon, delta=width),
        as_json=as_json,
    )
