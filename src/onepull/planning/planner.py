"""Sizing a policy before it is built: what each would keep, and what it would lose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from onepull.arrays import Array
from onepull.checks import number
from onepull.environment import Environment
from onepull.errors import ParameterError
from onepull.planning.candidates import HORIZONS, MOST_CELLS, Candidate, left_out
from onepull.planning.decision_time import microseconds
from onepull.planning.option import BYTES, Option
from onepull.planning.plan_tables import tables
from onepull.planning.random_instances import POINTS, instance
from onepull.planning.selection import propose
from onepull.planning.special_candidates import Circumstances, offered
from onepull.problem import Problem
from onepull.simulation import Simulation
from onepull.simulation.executors import open_executor
from onepull.simulation.feedback import FEEDBACK
from onepull.simulation.simulation import whole
from onepull.theory.instance import beyond

SIMULATED = 1_000_000  # trials at most of a known horizon
SIMULATED_UNKNOWN = 100_000  # and where it is not known

# Called with what is being done, its trials, how much of it is done, and of how much.
Progress: TypeAlias = Callable[[str, int, int, int], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What could be built, and what to build.

    Attributes
    ----------
    options
        A row for each candidate; where no horizon is known, for each horizon too.
    judged
        The trial by which they were compared.
    proposed
        What to build; None where nothing fits.
    reason
        Why, in one sentence, or what comes nearest.
    notes
        What a reader should know about the numbers.
    feedback
        What a pull shows: its "state", or nothing but its "reward".
    """

    problem: Problem
    horizon: int | None
    options: list[Option]
    judged: int
    proposed: Option | None
    reason: str
    notes: list[str]
    feedback: str = "state"

    @property
    def compared(self) -> list[Option]:
        """The options by the trial at which they were compared."""
        return [option for option in self.options if option.trial == self.judged]

    def proposal(self) -> str:
        """Return what to build and why, or what comes nearest.

        >>> from onepull.environment import channel_selection
        >>> option = Option("DCB", "", {}, 1000, 35, 900.0, np.array([9.0, 11.0]))
        >>> made = Plan(channel_selection().problem, 1000, [option], 1000, option, "it is best", [])
        >>> print(made)
        By trial 1,000
          policy  numbers  bytes  bound  regret    95 % interval
          DCB          35    280    900      10  −2.706 to 22.71
        <BLANKLINE>
        Proposed: DCB(problem)
        It is best.
        """
        sentence = f"{self.reason[0].upper()}{self.reason[1:]}"
        if self.proposed is None:
            return f"{sentence}."
        caution = f"; {self.proposed.caution}" if self.proposed.caution else ""
        return f"Proposed: {self.proposed.call}\n{sentence}{caution}."

    def __str__(self) -> str:
        """Lay out all options and the proposal."""
        return "\n\n".join([*map(str, tables(self)), self.proposal()])

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values."""
        chosen = self.proposed
        return {
            "horizon": self.horizon,
            "judged": self.judged,
            "feedback": self.feedback,
            "proposed": None if chosen is None else {**chosen.to_dict(), "call": chosen.call},
            "reason": self.reason,
            "options": [option.to_dict() for option in self.options],
            "notes": self.notes,
        }


def plan(  # noqa: PLR0913 - a full statement
    problem: Problem,
    *,
    environment: Environment | None = None,
    horizon: int | None = None,
    storage: int | None = None,
    regret: float | None = None,
    feedback: str = "state",
    replications: int = 20,
    seed: int = 0,
    timing: bool = True,
    progress: Progress | None = None,
) -> Plan:
    """Return what each candidate policy would keep and lose, and which of them to build.

    Parameters
    ----------
    environment
        How contexts and states are drawn.  Where it is not known, every run is on arms
        drawn at random.  Where its arms change, policies that forget are there too, and where
        feedback is late, policies that are told of pulls in flight.
    horizon
        The number of trials; None where it is unknown, which leaves the policies that need
        none.
    storage
        The bytes that may be kept.
    regret
        The regret that may be lost by the horizon.
    feedback
        What a pull shows: its "state", or nothing but its "reward".  That leaves out what
        cannot learn from rewards, and brings in what is recommended for them.
    replications
        Simulated runs, at least two.
    timing
        Whether to measure the time of a decision.

    Examples
    --------
    >>> from onepull.environment import channel_selection
    >>> channels = channel_selection()
    >>> made = plan(
    ...     channels.problem, environment=channels, horizon=2000, storage=200, replications=4,
    ...     timing=False,
    ... )
    >>> [(option.name, option.bytes) for option in made.options]
    [('DCB', 280), ('EmpiricalKL recommended', 504), ('PatientKL', 536), ('MultiUCB', 448), \
('UCB1', 112)]
    >>> made.proposed.call, made.reason
    ('UCB1(problem)', 'its regret is the least within 200 bytes, 681.5 (662.4 to 700.6)')
    """
    runs = whole("replications", replications, least=2)
    judged = _judged(horizon, storage, regret)
    trials = sorted({judged, *(HORIZONS if horizon is None else [horizon])})
    if feedback not in FEEDBACK:
        raise ParameterError(f"feedback must be {' or '.join(FEEDBACK)}, given {feedback!r}")
    if environment is not None and environment.budget is not None:
        raise ParameterError(
            "a plan is for pulls that cost nothing; for costs and a budget run an experiment "
            "with UCBALP"
        )
    worlds = _worlds(problem, runs, seed) if environment is None else [environment]
    met = Circumstances(worlds, horizon, judged, runs, feedback)
    found, known = offered(problem, met)
    unproved = beyond(worlds[0]) or ("they are for feedback at once" if met.is_late else "")
    if unproved:
        found = [replace(candidate, bound=None) for candidate in found]
    drafts = [_draft(candidate, trial) for trial in trials for candidate in found]
    marks = [trial for trial in trials if trial <= judged]
    regrets = _regrets(found, met, seed, marks, progress)
    times = _times(found, met, progress) if timing else {}
    options = [
        replace(
            draft,
            regrets=regrets.get((draft.name, draft.trial)),
            microseconds=times.get(draft.name) if draft.trial == judged else None,
        )
        for draft in drafts
    ]
    # Where trials go on after the simulation, what grows linearly must not be proposed for it.
    lasting = [o for o in options if horizon == judged or not o.is_linear]
    chosen, why = propose(
        [option for option in lasting if option.trial == judged], storage=storage, regret=regret
    )
    notes = list(_notes(met, unproved, is_known=environment is not None)) + known
    if len(lasting) < len(options):
        notes.append("Not proposed: what may lose in every trial for ever, with trials to come.")
    if unplanned := left_out(problem, horizon):
        told = f"more than {MOST_CELLS:,} cells"
        notes.append(f"Left out: δ = {' and '.join(unplanned)} of a width, {told}.")
    return Plan(problem, horizon, options, judged, chosen, why, notes, feedback)


def _judged(horizon: int | None, storage: int | None, regret: float | None) -> int:
    """Return the trial by which options are compared, after a look at what was asked for."""
    if storage is not None:
        whole("storage", storage)
    if regret is not None:
        number("regret", regret, above=0.0)
    if horizon is None:
        return SIMULATED_UNKNOWN
    if whole("horizon", horizon, least=2) > SIMULATED and regret is not None:
        raise ParameterError(
            f"a regret budget is judged by simulation, which goes up to trial {SIMULATED:,}; "
            f"given horizon={horizon:,}"
        )
    return min(horizon, SIMULATED)


def _worlds(problem: Problem, runs: int, seed: int) -> list[Environment]:
    """Return arms drawn at random, others for every run."""
    seeds = np.random.SeedSequence(whole("seed", seed, least=0)).spawn(runs)
    return [instance(problem, np.random.default_rng(own)) for own in seeds]


def _regrets(
    found: Sequence[Candidate],
    met: Circumstances,
    seed: int,
    marks: Sequence[int],
    progress: Progress | None,
) -> dict[tuple[str, int], Array]:
    """Return the regrets run by run, by candidate and trial; all meet the same draws."""
    policies = {candidate.name: candidate.build() for candidate in found}
    simulations = [
        Simulation(
            world,
            policies,
            horizon=marks[-1],
            seed=seed,
            checkpoints=marks,
            feedback=met.feedback,
            announced=[candidate.name for candidate in found if candidate.is_announced],
        )
        for world in met.worlds
    ]
    simulations[0].prepare()  # refuses what cannot be simulated

    def one(number: int) -> Array:
        simulation = simulations[number % len(simulations)]
        return simulation.block(number, number + 1).regrets

    parts: list[Array] = []  # [policy, run, mark]
    with open_executor("threads") as executor:
        for part in executor.map(one, range(met.runs)):
            parts.append(part)
            if progress is not None:
                progress("simulating", marks[-1] * len(found), len(parts), met.runs)
    regrets = np.concatenate(parts, axis=1)
    return {
        (name, mark): regrets[p, :, m]
        for p, name in enumerate(policies)
        for m, mark in enumerate(marks)
    }


def _times(
    found: Sequence[Candidate], met: Circumstances, progress: Progress | None
) -> dict[str, float]:
    """Return the microseconds of a decision by candidate."""
    times: dict[str, float] = {}
    for candidate in found:
        times[candidate.name] = microseconds(
            candidate.at(met.judged),
            met.worlds[0],
            learns_rewards=candidate.learns_rewards or met.feedback == "reward",
            is_announced=candidate.is_announced,
        )
        if progress is not None:
            progress("timing decisions", 0, len(times), len(found))
    return times


def _draft(candidate: Candidate, trial: int) -> Option:
    """Return what is known of a candidate before it is tried."""
    policy = candidate.build()
    grown = policy.storage_after(trial)
    return Option(
        kind=candidate.kind,
        label=candidate.label,
        parameters=policy.parameters,
        trial=trial,
        numbers=grown if candidate.settled is None else candidate.settled(trial).storage,
        bound=None if candidate.bound is None else candidate.bound(trial),
        regrets=None,
        caution=candidate.caution,
        policy=type(policy).__name__,
        is_linear=candidate.is_linear,
        is_announced=candidate.is_announced,
    )


def _notes(met: Circumstances, unproved: str, *, is_known: bool) -> Iterator[str]:
    told = f"mean of {met.runs} runs with the 95 % confidence interval of that mean"
    yield f"regret: {told}; all policies met the same draws."
    if not is_known:
        yield (
            "No environment was given, so each run is on other arms, drawn at random: an arm shows "
            f"one of {POINTS} random states with random weights. Contexts come evenly."
        )
    if met.horizon is None:
        yield f"The horizon is unknown: the policies are compared by trial {met.judged:,}."
    elif met.horizon > met.judged:
        yield f"Simulated up to trial {met.judged:,} only, by which the policies are compared."
    if unproved:
        yield f"No bounds: {unproved}."
    else:
        yield "bound: holds for any arms, with constants far too large to choose by."
    yield f"bytes: {BYTES} for each number kept."
