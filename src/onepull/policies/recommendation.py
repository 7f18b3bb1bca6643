"""The default policy for a problem."""

from __future__ import annotations

import math

import numpy as np

from onepull.checks import shown, whole_number
from onepull.errors import ParameterError, RewardError
from onepull.factor import Sketch
from onepull.payoff import State
from onepull.payoff.box_points import is_finite, points, size
from onepull.policies.hidden_states.coarse_kl import CoarseKL
from onepull.policies.kept_states.adaptive_kl import AdaptiveKL
from onepull.policies.policy import Policy
from onepull.policies.scheduled.dsee import DSEE
from onepull.policies.states.empirical_kl import EmpiricalKL
from onepull.policies.ucb.ccb import tuned_delta
from onepull.policies.ucb.kl_ucb import KLUCB
from onepull.problem import Problem, given_problem
from onepull.spaces import Interval

HEAD_START = 1000  # keeps the nominal error probability of a bound at 0.1 % or less
MOST_STATES = 1100  # listed states per arm; a decision reads all of them
KNOTS = (65, 129, 257, 513)
FEW_KNOTS = (33, 17)  # per field, for two fields
SKETCH_ERROR = 0.02  # largest error of a sketch, as a share of the reward's range
MOST_CELLS = 4096
HORIZON = 1_000_000  # assumed for the size of cells if no horizon is given
FEEDBACK = ("state", "reward")
TRIED = 256  # contexts in which to check whether the reward determines the state


def recommended(
    problem: Problem,
    *,
    horizon: int | None = None,
    feedback: str = "state",
    seed: int | np.random.Generator | None = None,
) -> Policy:
    """Return a new policy for a problem: the default choice.

    If the states can be listed (as a histogram) or are bounded (as a sketch with an error of at
    most 2 % of the reward's range), it is `EmpiricalKL` with a head start of 1000 trials.  On the
    paper's seven channels its regret is 27 % of DCB(0.01)'s.  If every channel is best for some
    request, it is about DCB's, with rare runs that are far worse.  `IMED` mostly has less regret,
    but some of its runs stay with a wrong arm for a long time.

    Otherwise it is `AdaptiveKL`, which keeps the states themselves: if arms have attributes or
    pulls fail, if states have no bounds or several fields that a sketch would blur, or if the
    reward jumps.  Use `AdaptiveKL` also if your arms change over time.

    `print(recommended.why(problem))` says what it picks and what that assumes.

    Parameters
    ----------
    horizon
        The number of trials, if known.  It limits the head start, and sets the size of cells
        if only rewards are seen.
    feedback
        What `observe` will get: the "state", or only the "reward" with its context.  If the
        reward does not determine the state, the result is `CoarseKL`, which takes milliseconds
        per decision.  If there are too many states for that, it is `KLUCB` per context.
    seed
        Break ties at random with this seed or generator, among the least pulled of the tied arms;
        without one the first of these wins.

    Examples
    --------
    >>> from onepull import Finite
    >>> def served(capacity):
    ...     return recommended(Problem(
    ...         arms=["wifi", "lte"],
    ...         context={"bits": Finite([1, 2, 3, 4])},
    ...         state={"capacity": capacity},
    ...         reward="min(bits, capacity)",
    ...     ))
    >>> served(Finite(range(8)))
    <EmpiricalKL(2 arms, c=0.0, head_start=1000.0) after 0 trials>
    >>> served(Interval(0, 7))
    <EmpiricalKL(2 arms, c=0.0, head_start=1000.0, knots=65) after 0 trials>
    >>> served(Interval(0, math.inf))
    <AdaptiveKL(2 arms, kept=512, adapts=True) after 0 trials>
    >>> recommended(served(Interval(0, 7)).problem, feedback="reward")
    <CoarseKL(2 arms, c=0.0, head_start=1000.0, knots=17) after 0 trials>
    """
    given_problem(problem)
    if not isinstance(feedback, str) or feedback not in FEEDBACK:  # type: ignore[redundant-expr]
        raise ParameterError(f"feedback must be {' or '.join(FEEDBACK)}, given {shown(feedback)}")
    if feedback == "reward" and not _tells_state(problem):
        return _from_rewards(problem, horizon, seed)
    start = _head_start(horizon)
    if problem.attributes or problem.failure is not None:
        return AdaptiveKL(problem, seed=seed)
    if is_finite(problem.state) and size(problem.state) <= MOST_STATES:
        return EmpiricalKL(problem, head_start=start, seed=seed)
    if (knots := _knots(problem)) is not None:
        return EmpiricalKL(problem, head_start=start, knots=knots, seed=seed)
    return AdaptiveKL(problem, seed=seed)


def why(problem: Problem, *, horizon: int | None = None, feedback: str = "state") -> str:
    """Return what `recommended` picks for a problem, why, and what that assumes.

    >>> from onepull import Finite
    >>> print(why(Problem(
    ...     arms={"a": {"price": 1}, "b": {"price": 2}},
    ...     state={"x": Finite([0, 1])}, reward="x - price",
    ... )))
    AdaptiveKL
    why: the arms have attributes, so the states themselves are kept
    assumes: a top of the reward; arms may change over time
    regret: asymptotically optimal in a single context if the memory settles on no change and \
states are not merged (Honda and Takemura 2015); no bound is known otherwise
    storage: 136 numbers now
    """
    policy = recommended(problem, horizon=horizon, feedback=feedback)
    keeps = isinstance(policy, AdaptiveKL)
    assumes = (
        "a top of the reward; arms may change over time"
        if keeps
        else "bounds of the reward; arms that do not change over time"
    )
    return "\n".join(
        [
            type(policy).__name__,
            f"why: {_reason(problem, policy)}",
            f"assumes: {assumes}",
            f"regret: {policy.guarantee}",
            f"storage: {policy.storage:,} numbers now",
        ]
    )


recommended.why = why  # type: ignore[attr-defined]  # so that it is found where it is needed


def _reason(problem: Problem, policy: Policy) -> str:  # noqa: PLR0911 - one a reason
    """Return in a few words why a policy is recommended."""
    if isinstance(policy, EmpiricalKL):
        if is_finite(problem.state):
            return "the states can be listed, so their frequencies are stored"
        return "the states are bounded and the reward is smooth, so a sketch of them is stored"
    if not isinstance(policy, AdaptiveKL):
        return "only rewards are seen, and they do not determine the state"
    if problem.attributes:
        return "the arms have attributes, so the states themselves are kept"
    if problem.failure is not None:
        return "pulls may fail, so the states themselves are kept"
    if not all(math.isfinite(space.high - space.low) for space in problem.state.values()):
        return "the states have no bounds, so they are kept themselves"
    return "a sketch of the states would blur this reward, so they are kept themselves"


def _knots(problem: Problem) -> int | None:
    """Return the number of knots of an accurate sketch of the states, or None."""
    fields = [space for space in problem.state.values() if isinstance(space, Interval)]
    if not fields or not all(math.isfinite(space.width) for space in fields):
        return None
    low, high = problem.payoff.whole_range
    allowed, listed = SKETCH_ERROR * (high - low), size(problem.state)
    if len(fields) > 1:
        # As many as possible: few knots blur the distribution even if they interpolate exactly.
        fit = [knots for knots in FEW_KNOTS if listed * knots ** len(fields) <= MOST_STATES]
        return fit[0] if fit and Sketch(problem, knots=fit[0]).looked_at() <= allowed else None
    for knots in KNOTS:
        if listed * knots <= MOST_STATES and Sketch(problem, knots=knots).error <= allowed:
            return knots
    return None


def _from_rewards(
    problem: Problem, horizon: int | None, seed: int | np.random.Generator | None
) -> Policy:
    """Return the policy for rewards that do not determine the state."""
    start = _head_start(horizon)
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
    sample = points(problem.context, TRIED, np.random.default_rng(0))
    return list(zip(*(column.tolist() for column in sample.values()), strict=True))


def _head_start(horizon: int | None) -> int:
    """Return the head start, which is at most the horizon."""
    return HEAD_START if horizon is None else min(HEAD_START, whole_number("horizon", horizon))


def _delta(problem: Problem, horizon: int) -> float | dict[str, float]:
    """Return δ for √T cells in total, limited to `MOST_CELLS`, the same number per field."""
    fields = [space for space in problem.context.values() if isinstance(space, Interval)]
    cells = min(math.sqrt(horizon), MOST_CELLS / size(problem.context))
    each = max(cells ** (1 / len(fields)), 1.0)
    # δ is T^-(1-growth) times the width, which must be 1/each.
    growth = 1 - math.log(each) / math.log(max(horizon, 2))
    return tuned_delta(problem, max(horizon, 2), growth)
