"""Low-rank approximation of smooth rewards, by adaptive cross approximation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.checks import real, whole_number
from onepull.errors import ParameterError
from onepull.factor.context_ranges import Ranges
from onepull.factor.factorisation import Dense
from onepull.payoff import State
from onepull.payoff.box_points import all_combinations
from onepull.payoff.reward import NARROWEST
from onepull.problem import Problem, given_problem
from onepull.spaces import Box, Finite

SIDE = 724  # rows and columns of the matrix that pivots are chosen from
CHECKED = 1 << 21  # grid points at which the error is measured
DRAWN = 1 << 14  # random points at which the error is measured
FEWEST_POINTS = 5  # smallest number of grid points per interval field
MOST_SAMPLED_PAIRS = 1 << 25
MOST_RANK = 256
SMALLEST_ERROR = 1e-14  # smallest possible error, as a share of the largest reward


class LowRank(Dense):
    """A low-rank approximation g(y, x) ≈ g(y, X)·C⁻¹·g(Y, x) with pivot contexts Y and states X.

    ψ lists the rewards at the pivot contexts, and φ combines them.  Pivots are chosen greedily
    where the error on a grid of Chebyshev points is largest (adaptive cross approximation), until
    the error is below the tolerance.  So the rank depends on the reward.  Smooth rewards need a
    few features, and a sum of products of a context part and a state part needs one per term.
    Rewards with kinks, such as min(y, x), need so many that a sketch or a grid is better.

    `error` is the largest error on an independent fine grid and at random points, plus a margin:
    half of the largest change of the error between neighbouring grid points.  It is measured, not
    proved: a jump between two grid points is not seen.  The error is the same for all arms, so it
    widens the confidence bounds but changes no choice.

    Parameters
    ----------
    tolerance
        The largest error, as a share of the reward's range.
    most
        The largest number of features.

    Examples
    --------
    >>> from onepull import Interval
    >>> problem = Problem(
    ...     arms=["a", "b"],
    ...     context={"power": Interval(0, 1)},
    ...     state={"gain": Interval(0, 4)},
    ...     reward="log(1 + power * gain)",
    ... )
    >>> for tolerance in (1e-2, 1e-5, 1e-8):
    ...     factor = LowRank(problem, tolerance=tolerance)
    ...     print(factor.features, factor.error < tolerance * 1.61)
    2 True
    5 True
    8 True
    """

    def __init__(self, problem: Problem, *, tolerance: float = 1e-6, most: int = MOST_RANK) -> None:
        self.problem = given_problem(problem)
        self.tolerance = _tolerance(tolerance)
        most = whole_number("most", most, most=SIDE)
        for role, box in (("context", problem.context), ("state", problem.outcome)):
            for name, space in box.items():
                if not math.isfinite(space.high - space.low):
                    raise ParameterError(
                        f"{role} field {name!r} is {space!r}, but a low-rank approximation needs "
                        "bounded fields: bound it, for example with Interval(0, 30, "
                        "outside='clip'), or use recommended(problem)"
                    )
        _check_pairs(problem)
        low, high = problem.payoff.whole_range
        if 0.0 < max(abs(low), abs(high)) < NARROWEST:
            raise ParameterError(
                f"the reward goes from {low:.6g} to {high:.6g}, but a low-rank approximation needs "
                f"rewards above {NARROWEST:.1g} in size; multiply the reward by a constant"
            )
        aim = self.tolerance * (high - low) + SMALLEST_ERROR * max(abs(low), abs(high))
        for share in (0.5, 0.25, 0.125):  # the rest is for the error between points
            self._take_pivots(aim * share, most)
            if self.error <= aim or self.features >= most:
                break
        if self.error > aim:
            raise ParameterError(
                f"{self.features} features leave an error of {self.error:.1e}, more than the "
                f"{aim:.1e} allowed; the reward is not smooth enough: take a larger tolerance, a "
                "sketch or a grid"
            )
        self._ranges = Ranges(problem)

    def _of_arms(self, problem: Problem) -> LowRank:
        twin = copy(self)
        twin.problem, twin._ranges = problem, Ranges(problem)  # noqa: SLF001 - of the same class
        return twin

    def _take_pivots(self, aim: float, most: int) -> None:
        contexts, states = _points(self.problem.context, SIDE), _points(self.problem.outcome, SIDE)
        rows, columns = _cross(self._matrix(contexts, states), aim, most)
        self.pivots = [tuple(row) for row in contexts[rows].tolist()]
        self._states = list(states[columns].T.copy())
        self.features = len(rows)
        self.at_contexts = self.pivots
        self.psi = self.problem.payoff.across(self.pivots)
        core = self._matrix(contexts[rows], states[columns]).T
        # Solved each time, since an inverse would lose digits.  The core of a reward that is zero
        # everywhere is singular.
        self._core: Array = core if core.any() else np.ones((1, 1))
        self.error = self._measured()

    def _matrix(self, contexts: Array, states: Array) -> Array:
        columns = [column[:, None] for column in contexts.T]
        rewards = self.problem.payoff.vector(*columns, *states.T)
        return np.array(np.broadcast_to(rewards, (len(contexts), len(states))))

    def _measured(self) -> float:
        """Return the largest error on a fine grid, plus a margin for points between."""
        side = int(math.sqrt(CHECKED))
        contexts, states = _even(self.problem.context, side), _even(self.problem.outcome, side)
        psi = self._matrix(np.array(self.pivots), states)
        wrong = self._matrix(contexts, states) - self.phi_many(contexts) @ psi
        largest = max(float(np.max(np.abs(wrong))), self._drawn())
        return largest + _margin(self.problem, wrong, side)

    def _drawn(self) -> float:
        """Return the largest error at random points, since a grid of many fields is coarse."""
        generator = np.random.default_rng(0)
        contexts, states = (
            np.column_stack(
                [
                    generator.choice(np.array(space.values), DRAWN)
                    if isinstance(space, Finite)
                    else generator.uniform(space.low, space.high, DRAWN)
                    for space in box.values()
                ]
            )
            for box in (self.problem.context, self.problem.outcome)
        )
        psi = self._matrix(np.array(self.pivots), states)
        found = np.einsum("nr,rn->n", self.phi_many(contexts), psi)
        return float(np.max(np.abs(self.problem.payoff.vector(*contexts.T, *states.T) - found)))

    def phi(self, context: State) -> Array:
        """Return the weights of the pivot contexts."""
        rewards = self.problem.payoff.vector(*context, *self._states)
        mixed = np.linalg.solve(self._core, np.broadcast_to(rewards, self.features))
        return np.asarray(mixed, np.float64)

    def phi_many(self, contexts: Array) -> Array:
        """Return φ of each context (one per row)."""
        columns = [column[:, None] for column in contexts.T]
        rewards = self.problem.payoff.vector(*columns, *self._states)
        table = np.broadcast_to(rewards, (len(contexts), self.features))
        return np.ascontiguousarray(np.linalg.solve(self._core, table.T).T, np.float64)

    def feature_bounds(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return the bounds of the reward at each pivot context."""
        columns = np.array(self.pivots).T
        fields = {n: (c, c) for n, c in zip(self.problem.context, columns, strict=True)}
        lows, highs = self.problem.payoff.range(fields)
        return lows.tolist(), highs.tolist()

    def bounds(self, context: State) -> tuple[Any, Any]:
        """Return bounds on φ(y)·ψ(x) over all states."""
        low, high = self._ranges.at(context)
        if isinstance(low, list):
            return [end - self.error for end in low], [end + self.error for end in high]
        return low - self.error, high + self.error

    def bounds_many(self, contexts: Array) -> tuple[Array, Array]:
        """Return bounds on φ(y)·ψ(x) over all states in each context (one per row)."""
        low, high = self._ranges.at_many(contexts)
        return low - self.error, high + self.error


def _tolerance(tolerance: object) -> float:
    try:
        value = real(tolerance)
    except TypeError:
        value = math.nan
    if not 1e-12 <= value < 1:
        raise ParameterError(
            f"tolerance must be a share of the reward's range from 1e-12 to 1, given {tolerance!r}"
        )
    return value


def _check_pairs(problem: Problem) -> None:
    sides = [
        math.prod(
            len(space.values) if isinstance(space, Finite) else _each(box, int(CHECKED**0.5))
            for space in box.values()
        )
        for box in (problem.context, problem.outcome)
    ]
    if math.prod(sides) > MOST_SAMPLED_PAIRS:
        raise ParameterError(
            f"{sides[0]:,} contexts and {sides[1]:,} states are more than the "
            f"{MOST_SAMPLED_PAIRS:,} pairs at which a reward can be checked; use fewer fields "
            "or values"
        )


def _points(box: Box, budget: int) -> Array:
    """Return Chebyshev points of the interval fields with all values of the finite ones."""
    each = _each(box, budget)
    turns = (1 - np.cos(np.pi * np.arange(each) / (each - 1))) / 2
    return _grid(box, turns)


def _even(box: Box, budget: int) -> Array:
    """Return equally spaced points, including both ends."""
    return _grid(box, np.linspace(0, 1, _each(box, budget)))


def _each(box: Box, budget: int) -> int:
    """Return the number of points per interval field, for about `budget` points in total."""
    finite = math.prod(len(s.values) for s in box.values() if isinstance(s, Finite))
    continuous = sum(not isinstance(s, Finite) for s in box.values())
    return max(FEWEST_POINTS, int((budget / finite) ** (1 / continuous))) if continuous else 2


def _grid(box: Box, turns: Array) -> Array:
    columns: Mapping[str, Array] = {
        name: np.array(space.values)
        if isinstance(space, Finite)
        else np.minimum(space.low + turns * space.width, space.high)
        for name, space in box.items()
    }
    return np.column_stack(list(all_combinations(columns).values()))


def _cross(matrix: Array, aim: float, most: int) -> tuple[list[int], list[int]]:
    """Return pivot rows and columns that leave an error of at most `aim`, if `most` allows it."""
    residual = matrix.copy()
    rows: list[int] = []
    columns: list[int] = []
    most = min(most, *matrix.shape)
    while True:
        place = int(np.argmax(np.abs(residual)))
        i, j = divmod(place, matrix.shape[1])
        left = float(abs(residual[i, j]))
        if (left <= aim and rows) or len(rows) == most or left == 0.0:
            return rows or [0], columns or [0]
        rows.append(i)
        columns.append(j)
        residual -= np.outer(residual[:, j], residual[i] / residual[i, j])


def _margin(problem: Problem, wrong: Array, side: int) -> float:
    """Return how much the error may change between points, summed over interval fields."""
    shape, found = [], 0.0
    for box in (problem.context, problem.outcome):
        each = _each(box, side)
        shape += [len(s.values) if isinstance(s, Finite) else each for s in box.values()]
    cube = wrong.reshape(shape)
    spaces = [*problem.context.values(), *problem.outcome.values()]
    for axis, space in enumerate(spaces):
        if not isinstance(space, Finite) and cube.shape[axis] > 1:
            found += float(np.max(np.abs(np.diff(cube, axis=axis)))) / 2
    return found
