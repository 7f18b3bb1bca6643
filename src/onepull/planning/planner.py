"""Choose a policy for a problem by simulating every candidate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from onepull.arrays import Array
from onepull.checks import number, whole_number
from onepull.environment import Environment
from onepull.errors import ParameterError
from onepull.planning.candidate import Candidate
from onepull.planning.decision_time import microseconds
from onepull.planning.grid_sizes import HORIZONS, MOST_GRID_CELLS, left_out
from onepull.planning.option import Option
from onepull.planning.plan_tables import plan_html, plan_tables
from onepull.planning.random_instances import STATES_PER_ARM, instance
from onepull.planning.selection import propose
from onepull.planning.special_candidates import Circumstances, is_endless, offered
from onepull.policies.recommendation import FEEDBACK
from onepull.problem import Problem, given_problem
from onepull.simulation import Simulation
from onepull.simulation.executors import open_executor
from onepull.simulation.result import AT_ZERO
from onepull.theory.instance import beyond
from onepull.theory.numbers_kept import BYTES

SIMULATED_TRIALS = 1_000_000  # trials at most, if the horizon is known
SIMULATED_TRIALS_UNKNOWN = 100_000  # trials, if it is not

# Called with the name of the work, its trials per unit, and the units done and in total.
Progress: TypeAlias = Callable[[str, int, int, int], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """The options for a problem, and the one that is proposed.

    Attributes
    ----------
    options
        A row for each candidate; if the horizon is unknown, for each of several horizons.
    judged
        The trial at which the options were compared.
    proposed
        The option to use; None if no option fits the budget.
    reason
        Why, in one sentence; or which option comes closest.
    notes
        How to read the numbers.
    feedback
        What a pull shows: its "state", or only its "reward".
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
        """The options at the trial at which they were compared."""
        return [option for option in self.options if option.trial == self.judged]

    def proposal(self) -> str:
        """Return the proposed call and the reason; or which option comes closest.

        >>> from onepull.environment import channel_selection
        >>> option = Option("DCB", "", {}, 1000, 35, 900.0, np.array([9.0, 11.0]))
        >>> made = Plan(channel_selection().problem, 1000, [option], 1000, option, "it is best", [])
        >>> print(made)
        At trial 1,000
          policy  numbers  bytes  bound  regret  95 % interval
          DCB          35    280    900      10     0 to 22.71
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
        """Return all options and the proposal as text."""
        return "\n\n".join([*map(str, plan_tables(self)), self.proposal()])

    def _repr_html_(self) -> str:
        """Return all options and the proposal for a notebook; the proposed row is highlighted."""
        chosen = None if self.proposed is None else self.proposed.name
        return plan_html(plan_tables(self), chosen, self.proposal())

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
    """Return the storage and the regret of every candidate policy, and which one to use.

    Needs the `simulate` extra.

    Parameters
    ----------
    environment
        How contexts and states are drawn.  If it is not given, each run has random arms.  If
        its arms change, policies that forget are tried too; if feedback is late, policies
        that count pulls in flight.
    horizon
        The number of trials.  None if unknown: then only policies that need no horizon are
        tried.
    storage
        The storage budget in bytes.
    regret
        The regret budget at the horizon.
    feedback
        What a pull shows: its "state", or only its "reward".  With rewards, policies that
        cannot learn from them are left out.
    replications
        The number of simulated runs, at least 2.
    seed
        The seed of the random draws.
    timing
        Whether to measure the time of a decision.
    progress
        A function that is called with the name of the work, its trials per unit, and the units
        done and in total.

    Examples
    --------
    >>> from onepull.environment import channel_selection
    >>> channels = channel_selection()
    >>> made = plan(
    ...     channels.problem, environment=channels, horizon=2000, storage=200, replications=4,
    ...     timing=False,
    ... )
    >>> [(option.name, option.bytes) for option in made.options]
    [('DCB', 280), ('AdaptiveKL recommended', 59984), ('EmpiricalKL', 504), ('PatientKL', 536), \
('MultiUCB', 448), ('UCB1', 112)]
    >>> made.proposed.call, made.reason
    ('UCB1(problem)', 'it has the lowest regret within 200 bytes, 681.5 (662.4 to 700.6)')
    """
    given_problem(problem)
    runs = whole_number("replications", replications, least=2)
    judged = _judged(horizon, storage, regret)
    trials = sorted({judged, *(HORIZONS if horizon is None else [horizon])})
    if feedback not in FEEDBACK:
        raise ParameterError(f"feedback must be {' or '.join(FEEDBACK)}, given {feedback!r}")
    if environment is not None and environment.budget is not None:
        raise ParameterError(
            "plan does not support an environment with costs and a budget; run an experiment with "
            "UCBALP instead"
        )
    worlds = _worlds(problem, runs, seed) if environment is None else [environment]
    met = Circumstances(worlds, horizon, judged, runs, feedback)
    found, known = offered(problem, met)
    endless = "the reward has no lowest value" if is_endless(problem) else ""
    prompt = "they assume prompt feedback" if met.is_late else ""
    unproved = beyond(worlds[0]) or endless or prompt
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
    # If the horizon is beyond the simulation, linear regret may not show yet.
    lasting = [o for o in options if horizon == judged or not o.is_linear]
    chosen, why = propose(
        [option for option in lasting if option.trial == judged], storage=storage, regret=regret
    )
    notes = list(_notes(met, unproved, is_known=environment is not None)) + known
    if any(option.is_cut for option in options):
        notes.insert(1, AT_ZERO)
    if len(lasting) < len(options):
        notes.append(
            "Policies whose regret may grow linearly are not proposed, since the horizon is beyond "
            "the simulation."
        )
    if not is_endless(problem) and (unplanned := left_out(problem, horizon)):
        told = f"which needs more than {MOST_GRID_CELLS:,} cells"
        notes.append(f"Left out: δ = {' and '.join(unplanned)} of the width, {told}.")
    return Plan(problem, horizon, options, judged, chosen, why, notes, feedback)


def _judged(horizon: int | None, storage: int | None, regret: float | None) -> int:
    """Return the trial at which options are compared; check the horizon and the budgets."""
    if storage is not None:
        whole_number("storage", storage)
    if regret is not None:
        number("regret", regret, above=0.0)
    if horizon is None:
        return SIMULATED_TRIALS_UNKNOWN
    if whole_number("horizon", horizon, least=2) > SIMULATED_TRIALS and regret is not None:
        raise ParameterError(
            f"a regret budget needs a horizon of at most {SIMULATED_TRIALS:,}, which can be "
            f"simulated; given horizon={horizon:,}"
        )
    return min(horizon, SIMULATED_TRIALS)


def _worlds(problem: Problem, runs: int, seed: int) -> list[Environment]:
    """Return an environment with random arms for each run."""
    seeds = np.random.SeedSequence(whole_number("seed", seed, least=0, most=None)).spawn(runs)
    return [instance(problem, np.random.default_rng(own)) for own in seeds]


def _regrets(
    found: Sequence[Candidate],
    met: Circumstances,
    seed: int,
    marks: Sequence[int],
    progress: Progress | None,
) -> dict[tuple[str, int], Array]:
    """Return the regret of every run by candidate and trial, all on the same draws."""
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
    simulations[0].prepare()  # raises if something cannot be simulated

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
    """Return the time of a decision in microseconds, by candidate."""
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
    """Return a candidate's row before it is simulated."""
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
    told = f"mean of {met.runs} runs, with the 95 % confidence interval of the mean"
    yield f"regret: {told}; the same draws for all policies."
    if not is_known:
        yield (
            "No environment was given, so each run has random arms: the state of an arm is one of "
            f"{STATES_PER_ARM} random states, with random weights. Contexts are uniform."
        )
    if met.horizon is None:
        yield f"The horizon is unknown; policies are compared at trial {met.judged:,}."
    elif met.horizon > met.judged:
        yield f"Policies are compared at trial {met.judged:,}; simulations end there."
    if unproved:
        yield f"No bounds: {unproved}."
    else:
        yield "bound: holds for any arms; its constants are too large to compare policies by."
    yield f"bytes: {BYTES} per number kept."
