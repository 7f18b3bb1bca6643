"""What would have been chosen and earned under another formula or policy."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from onepull.arrays import Array
from onepull.checks import some
from onepull.errors import InputError, OnepullError, ParameterError
from onepull.policies.policy import Policy
from onepull.problem import Problem
from onepull.router.replay.arm_queues import ArmQueues, Learner
from onepull.router.replay.arm_values import best_arms
from onepull.router.replay.evidence import Evidence, Shown, shown_by
from onepull.router.state.draws import Draw
from onepull.store.events import Decided

CONTEXTS = 500  # different contexts that are looked at; evenly spread over the log
MEANING = (
    "the policy started anew, chose each request again, and was shown the logged outcomes of the "
    "arms that it chose, in their order; this assumes that the states of an arm depend neither on "
    "time, nor on the request, nor on the choice"
)


class Played(msgspec.Struct, frozen=True):
    """What was chosen, and what it is worth.

    Attributes
    ----------
    shares
        The share of the decisions that each arm got.
    value
        The mean reward of a decision, from all states that the log shows of the arms; None if it
        shows nothing of them.
    error
        The standard error of `value` for these choices.  It does not tell how differently a policy
        might have chosen if it had been shown other outcomes.
    """

    shares: dict[str, float]
    value: float | None
    error: float | None


class Replay(msgspec.Struct, frozen=True):
    """The decisions of a log beside those of another formula or policy.

    Attributes
    ----------
    policy, reward
        The policy that was replayed, and its formula; None if it is a Python callable.
    decisions, outcomes
        How many decisions were replayed, and from how many outcomes they are valued.
    left_out
        Outcomes that could not be valued under this formula.
    agreement
        The share of decisions for which both chose the same arm; None without decisions.
    earned
        The mean reward under this formula of what was pulled: exact, not an estimate.
    logged, replayed
        What was chosen and what would have been, both valued under this formula.
    notes
        What these numbers mean, and what limits them.

    Examples
    --------
    >>> from onepull import Finite, Interval
    >>> from onepull.router import Router
    >>> problem = Problem(
    ...     arms=["near", "far"], context={"bits": Finite([1, 4])},
    ...     state={"capacity": Finite([0, 2, 4])}, reward="min(bits, capacity)",
    ... )
    >>> with Router(problem, policy="EmpiricalKL") as router:
    ...     for i in range(40):
    ...         decision = router.choose(bits=4)
    ...         shown = 2 if decision.arm == "near" else 4 * (i % 3 == 0)
    ...         receipt = router.observe(decision, capacity=shown)
    ...     replay = router.replay(reward="capacity >= bits")
    >>> replay.decisions, replay.logged.shares["near"] > 0.5 > replay.replayed.shares["near"]
    (40, True)
    """

    policy: str
    reward: str | None
    decisions: int
    outcomes: int
    left_out: int
    agreement: float | None
    earned: float | None
    logged: Played
    replayed: Played
    notes: list[str]


class ArmInContext(msgspec.Struct, frozen=True):
    """The mean reward of an arm in a context; None where the log shows nothing of it."""

    arm: str
    value: float | None


class WhatIf(msgspec.Struct, frozen=True):
    """The arms under another formula, from the states in the log.

    Attributes
    ----------
    reward
        The formula; None if it is a Python callable.
    outcomes
        How many outcomes were valued.
    contexts
        The contexts that were looked at, with how often each occurred, and the mean reward of
        each arm there.
    now, other
        The arm with the highest mean reward under the present formula and under the other one,
        as shares of the contexts, and what always choosing it is worth under the other one.

    Examples
    --------
    >>> WhatIf("x", 0, [], Played({}, None, None), Played({}, None, None)).outcomes
    0
    """

    reward: str | None
    outcomes: int
    contexts: list[tuple[dict[str, Any], int, list[ArmInContext]]]
    now: Played
    other: Played


def replayed(
    policy: Policy, logged: Problem, events: Iterable[Any], *, seconds: float = math.inf
) -> Replay:
    """Choose again with a new policy, which is shown the outcomes of the arms that it chooses.

    It draws as a router with this policy would have drawn; `arm_queues` says what it is shown.
    After some `seconds` it stops.
    """
    deadline, is_cut = time.monotonic() + seconds, False
    queues = ArmQueues(events)
    problem, learner = policy.problem, Learner(policy, logged)
    open_arms = [arm for arm in problem.arms if arm in queues.arms]
    was: dict[tuple[str, Any], int] = {}
    would: dict[tuple[str, Any], int] = {}
    decisions = alike = loose = 0
    for place, event in enumerate(queues.events):
        if time.monotonic() > deadline:
            is_cut = True
            break
        learner.catch_up(place)
        if isinstance(event, Decided):
            choice = _choice(policy, event, open_arms)
            if choice is None:
                continue
            decisions += 1
            alike += choice == event.arm
            learner.pull(choice, event.context, place, queues.next(choice))
            context = problem.context.exactly(event.context)
            for arm, counts in ((event.arm, was), (choice, would)):
                counts[arm, context] = counts.get((arm, context), 0) + 1
        elif (shown := queues.loose.get(place)) is not None:
            loose += learner.learn(shown)
    evidence = Evidence(problem, logged, queues.shown)
    source = problem.reward.source
    notes = [f"stopped after {seconds:g} s; choose a shorter time span"] * is_cut
    closed = [arm for arm in problem.arms if arm not in open_arms]
    return Replay(
        policy=type(policy).__name__,
        reward=source if isinstance(source, str) else None,
        decisions=decisions,
        outcomes=len(queues.shown) - evidence.left_out,
        left_out=evidence.left_out,
        agreement=alike / decisions if decisions else None,
        earned=sum(evidence.earned) / len(evidence.earned) if evidence.earned else None,
        logged=_played(evidence, was),
        replayed=_played(evidence, would),
        notes=[*notes, *_notes(queues, decisions, closed, loose, learner.unshown)],
    )


def _notes(
    queues: ArmQueues, decisions: int, closed: Sequence[str], loose: int, unshown: int
) -> list[str]:
    """Return what the numbers of a replay mean, and what limits them."""
    if not decisions:
        return []
    notes = [MEANING]
    if count := sum(queues.reused.values()):
        arms = some(sorted(queues.reused))
        notes.append(
            f"{count:,} of {decisions:,} decisions were shown an outcome again, since the log has "
            f"fewer outcomes of {arms} than the policy asked for; there it is an approximation"
        )
    if loose:
        notes.append(f"{loose:,} outcomes of none of these decisions were learned as they came")
    if unshown:
        notes.append(
            f"{unshown:,} times there was an outcome that the policy could not be shown, so it "
            "learned nothing: a reward that does not tell the state says nothing about another "
            "formula, and some outcomes do not fit the policy or its problem"
        )
    if closed:
        notes.append(
            f"the log has no decision for {some(closed)}, so the policy could not choose it"
        )
    return notes


def _choice(policy: Policy, event: Decided, open_arms: Sequence[str]) -> str | None:
    """Return the arm that a policy chooses for a logged request, None if it cannot be replayed."""
    eligible = event.eligible
    if eligible is not None:
        eligible = tuple(arm for arm in eligible if arm in open_arms)
    elif len(open_arms) < len(policy.problem.arms):
        eligible = tuple(open_arms)
    if eligible is not None and not eligible:
        return None
    generator = Draw(event.id) if policy.draws else None
    try:
        return policy.decide(event.context, eligible=eligible, generator=generator).arm
    except InputError:
        return None


def _played(evidence: Evidence, counts: dict[tuple[str, Any], int]) -> Played:
    by_arm: dict[str, int] = {}
    for (arm, _), times in counts.items():
        by_arm[arm] = by_arm.get(arm, 0) + times
    total = sum(by_arm.values())
    value, error = evidence.value(_few(counts))
    return Played({arm: by_arm[arm] / total for arm in sorted(by_arm)}, value, error)


def _few(counts: dict[tuple[str, Any], int]) -> dict[tuple[str, Any], int]:
    """Return some of many different choices, each standing for its neighbours."""
    if len(counts) <= CONTEXTS:
        return counts
    by_arm: dict[str, list[tuple[Any, int]]] = {}
    for (arm, context), times in counts.items():
        by_arm.setdefault(arm, []).append((context, times))
    kept: dict[tuple[str, Any], int] = {}
    for arm, rows in by_arm.items():
        room = max(CONTEXTS * len(rows) // len(counts), 1)
        for i, (_, times) in enumerate(rows):
            context = rows[(i * room // len(rows)) * len(rows) // room][0]
            kept[arm, context] = kept.get((arm, context), 0) + times
    return kept


def what_if(
    present: Problem,
    reward: Any,
    events: Iterable[Any],
    contexts: Iterable[Mapping[str, Any]] | None,
) -> WhatIf:
    """Value the states of a log under another formula."""
    other = present if reward is None else present.with_reward(reward)
    shown: list[Shown] = []
    came: dict[Any, int] = {}
    for event in events:
        if (told := shown_by(event)) is not None:
            shown.append(told)
        elif isinstance(event, Decided) and contexts is None:
            try:
                context = present.context.exactly(event.context)
            except OnepullError:
                continue
            came[context] = came.get(context, 0) + 1
    for given in contexts or ():
        if not isinstance(given, Mapping):
            raise ParameterError("contexts takes tables of context fields by name")
        context = present.context.exactly(given)
        came[context] = came.get(context, 0) + 1
    few = {
        context: times
        for (_, context), times in _few({("", c): n for c, n in came.items()}).items()
    }
    now, then = (Evidence(problem, present, shown) for problem in (present, other))
    means = [each.means(list(few)) for each in (now, then)]
    best: list[dict[tuple[str, Any], int]] = [
        {
            (present.arms[j], context): few[context]
            for j, context in zip(best_arms(values).tolist(), few, strict=True)
            if j >= 0
        }
        for values in means
    ]
    rows = [
        (present.context.fields(context), times, _in_context(present, means[1][:, place]))
        for place, (context, times) in enumerate(few.items())
    ]
    source = other.reward.source
    return WhatIf(
        reward=source if isinstance(source, str) else None,
        outcomes=len(shown) - then.left_out,
        contexts=rows,
        now=_played(then, best[0]),
        other=_played(then, best[1]),
    )


def _in_context(problem: Problem, means: Array) -> list[ArmInContext]:
    known = [mean if math.isfinite(mean) else None for mean in means.tolist()]
    return [ArmInContext(arm, mean) for arm, mean in zip(problem.arms, known, strict=True)]
