"""The default policy for a problem."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onepull.checks import shown, whole_number
from onepull.errors import ParameterError, RewardError
from onepull.payoff import State
from onepull.payoff.box_points import is_finite, points
from onepull.policies.hidden_states.coarse_kl import CoarseKL
from onepull.policies.hidden_states.regression_ucb import RegressionUCB
from onepull.policies.kept_states.adaptive_kl import AdaptiveKL
from onepull.policies.policy import Policy
from onepull.problem import Problem, given_problem

HEAD_START = 1000  # keeps the nominal error probability of a bound at 0.1 % or less
FEEDBACK = ("state", "reward")
CONTEXTS_COMPARED = 256  # contexts in which to check whether the reward determines the state
FEWEST_COMPARED = 8  # the same for each of many kinds of arms


def recommended(
    problem: Problem,
    *,
    horizon: int | None = None,
    feedback: str = "state",
    seed: int | np.random.Generator | None = None,
) -> Policy:
    """Return a new policy for a problem: the default choice.

    It is `AdaptiveKL`, which keeps the observed states themselves and finds out by itself how fast
    the arms change.  It takes any problem: jumps, prices, failures, states without bounds, many
    arms.  `print(recommended.why(problem))` says what it picks and what that assumes.

    Parameters
    ----------
    horizon
        The number of trials, if known.  It only matters if the result is `CoarseKL`.
    feedback
        What `observe` will get: the "state", or only the "reward" with its context.  If the
        reward determines the state, that makes no difference.  If not, the result is `CoarseKL`
        for up to 256 listed states, and for one bounded interval state with listed contexts.  It
        takes milliseconds per decision.  Otherwise it is `RegressionUCB`.
    seed
        Break ties at random with this seed or generator; without one the first of the tied arms
        wins.

    Examples
    --------
    >>> from onepull import Finite, Interval
    >>> problem = Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2, 3, 4])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... )
    >>> recommended(problem)
    <AdaptiveKL(2 arms, kept=512, adapts=True) after 0 trials>
    >>> recommended(problem, feedback="reward")
    <CoarseKL(2 arms, c=0.0, head_start=1000.0, knots=17) after 0 trials>
    """
    return _picked(problem, horizon, feedback, seed).policy


def why(problem: Problem, *, horizon: int | None = None, feedback: str = "state") -> str:
    """Return what `recommended` picks for a problem, why, and what that assumes.

    >>> from onepull import Finite
    >>> print(why(Problem(
    ...     arms={"a": {"price": 1}, "b": {"price": 2}},
    ...     state={"x": Finite([0, 1])}, reward="x - price",
    ... )))
    AdaptiveKL
    why: the states are seen, so they are kept and revalued for every request
    assumes: the highest reward is known; arms may change over time
    regret: no bound is known; its index is at least the empirical mean, and that of KL-UCB for \
large n if the memory settles on no change
    storage: 188 numbers now
    """
    policy, reason, assumes = _picked(problem, horizon, feedback, None)
    return "\n".join(
        [
            type(policy).__name__,
            f"why: {reason}",
            f"assumes: {assumes}",
            f"regret: {policy.guarantee}",
            f"storage: {policy.storage:,} numbers now",
        ]
    )


recommended.why = why  # type: ignore[attr-defined]  # so that it is found where it is needed


class _Pick(NamedTuple):
    """What is recommended, why, and what that assumes."""

    policy: Policy
    reason: str
    assumes: str


def _picked(
    problem: Problem, horizon: int | None, feedback: str, seed: int | np.random.Generator | None
) -> _Pick:
    given_problem(problem)
    if not isinstance(feedback, str) or feedback not in FEEDBACK:  # type: ignore[redundant-expr]
        raise ParameterError(f"feedback must be {' or '.join(FEEDBACK)}, given {shown(feedback)}")
    start = _head_start(horizon)
    if feedback == "reward" and not _tells_state(problem):
        return _from_rewards(problem, start, seed)
    seen = "the states are seen" if feedback == "state" else "the reward determines the state"
    return _Pick(
        AdaptiveKL(problem, seed=seed),
        f"{seen}, so they are kept and revalued for every request",
        "the highest reward is known; arms may change over time",
    )


def _from_rewards(problem: Problem, start: int, seed: int | np.random.Generator | None) -> _Pick:
    """Return the policy for rewards that do not determine the state."""
    assumes = "arms do not change over time"
    # Cells of an interval state are cut where the rewards of listed contexts bend or jump.
    if is_finite(problem.state) or is_finite(problem.context):
        try:
            return _Pick(
                CoarseKL(problem, head_start=start, seed=seed),
                "the reward does not determine the state, but says which of a few it may be",
                assumes,
            )
        except ParameterError:  # too many states, or several interval fields
            pass
    return _Pick(
        RegressionUCB(problem, seed=seed),
        "the reward does not determine the state, so the mean reward of each arm is fitted "
        "with the shapes that the formula can give it",
        assumes,
    )


def _tells_state(problem: Problem) -> bool:
    """Whether the reward determines the state, for each kind of arm in a sample of contexts."""
    state = [column[0] for column in points(problem.state, 1, np.random.default_rng(0)).values()]
    kinds = dict(zip(problem.known, problem.arms, strict=True)).values()
    contexts = _contexts(problem, max(FEWEST_COMPARED, CONTEXTS_COMPARED // len(kinds)))
    try:
        for arm in kinds:
            payoff = problem.payoff_of(arm)
            for context in contexts:
                payoff.invert(float(payoff.scalar(*context, *state)), context)
    except RewardError:
        return False
    return True


def _contexts(problem: Problem, count: int) -> list[State]:
    sample = points(problem.context, count, np.random.default_rng(0))
    return list(zip(*(column.tolist() for column in sample.values()), strict=True))


def _head_start(horizon: int | None) -> int:
    """Return the head start, which is at most the horizon."""
    return HEAD_START if horizon is None else min(HEAD_START, whole_number("horizon", horizon))
