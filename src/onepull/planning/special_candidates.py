"""Which policies could serve a problem as it is met: arms that change, rewards only, late feedback.

What suits the problem comes from `candidates`; here it is fitted to what is known of the run.
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
from onepull.planning.candidates import Candidate, candidates, is_coarse, ladder, recommendations
from onepull.policies import (
    KLUCB,
    DiscountedKL,
    DiscountedUCB,
    Policy,
    RestartingUCB,
    SlidingWindowUCB,
)
from onepull.policies.recommended import HEAD_START
from onepull.policies.rule_policy import RulePolicy
from onepull.problem import Problem
from onepull.simulation.feedback import check_feedback
from onepull.simulation.prepare import prepare as simulated
from onepull.spaces import Interval

# Trials of all runs together that take about half a minute, in the interpreter and of CoarseKL,
# whose index is itself a search.
INTERPRETED = 800_000
COARSE = 200_000
LOOKS = 10**8  # at a context, an arm and a state, of PatientKL in a run: as long
EXTRAS = ("DiscountedUCB", "SlidingWindowUCB", "DiscountedKL", "RestartingUCB")
FORGETFUL_CELLS = 128  # of what forgets: a change detector looks at every cell
LEADING = ("DCB", "CCB")
LED = ("", "T^-1/2", "recommended")  # the labels of those that lead their kind


@dataclass(frozen=True, slots=True)
class Circumstances:
    """How a plan is tried.

    Attributes
    ----------
    worlds
        The environment that is known, or the arms drawn at random for every run.
    horizon
        The number of trials; None where it is unknown.
    judged
        The trial up to which policies are simulated.
    runs
        How many runs of each.
    feedback
        What a pull shows: its "state", or nothing but its "reward".

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
        """Whether feedback may come late or never."""
        return self.worlds[0].is_late

    @property
    def changes(self) -> int:
        """How often the law of some arm's states changes in the trials simulated."""
        pieces = [piece for piece in self.worlds[0].pieces() if piece.start < self.judged]
        return sum(
            any(old is not new for old, new in zip(before.states, after.states, strict=True))
            for before, after in pairwise(pieces)
        )


def offered(problem: Problem, met: Circumstances) -> tuple[list[Candidate], list[str]]:
    """Return all that could serve a problem under the circumstances, and what to know of it.

    >>> from onepull.environment import channel_selection
    >>> channels = channel_selection()
    >>> found, notes = offered(channels.problem, Circumstances([channels], 500, 500, 4, "reward"))
    >>> [candidate.name for candidate in found]
    ['CoarseKL recommended', 'KLUCB per context', 'MultiUCB', 'UCB1']
    >>> print(notes[0])
    A pull shows nothing but its reward, which may hide the state. Left out: DCB and PatientKL, \
which cannot learn from it.
    """
    found, notes = candidates(problem, met.horizon), []
    if met.is_late or met.changes:
        # It goes by when contexts came with what was observed, and trusts what it saw long ago.
        found = [candidate for candidate in found if candidate.kind != "PatientKL"]
    if met.changes:
        times = f"{met.changes} time{'s' * (met.changes > 1)}"
        notes.append(f"Arms change {times}, and regret is against the best at the time.")
        if met.horizon != met.judged:
            notes.append("What comes after the trials simulated depends on the changes to come.")
        found += forgetting(problem, met.judged, met.changes)
    if met.feedback == "reward":
        found, note = _learning(problem, found, met)
        notes.append(note)
    if met.is_late:
        found = list(_announced(found))
        if any(candidate.is_announced for candidate in found):
            notes.append(
                "told of pulls: told of each at once by `policy.pulled`, it counts those in flight "
                "too, which are not among its bytes; losses are never called off."
            )
    found, slow = _quick(problem, found, met)
    return found, notes + slow


def forgetting(problem: Problem, trials: int, changes: int) -> Iterator[Candidate]:
    """Yield the policies that let go of the past, for so many changes in so many trials.

    Of T trials with C changes a discount remembers 4√(T/C) and a window 2√(T ln T / C), as
    Garivier and Moulines (2011) have it; restarts find the changes themselves.

    >>> from onepull.environment import channel_selection
    >>> problem = channel_selection().problem
    >>> [candidate.name for candidate in forgetting(problem, 40_000, 3)]
    ['DiscountedUCB 462 trials', 'SlidingWindowUCB 752 trials', 'DiscountedKL 462 trials', \
'RestartingUCB', 'RestartingUCB histogram']
    """
    delta = _coarse_delta(problem, trials)
    memory = max(2, round(4 * math.sqrt(trials / changes)))
    window = max(2, round(2 * math.sqrt(trials * math.log(trials) / changes)))
    tuned = f"what it remembers is tuned to {changes} change{'s' * (changes > 1)} in {trials:,} "
    tuned += "trials"
    fading = partial(DiscountedUCB, problem, discount=1 - 1 / memory, delta=delta)
    yield Candidate("DiscountedUCB", f"{memory:,} trials", fading, None, caution=tuned)
    sliding = partial(SlidingWindowUCB, problem, window=window, delta=delta)
    yield Candidate("SlidingWindowUCB", f"{window:,} trials", sliding, None, caution=tuned)
    sharp = partial(DiscountedKL, problem, discount=1 - 1 / memory)
    if _keeps_states(problem, sharp):
        yield Candidate("DiscountedKL", f"{memory:,} trials", sharp, None, caution=tuned)
    caution = "false alarms are bounded, of its regret nothing is proved"
    restarting = partial(RestartingUCB, problem, delta=delta)
    yield Candidate("RestartingUCB", "", restarting, None, caution=caution)
    # A change in the states may show sooner than one in the mean reward of any context.
    watching = partial(RestartingUCB, problem, sharing="histogram")
    if is_finite(problem.state) and size(problem.state) <= FORGETFUL_CELLS:
        yield Candidate("RestartingUCB", "histogram", watching, None, caution=caution)


def _keeps_states(problem: Problem, build: Callable[[], RulePolicy]) -> bool:
    """Whether the states can be listed or sketched well enough to be kept."""
    try:
        return not is_coarse(problem, build().sharing.error)
    except ParameterError:
        return False


def _coarse_delta(problem: Problem, trials: int) -> Delta:
    """Return δ of the finest grid that is coarse enough to forget on, if there must be one."""
    if not any(isinstance(space, Interval) for space in problem.context.values()):
        return None
    deltas = ladder(problem, trials, most=FORGETFUL_CELLS)
    return list(deltas.values())[-1] if deltas else None


def _learning(
    problem: Problem, found: Sequence[Candidate], met: Circumstances
) -> tuple[list[Candidate], str]:
    """Return those that learn from rewards alone, and what that leaves out."""
    kept = [c for c in found if c.learns_rewards or _learns(c.build(), met.worlds)]
    unable = [c.name for c in found if c not in kept and c.label != "recommended"]
    if len(kept) == len(found):
        return kept, "A pull shows nothing but its reward, which tells the state."
    hidden = "A pull shows nothing but its reward, which may hide the state."
    if unable:
        hidden += f" Left out: {_listed(unable)}, which cannot learn from it."
    learning = list(recommendations(problem, met.horizon, "reward"))
    if any(candidate.kind == "CoarseKL" for candidate in learning):
        learning += context_by_context(problem, met.horizon)
    able = [c for c in learning if _learns(c.build(), met.worlds)]
    return [*able, *(c for c in kept if c.label != "recommended")], hidden


def context_by_context(problem: Problem, horizon: int | None) -> Iterator[Candidate]:
    """Yield kl-UCB for each context, which decides sooner than `CoarseKL` and loses more.

    There is none where contexts are continuous.

    >>> from onepull.environment import channel_selection
    >>> [candidate.name for candidate in context_by_context(channel_selection().problem, None)]
    ['KLUCB per context']
    """
    start = HEAD_START if horizon is None else min(HEAD_START, horizon)
    build = partial(KLUCB, problem, sharing="per-context", head_start=start)
    if is_finite(problem.context):
        caution = "there is no proof of its regret"
        yield Candidate("KLUCB", "per context", build, None, learns_rewards=True, caution=caution)


def _learns(policy: Policy, worlds: Sequence[Environment]) -> bool:
    try:
        for world in worlds:
            check_feedback("", policy, world)
    except ParameterError:
        return False
    return True


def _announced(found: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield all, and after those that lead the same told of pulls in flight."""
    for candidate in found:
        yield candidate
        leads = candidate.kind in LEADING or candidate.label == "recommended"
        if not leads or candidate.label not in LED:
            continue
        policy = candidate.build()
        if policy.counts_in_flight:
            fields = ", ".join(f"{name}=…" for name in policy.problem.context)
            yield replace(
                candidate,
                label=f"{candidate.label}, told of pulls".removeprefix(", "),
                is_announced=True,
                caution=f"tell it of every pull at once: policy.pulled(arm, {fields})",
            )


def _quick(
    problem: Problem, found: Iterable[Candidate], met: Circumstances
) -> tuple[list[Candidate], list[str]]:
    """Return those that can be simulated in a short time, and a note on the others."""
    kept, notes = [], []
    for candidate in found:
        most = _last_trial(problem, candidate, met)
        if met.judged <= most:
            kept.append(candidate)
        else:
            notes.append(
                f"Left out: {candidate.name}, which takes long to simulate: it is tried up to "
                f"trial {most:,} with {met.runs} runs."
            )
    return kept, notes


def _last_trial(problem: Problem, candidate: Candidate, met: Circumstances) -> float:
    """Return up to which trial a candidate can be simulated in a short time."""
    if candidate.kind == "PatientKL":
        looked_at = size(problem.context) * size(problem.state) * len(problem.arms)
        return LOOKS // looked_at
    if candidate.kind == "CoarseKL":
        return COARSE // met.runs
    if candidate.kind not in EXTRAS and not candidate.is_announced:
        return math.inf  # what suits the problem as such is there, however long it takes
    ready = simulated(
        candidate.build(),
        met.worlds[0],
        met.judged,
        sees_states=met.feedback == "state",
        announced=candidate.is_announced,
    )
    return math.inf if ready.is_compiled else INTERPRETED // met.runs


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
