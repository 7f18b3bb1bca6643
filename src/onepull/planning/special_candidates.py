"""Candidates for special cases: no lowest reward, arms that change, rewards only, late feedback.

`candidates` lists what suits the problem.  Here that list is adapted to the environment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from onepull.environment import Environment
from onepull.errors import ParameterError
from onepull.payoff.box_points import is_finite, size
from onepull.planning.bounds import Delta
from onepull.planning.candidate import Candidate, is_coarse
from onepull.planning.candidates import UNPROVED, candidates, recommendations
from onepull.planning.grid_sizes import ladder
from onepull.policies import (
    DSEE,
    KLUCB,
    AdaptiveKL,
    CoarseKL,
    DiscountedKL,
    DiscountedUCB,
    Policy,
    RegressionUCB,
    RestartingUCB,
    SlidingWindowUCB,
)
from onepull.policies.recommendation import HEAD_START
from onepull.policies.rule_policy import RulePolicy
from onepull.problem import Problem
from onepull.simulation.feedback import check_feedback
from onepull.spaces import Interval

# How much can be simulated in about half a minute.
INTERPRETED = 800_000  # trials of all runs together, for a policy that is not compiled
SLOW_TRIALS = 100_000  # the same for one that keeps states or fits shapes
SEARCHED_TRIALS = 200_000  # the same for CoarseKL, whose index is a search
LOOKS = 10**8  # contexts × arms × states × trials of one run, if all contexts are gone through
FORGETFUL_CELLS = 128  # at most, for policies that forget: a change detector checks every cell


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The environments, horizon and feedback for which candidates are tried.

    Attributes
    ----------
    worlds
        The environment, or, if it is unknown, an environment with random arms for each run.
    horizon
        The number of trials; None if unknown.
    judged
        The trial up to which policies are simulated.
    runs
        The number of runs of each policy.
    feedback
        What a pull shows: its "state", or only its "reward".

    Examples
    --------
    >>> from onepull.environment import channel_selection
    >>> channels = channel_selection().with_late_feedback(delays=100)
    >>> Circumstances([channels], 10_000, 10_000, 20, "state").is_late
    True
    """

    worlds: Sequence[Environment]
    horizon: int | None
    judged: int
    runs: int
    feedback: str

    @property
    def is_late(self) -> bool:
        """Whether feedback may be late or lost."""
        return self.worlds[0].is_late

    @property
    def changes(self) -> int:
        """How often the distribution of some arm's states changes in the simulated trials."""
        pieces = [piece for piece in self.worlds[0].pieces() if piece.start < self.judged]
        return sum(
            any(old is not new for old, new in zip(before.states, after.states, strict=True))
            for before, after in pairwise(pieces)
        )


def offered(problem: Problem, met: Circumstances) -> tuple[list[Candidate], list[str]]:
    """Return the candidates for a problem in these circumstances, and notes on the choice.

    >>> from onepull.environment import channel_selection
    >>> channels = channel_selection()
    >>> found, notes = offered(channels.problem, Circumstances([channels], 500, 500, 4, "reward"))
    >>> [candidate.name for candidate in found]
    ['CoarseKL recommended', 'KLUCB per context', 'MultiUCB', 'UCB1']
    >>> print(notes[0])
    A pull shows only its reward, which may hide the state. Left out: DCB, EmpiricalKL and \
PatientKL, which cannot learn from it.
    """
    listed = without_bounds if is_endless(problem) else candidates
    found, notes = list(listed(problem, met.horizon)), []
    if is_endless(problem):
        notes.append(
            "The reward has no lowest value. Left out: policies that explore by its range."
        )
    if met.is_late or met.changes:
        found = [c for c in found if not c.build().traits.waits_to_explore]
    if met.changes:
        times = f"{met.changes} time{'s' * (met.changes > 1)}"
        notes.append(f"Arms change {times}; regret is against the arm that is best at the time.")
        if met.horizon != met.judged:
            notes.append("Regret after the simulated trials depends on the changes to come.")
        found += [] if is_endless(problem) else forgetting(problem, met.judged, met.changes)
    if met.feedback == "reward":
        found, note = _learning(problem, found, met)
        notes.append(note)
    if met.is_late:
        found = list(_announced(found))
        if any(candidate.is_announced for candidate in found):
            notes.append(
                "told of pulls: `policy.pulled` is called at every pull, so the policy also counts "
                "pulls in flight. Bytes do not include these. `policy.gave_up` is never called."
            )
    found, slow = _quick(problem, found, met)
    return found, notes + slow


def is_endless(problem: Problem) -> bool:
    """Return whether the reward has no lowest value.

    >>> from onepull.environment import channel_selection
    >>> is_endless(channel_selection().problem)
    False
    """
    return math.isinf(problem.payoff.whole_range[0])


def without_bounds(problem: Problem, horizon: int | None) -> Iterator[Candidate]:
    """Yield policies that need no lowest reward: the default, also with a small memory, and DSEE.

    >>> from onepull import Interval
    >>> latency = Problem(arms=["a"], state={"x": Interval(0, math.inf)}, reward="-x")
    >>> [candidate.name for candidate in without_bounds(latency, 1000)]
    ['AdaptiveKL recommended', 'AdaptiveKL 64 states an arm', 'DSEE blind']
    """
    yield from recommendations(problem, horizon)
    small = partial(AdaptiveKL, problem, kept=64)
    yield Candidate("AdaptiveKL", "64 states an arm", small, None, caution=UNPROVED)
    blind = partial(DSEE, problem, sharing="blind")
    several = problem.context.has_fields  # then the best arm may depend on the context
    yield Candidate(
        "DSEE", "blind", blind, None, learns_rewards=True, caution=UNPROVED, is_linear=several
    )


def forgetting(problem: Problem, trials: int, changes: int) -> Iterator[Candidate]:
    """Yield the policies that forget, tuned to a number of changes in a number of trials.

    With C changes in T trials a discount remembers 4√(T/C) trials and a window 2√(T ln T / C),
    after Garivier and Moulines (2011).  Restarting policies detect the changes.

    >>> from onepull.environment import channel_selection
    >>> problem = channel_selection().problem
    >>> [candidate.name for candidate in forgetting(problem, 40_000, 3)]
    ['DiscountedUCB 462 trials', 'SlidingWindowUCB 752 trials', 'DiscountedKL 462 trials', \
'RestartingUCB', 'RestartingUCB histogram']
    """
    delta = _coarse_delta(problem, trials)
    memory = max(2, round(4 * math.sqrt(trials / changes)))
    window = max(2, round(2 * math.sqrt(trials * math.log(trials) / changes)))
    plural = "s" * (changes > 1)
    tuned = f"its memory is tuned to {changes} change{plural} in {trials:,} trials"
    extra = partial(Candidate, bound=None, is_extra=True)
    fading = partial(DiscountedUCB, problem, discount=1 - 1 / memory, delta=delta)
    yield extra("DiscountedUCB", f"{memory:,} trials", fading, caution=tuned)
    sliding = partial(SlidingWindowUCB, problem, window=window, delta=delta)
    yield extra("SlidingWindowUCB", f"{window:,} trials", sliding, caution=tuned)
    sharp = partial(DiscountedKL, problem, discount=1 - 1 / memory)
    if _keeps_states(problem, sharp):
        yield extra("DiscountedKL", f"{memory:,} trials", sharp, caution=tuned)
    caution = "the rate of false alarms is bounded, but nothing is proved about its regret"
    restarting = partial(RestartingUCB, problem, delta=delta)
    yield extra("RestartingUCB", "", restarting, caution=caution)
    # A change may be seen earlier in the states than in the mean reward of any context.
    watching = partial(RestartingUCB, problem, sharing="histogram")
    if is_finite(problem.outcome) and size(problem.outcome) <= FORGETFUL_CELLS:
        yield extra("RestartingUCB", "histogram", watching, caution=caution)


def _keeps_states(problem: Problem, build: Callable[[], RulePolicy]) -> bool:
    """Whether the states can be kept as a histogram or a sketch with a small enough error."""
    try:
        return not is_coarse(problem, build().sharing.error)
    except ParameterError:
        return False


def _coarse_delta(problem: Problem, trials: int) -> Delta:
    """Return δ of the finest grid with few enough cells; None if contexts are finite."""
    if not any(isinstance(space, Interval) for space in problem.context.values()):
        return None
    deltas = ladder(problem, trials, most=FORGETFUL_CELLS)
    return list(deltas.values())[-1] if deltas else None


def _learning(
    problem: Problem, found: Sequence[Candidate], met: Circumstances
) -> tuple[list[Candidate], str]:
    """Return the candidates that learn from rewards only, and a note on the others."""
    kept = [c for c in found if c.learns_rewards or _learns(c.build(), met.worlds)]
    unable = [c.name for c in found if c not in kept and not c.is_recommended]
    if len(kept) == len(found):
        return kept, "A pull shows only its reward, which determines the state."
    hidden = "A pull shows only its reward, which may hide the state."
    if unable:
        hidden += f" Left out: {_listed(unable)}, which cannot learn from it."
    learning = list(recommendations(problem, met.horizon, "reward"))
    if not is_endless(problem):
        learning += context_by_context(problem, met.horizon)
    able = [c for c in learning if _learns(c.build(), met.worlds)]
    return [*able, *(c for c in kept if not c.is_recommended)], hidden


def context_by_context(problem: Problem, horizon: int | None) -> Iterator[Candidate]:
    """Yield kl-UCB for each context: faster than what is recommended, with a higher regret.

    There is none for continuous contexts.

    >>> from onepull.environment import channel_selection
    >>> [candidate.name for candidate in context_by_context(channel_selection().problem, None)]
    ['KLUCB per context']
    """
    start = HEAD_START if horizon is None else min(HEAD_START, horizon)
    build = partial(KLUCB, problem, sharing="per-context", head_start=start)
    if is_finite(problem.context):
        yield Candidate("KLUCB", "per context", build, None, learns_rewards=True, caution=UNPROVED)


def _learns(policy: Policy, worlds: Sequence[Environment]) -> bool:
    try:
        for world in worlds:
            check_feedback("", policy, world)
    except ParameterError:
        return False
    return True


def _announced(found: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield all candidates, and each leading one again with pulls in flight counted."""
    for candidate in found:
        yield candidate
        policy = candidate.build()
        if candidate.leads and policy.counts_in_flight:
            fields = ", ".join(f"{name}=…" for name in policy.problem.context)
            yield replace(
                candidate,
                label=f"{candidate.label}, told of pulls".removeprefix(", "),
                is_announced=True,
                caution=f"call policy.pulled(arm, {fields}) at every pull",
            )


def _quick(
    problem: Problem, found: Iterable[Candidate], met: Circumstances
) -> tuple[list[Candidate], list[str]]:
    """Return the candidates that can be simulated quickly, and a note on each of the others."""
    kept, notes = [], []
    for candidate in found:
        most = _last_trial(problem, candidate, met)
        if met.judged <= most:
            kept.append(candidate)
        else:
            notes.append(
                f"Left out: {candidate.name}, which is slow to simulate; with {met.runs} runs it "
                f"is tried up to trial {most:,}."
            )
    return kept, notes


def _last_trial(problem: Problem, candidate: Candidate, met: Circumstances) -> float:
    """Return the trial up to which a candidate can be simulated quickly."""
    from onepull.simulation.prepare import prepare  # noqa: PLC0415 - loads the compiler

    policy = candidate.build()
    if policy.traits.waits_to_explore:
        looked_at = size(problem.context) * size(problem.outcome) * len(problem.arms)
        return LOOKS // looked_at
    if isinstance(policy, CoarseKL):
        return SEARCHED_TRIALS // met.runs
    slow = isinstance(policy, AdaptiveKL | RegressionUCB)
    if not candidate.is_extra and not candidate.is_announced and not slow:
        return math.inf  # what suits any environment of the problem is never left out
    ready = prepare(
        policy,
        met.worlds[0],
        met.judged,
        sees_states=met.feedback == "state",
        announced=candidate.is_announced,
    )
    return math.inf if ready.is_compiled else (SLOW_TRIALS if slow else INTERPRETED) // met.runs


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
