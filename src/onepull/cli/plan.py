"""`onepull plan`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from onepull.cli.buffers import plan_for_buffer
from onepull.cli.output import need_simulator, progress, say_written, show, show_proposal
from onepull.errors import ParameterError
from onepull.experiments import read_problem_file
from onepull.experiments.buffer_experiment import BUFFERED, BufferProblemFile
from onepull.experiments.experiment import READY
from onepull.experiments.problem_file import ProblemFile
from onepull.planning import plan
from onepull.planning.plan_tables import picture, plan_tables
from onepull.policies.recommendation import FEEDBACK
from onepull.report import save
from onepull.report.drawing import kind_of
from onepull.report.table_cells import json_value
from onepull.simulation.limits import MOST_REPLICATIONS, MOST_TRIALS

UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}
MOST_BYTES = 2**63
UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30}


def size(text: str) -> int:
    """Return a size in bytes.

    >>> size("4096"), size("64kB"), size("1.5 KiB")
    (4096, 64000, 1536)
    """
    read = re.fullmatch(r"([0-9][0-9_]*(?:\.[0-9]+)?)\s*([A-Za-z]*)", text.strip())
    unit = UNITS.get(read[2].lower(), 0) if read else 0
    if read is None or not unit or not float(read[1]) * unit < MOST_BYTES:
        raise click.BadParameter(f"{text!r} is not a size such as 4096, 64kB or 1MiB")
    return int(float(read[1]) * unit)


def trials(text: str) -> int:
    """Return a number of trials; 0 for `none`.

    >>> trials("100000"), trials("1e5"), trials("none")
    (100000, 100000, 0)
    """
    if text.lower() == "none":
        return 0
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not (2 <= number <= MOST_TRIALS and number.is_integer()):
        raise click.BadParameter(f"{text!r} is not a whole number of at least 2, nor none")
    return int(number)


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--application",
    type=click.Choice([*READY, *BUFFERED]),
    metavar="NAME",
    help=f"A built-in application instead of FILE: {', '.join([*READY, *BUFFERED])}.",
)
@click.option(
    "--horizon",
    type=trials,
    metavar="TRIALS",
    help="The number of trials, or none if unknown. [default: FILE's, else none]",
)
@click.option("--storage", type=size, metavar="BYTES", help="The storage budget, such as 64kB.")
@click.option("--regret", type=float, help="The regret budget at the horizon.")
@click.option(
    "--feedback",
    type=click.Choice(FEEDBACK),
    help="What a pull shows. [default: FILE's, else state]",
)
@click.option("--level", type=float, help="For a backlog: the limit of the mean bits waiting.")
@click.option(
    "--lost",
    type=float,
    help="For a backlog: the limit of the share of bits lost. [default: 0.001]",
)
@click.option(
    "--replications",
    type=click.IntRange(2, MOST_REPLICATIONS),
    help="Simulated runs. [default: 20; with a battery or a queue 8]",
)
@click.option(
    "--seed", type=click.IntRange(0), help="The seed of the random draws. [default: FILE's, else 0]"
)
@click.option(
    "--picture",
    "out",
    type=click.Path(path_type=Path),
    help="Draw regret and time against storage: *.svg, *.png or *.pdf.",
)
@click.option("--no-timing", is_flag=True, help="Do not measure the time of a decision.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def command(  # noqa: PLR0913 - an argument for each option
    *,
    file: Path | None,
    application: str | None,
    horizon: int | None,
    storage: int | None,
    regret: float | None,
    feedback: str | None,
    level: float | None,
    lost: float | None,
    replications: int | None,
    seed: int | None,
    out: Path | None,
    no_timing: bool,
    as_json: bool,
) -> None:
    """Choose a policy for the problem in FILE.

    Shows the storage, the bound on regret, the simulated regret and the decision time of every
    policy that suits the problem, and proposes one: the best within a budget of storage or
    regret, or, without a budget, the smallest that is as good as the best.  The exit code is 1 if
    no policy fits the budget.

    If FILE has a battery or a queue, the command compares controllers instead.
    """
    need_simulator()
    brief = _problem_file(file, application)
    if isinstance(brief, BufferProblemFile):
        asked = {"horizon": horizon, "level": level, "lost": lost, "seed": seed}
        unfit = {"storage": storage, "regret": regret, "feedback": feedback, "picture": out}
        asked["replications"] = replications
        plan_for_buffer(brief, asked, refused=unfit, as_json=as_json)
        return
    if level is not None or lost is not None:
        raise ParameterError("--level and --lost need a file with a backlog")
    if out is not None:
        kind_of(out)  # before time is spent
    with progress("") as update:
        made = plan(
            brief.problem,
            environment=brief.environment,
            horizon=brief.horizon if horizon is None else horizon or None,
            storage=storage,
            regret=regret,
            feedback=feedback or brief.feedback,
            replications=replications or 20,
            seed=brief.seed if seed is None else seed,
            timing=not no_timing,
            progress=update,
        )
    if as_json:
        click.echo(json.dumps(_finite(made.to_dict()), indent=2))
    else:
        show(plan_tables(made), as_json=False)
        show_proposal(made.proposal())
    if out is not None:
        save(picture(made, brief.name), out)
        say_written("figure written to", out)
    if made.proposed is None:
        click.get_current_context().exit(1)


def _problem_file(file: Path | None, application: str | None) -> ProblemFile | BufferProblemFile:
    if file is not None and application is None:
        return read_problem_file(file)
    if file is not None or application is None:
        raise ParameterError("give either a FILE or --application")
    if application in BUFFERED:
        return BufferProblemFile(application, BUFFERED[application]())
    return ProblemFile.of_application(application)


def _finite(value: Any) -> Any:
    """Return values that JSON can hold; infinite numbers become null."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list) else json_value(value)
