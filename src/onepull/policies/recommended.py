"""What to use if there is no reason to use anything else."""

from __future__ import annotations

import math

import numpy as np

from onepull.errors import ParameterError
from onepull.factor import LowRank, Sketch
from onepull.payoff.partition import is_finite, size
from onepull.policies.base import Policy
from onepull.policies.empirical_kl import EmpiricalKL
from onepull.policies.kl_ucb import KLUCB
from onepull.policies.known_reward import tuned_delta
from onepull.problem import Problem
from onepull.spaces import Interval

HEAD_START = 1000  # no bound is trusted at a risk above 0.1 %
MOST_STATES = 1024  # listed for an arm; a decision looks at all of them
KNOTS = (65, 129, 257, 513)
SKETCH_ERROR = 0.02  # the most that a sketch may be off, as a share of the reward's range
TOLERANCE = 1e-4  # of low rank, the same
MOST_FEATURES = 64  # of low rank; beyond it a grid is no dearer
MOST_CELLS = 4096
HORIZON = 1_000_000  # to cut contexts for where none is known


def recommended(
    problem: Problem,
    *,
    horizon: int | None = None,
    seed: int | np.random.Generator | None = None,
) -> Policy:
    """Return a fresh policy that serves a problem well, whatever the problem.

    States that can be listed are kept as a histogram, bounded ones as a sketch whose error
    is at most 2 % of the reward's range, and the empirical-likelihood bound is played on
    them: `EmpiricalKL` with a head start of 1000 trials.  On the paper's channels it loses
    0.27 of what DCB(0.01) does, and about as much as DCB where every channel is best for some
    request, with a rare run that loses far more; over random problems 0.2.  IMED loses less
    on average, but now and then a run of it is stuck on a wrong arm for long; docs/indices.md
    has the study.

    Where states are too many or unbounded, or the reward jumps so that a sketch would be off,
    means are kept instead and `KLUCB` is played on them: a table of listed contexts, low rank
    for smooth rewards, or else a grid of cells.

    Parameters
    ----------
    horizon
        How many trials there will be, if that is known: a grid is cut for it.
    seed
        Draw among tied arms with this seed or generator; the first arm wins without.

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
    """
    if is_finite(problem.state) and size(problem.state) <= MOST_STATES:
        return EmpiricalKL(problem, head_start=HEAD_START, seed=seed)
    if (knots := _knots(problem)) is not None:
        return EmpiricalKL(problem, head_start=HEAD_START, knots=knots, seed=seed)
    if not any(isinstance(space, Interval) for space in problem.context.values()):
        return KLUCB(problem, head_start=HEAD_START, seed=seed)
    if _is_smooth(problem):
        sharing = f"low-rank({TOLERANCE:g})"
        return KLUCB(problem, sharing=sharing, head_start=HEAD_START, seed=seed)
    delta = _delta(problem, horizon or HORIZON)
    return KLUCB(problem, delta=delta, head_start=HEAD_START, seed=seed)


def _knots(problem: Problem) -> int | None:
    """Return the fewest knots that sketch a problem's states well, if there are any."""
    fields = [space for space in problem.state.values() if isinstance(space, Interval)]
    if not fields or not all(math.isfinite(space.width) for space in fields):
        return None
    low, high = problem.payoff.whole_range
    for knots in KNOTS:
        if size(problem.state) * knots ** len(fields) > MOST_STATES:
            return None
        if Sketch(problem, knots=knots).error <= SKETCH_ERROR * (high - low):
            return knots
    return None


def _is_smooth(problem: Problem) -> bool:
    """Whether a few features are enough for a reward of continuous contexts."""
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
