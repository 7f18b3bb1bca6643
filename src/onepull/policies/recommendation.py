"""The default policy for a problem."""

from __future__ import annotations

import math

import numpy as np

from onepull.checks import shown, whole_number
from onepull.errors import ParameterError, RewardError
from onepull.payoff import State
from onepull.payoff.box_points import points, size
from onepull.policies.hidden_states.coarse_kl import CoarseKL
from onepull.policies.kept_states.adaptive_kl import AdaptiveKL
from onepull.policies.policy import Policy
from onepull.policies.scheduled.dsee import DSEE
from onepull.policies.ucb.ccb import tuned_delta
from onepull.policies.ucb.kl_ucb import KLUCB
from onepull.problem import Problem, given_problem
from onepull.spaces import Interval

HEAD_START = 1000  # keeps the nominal error probability of a bound at 0.1 % or less
MOST_RECOMMENDED_CELLS = 4096
HORIZON = 1_000_000  # assumed for the size of cells if no horizon is given
FEEDBACK = ("state", "reward")
CONTEXTS_COMPARED = 256  # contexts in which to check whether the reward determines the state


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
        The number of trials, if known.  It only matters if the reward does not determine the
        state and `feedback` is "reward".
    feedback
        What `observe` will get: the "state", or only the "reward" with its context.  If the
        reward does not determine the state, the result is `CoarseKL`, which takes milliseconds
        per decision.  If there are too many states for that, it is `KLUCB` per context.
    seed
        Break ties at random with this seed or generator; without one the first of the tied arms
        wins.

    Examples
    --------
    >>> from onepull import Finite
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
    given_problem(problem)
    if not isinstance(feedback, str) or feedback not in FEEDBACK:  # type: ignore[redundant-expr]
        raise ParameterError(f"feedback must be {' or '.join(FEEDBACK)}, given {shown(feedback)}")
    start = _head_start(horizon)
    if feedback == "reward" and not _tells_state(problem):
        return _from_rewards(problem, horizon, start, seed)
    return AdaptiveKL(problem, seed=seed)


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
    policy = recommended(problem, horizon=horizon, feedback=feedback)
    if isinstance(policy, AdaptiveKL):
        reason = "the states are seen, so they are kept and revalued for every request"
        assumes = "the highest reward is known; arms may change over time"
    else:
        reason = "only rewards are seen, and they do not determine the state"
        assumes = "arms do not change over time"
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


def _from_rewards(
    problem: Problem, horizon: int | None, start: int, seed: int | np.random.Generator | None
) -> Policy:
    """Return the policy for rewards that do not determine the state."""
    try:
        return CoarseKL(problem, head_start=start, seed=seed)
    except ParameterError:  # too many states, or several interval fields
        cuts = any(isinstance(space, Interval) for space in problem.context.values())
        delta = _delta(problem, horizon or HORIZON) if cuts else None
        if math.isinf(problem.payoff.whole_range[0]):  # then it takes turns, which need no bounds
            return DSEE(problem, sharing="per-context", delta=delta, seed=seed)
        return KLUCB(problem, sharing="per-context", delta=delta, head_start=start, seed=seed)


def _tells_state(problem: Problem) -> bool:
    """Whether the reward determines the state, in a sample of contexts."""
    state = [column[0] for column in points(problem.state, 1, np.random.default_rng(0)).values()]
    payoff = problem.payoff_of(problem.arms[0])
    try:
        for context in _contexts(problem):
            payoff.invert(float(payoff.scalar(*context, *state)), context)
    except RewardError:
        return False
    return True


def _contexts(problem: Problem) -> list[State]:
    sample = points(problem.context, CONTEXTS_COMPARED, np.random.default_rng(0))
    return list(zip(*(column.tolist() for column in sample.values()), strict=True))


def _head_start(horizon: int | None) -> int:
    """Return the head start, which is at most the horizon."""
    return HEAD_START if horizon is None else min(HEAD_START, whole_number("horizon", horizon))


def _delta(problem: Problem, horizon: int) -> float | dict[str, float]:
    """Return δ for √T cells, at most `MOST_RECOMMENDED_CELLS`, the same number per field."""
    fields = [space for space in problem.context.values() if isinstance(space, Interval)]
    cells = min(math.sqrt(horizon), MOST_RECOMMENDED_CELLS / size(problem.context))
    each = max(cells ** (1 / len(fields)), 1.0)
    # δ is T^-(1-growth) times the width, which must be 1/each.
    growth = 1 - math.log(each) / math.log(max(horizon, 2))
    return tuned_delta(problem, max(horizon, 2), growth)
