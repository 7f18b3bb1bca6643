"""What to use if there is no reason to use anything else."""

from __future__ import annotations

import math

import numpy as np

from onepull.checks import whole_number
from onepull.errors import ParameterError, RewardError
from onepull.factor import LowRank, Sketch
from onepull.payoff import State
from onepull.payoff.box_points import is_finite, points, size
from onepull.policies.hidden_states.coarse_kl import CoarseKL
from onepull.policies.policy import Policy
from onepull.policies.states.empirical_kl import EmpiricalKL
from onepull.policies.ucb.ccb import tuned_delta
from onepull.policies.ucb.kl_ucb import KLUCB
from onepull.problem import Problem
from onepull.spaces import Interval

HEAD_START = 1000  # no bound is trusted at a risk above 0.1 %
MOST_STATES = 1100  # listed for an arm; a decision looks at all of them
KNOTS = (65, 129, 257, 513)
FEW_KNOTS = (33, 17)  # for each of two fields
SKETCH_ERROR = 0.02  # the most that a sketch may be off, as a share of the reward's range
TOLERANCE = 1e-4  # of low rank, the same
MOST_FEATURES = 64  # of low rank; beyond it a grid is no dearer
MOST_CELLS = 4096
HORIZON = 1_000_000  # to cut contexts for where none is known
FEEDBACK = ("state", "reward")
TRIED = 256  # contexts in which it is tried what a reward tells


def recommended(
    problem: Problem,
    *,
    horizon: int | None = None,
    feedback: str = "state",
    seed: int | np.random.Generator | None = None,
) -> Policy:
    """Return a fresh policy that serves a problem well, whatever the problem.

    States that can be listed are kept as a histogram, bounded ones as a sketch whose error
    is at most 2 % of the reward's range, and the empirical-likelihood bound is played on
    them: `EmpiricalKL` with a head start of 1000 trials.  On the paper's channels it loses
    0.27 of what DCB(0.01) does, and about as much as DCB where every channel is best for some
    request, with a rare run that loses far more; over families of random problems a quarter on
    average.  IMED mostly loses less, but now and then a run of it is stuck on a wrong arm for
    long; docs/indices.md has the study.

    Two bounded fields are sketched with 33 knots each, if a closer look at the reward finds
    that good enough.  Where states are too many or unbounded, or the reward jumps so that
    a sketch would be off, means are kept instead and `KLUCB` is played on them: a table of
    listed contexts, low rank for smooth rewards, or else a grid of cells.

    Parameters
    ----------
    horizon
        How many trials there will be, if that is known: a grid is cut for it, and the head
        start is no longer.
    feedback
        What `observe` will be given: the "state", or nothing but the "reward" with its context.
        Where that hides the state, `CoarseKL` learns from what it tells, in milliseconds a
        decision; where states are too many for that, `KLUCB` learns context by context.
    seed
        Draw among arms that tie, in pulls too, with this seed or generator; the first arm wins
        without.

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
    <KLUCB(2 arms, sharing='joint', c=0.0, head_start=1000.0) after 0 trials>
    >>> recommended(served(Interval(0, 7)).problem, feedback="reward")
    <CoarseKL(2 arms, c=0.0, head_start=1000.0, knots=17) after 0 trials>
    """
    if feedback not in FEEDBACK:
        raise ParameterError(f"feedback must be {' or '.join(FEEDBACK)}, given {feedback!r}")
    if feedback == "reward" and not _tells_state(problem):
        return _from_rewards(problem, horizon, seed)
    start = _head_start(horizon)
    if is_finite(problem.state) and size(problem.state) <= MOST_STATES:
        return EmpiricalKL(problem, head_start=start, seed=seed)
    if (knots := _knots(problem)) is not None:
        return EmpiricalKL(problem, head_start=start, knots=knots, seed=seed)
    if not any(isinstance(space, Interval) for space in problem.context.values()):
        return KLUCB(problem, head_start=start, seed=seed)
    if _is_smooth(problem):
        sharing = f"low-rank({TOLERANCE:g})"
        return KLUCB(problem, sharing=sharing, head_start=start, seed=seed)
    delta = _delta(problem, horizon or HORIZON)
    return KLUCB(problem, delta=delta, head_start=start, seed=seed)


def _knots(problem: Problem) -> int | None:
    """Return how many knots sketch a problem's states well, if any number does."""
    fields = [space for space in problem.state.values() if isinstance(space, Interval)]
    if not fields or not all(math.isfinite(space.width) for space in fields):
        return None
    low, high = problem.payoff.whole_range
    allowed, listed = SKETCH_ERROR * (high - low), size(problem.state)
    if len(fields) > 1:
        # As many as can be: few knots blur the law even where they interpolate exactly.
        fit = [knots for knots in FEW_KNOTS if listed * knots ** len(fields) <= MOST_STATES]
        return fit[0] if fit and Sketch(problem, knots=fit[0]).looked_at() <= allowed else None
    for knots in KNOTS:
        if listed * knots <= MOST_STATES and Sketch(problem, knots=knots).error <= allowed:
            return knots
    return None


def _from_rewards(
    problem: Problem, horizon: int | None, seed: int | np.random.Generator | None
) -> Policy:
    """Return what learns most from rewards that do not tell the state."""
    start = _head_start(horizon)
    try:
        return CoarseKL(problem, head_start=start, seed=seed)
    except ParameterError:  # there are too many states, or several fields without a list
        cuts = any(isinstance(space, Interval) for space in problem.context.values())
        delta = _delta(problem, horizon or HORIZON) if cuts else None
        return KLUCB(problem, sharing="per-context", delta=delta, head_start=start, seed=seed)


def _tells_state(problem: Problem) -> bool:
    """Whether every reward tells the state that gave it, as far as a sample shows."""
    state = [column[0] for column in points(problem.state, 1, np.random.default_rng(0)).values()]
    try:
        for context in _contexts(problem):
            problem.payoff.invert(float(problem.payoff.scalar(*context, *state)), context)
    except RewardError:
        return False
    return True


def _contexts(problem: Problem) -> list[State]:
    sample = points(problem.context, TRIED, np.random.default_rng(0))
    return list(zip(*(column.tolist() for column in sample.values()), strict=True))


def _head_start(horizon: int | None) -> int:
    """Return the head start: where there are few trials, no more than there are."""
    return HEAD_START if horizon is None else min(HEAD_START, whole_number("horizon", horizon))


def _is_smooth(problem: Problem) -> bool:
    """Whether a few features are enough for a reward of continuous contexts."""
    if not all(math.isfinite(problem.payoff.lipschitz[name].value) for name in problem.context):
        return False  # it jumps, and to find that out by trying takes seconds
    try:
        return LowRank(problem, tolerance=TOLERANCE).features <= MOST_FEATURES
    except ParameterError:
        return False


def _delta(problem: Problem, horizon: int) -> float | dict[str, float]:
    """Return δ for √T cells in all, and never too many: an even share for each field."""
    fields = [space for space in problem.context.values() if isinstance(space, Interval)]
    cells = min(math.sqrt(horizon), MOST_CELLS / size(problem.context))
    each = max(cells ** (1 / len(fields)), 1.0)
    # T^-(1-growth) of a width is 1/each.
    growth = 1 - math.log(each) / math.log(max(horizon, 2))
    return tuned_delta(problem, max(horizon, 2), growth)
