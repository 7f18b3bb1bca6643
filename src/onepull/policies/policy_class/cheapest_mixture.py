"""The mixture of policies with the least estimated regret under a bound on variances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from onepull.arrays import Array
from onepull.policies.policy_class.low_variance import low_variance
from onepull.policies.policy_class.mixture import chances
from onepull.policies.policy_class.policy_class import PolicyClass

Weights: TypeAlias = dict[int, float]

SHARPER = 5.0  # factor by which the barrier is weakened in each round
CENTRED = 1e-6  # the squared Newton decrement at which a round ends
ROUNDS = 60
DESCENT_STEPS = 40


class Program:
    """The optimisation problem that RandomizedUCB solves at each trial.

    Minimise Σ P(π) Δ(π) over distributions P of policies, subject to V(Q) <= f(Δ(Q)) + slack for
    all distributions Q.  V(π) is the mean over the seen contexts of 1/P^μ(π(x)|x), V and Δ of a
    mixture are the means of those of its policies, and f(d) = max(flat, curve·d²).

    The points (Δ, V) of all mixtures are the convex hull of the policies' points.  Since f is
    convex, the hull lies under f if and only if a line separates them: V(π) <= a + b·Δ(π) for
    all π and a + b·d <= f(d) for all d.  The constraint is checked and enforced in this form.

    Examples
    --------
    >>> from onepull import Finite, Interval, Problem, ContextTable
    >>> problem = Problem(
    ...     arms=["a", "b"], context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x*y"
    ... )
    >>> program = Program(
    ...     PolicyClass(ContextTable(problem), problem.arms),
    ...     gains=np.array([[0.25, 0.75]]), frequencies=np.ones(1), floor=0.05, flat=8.0, curve=0.0,
    ... )
    >>> weights, _ = program.solve(slack=0.0, tolerance=1e-4)
    >>> worse = 0.9 * weights[0] + 0.05  # its inverse is 8, the largest variance allowed
    >>> round(worse, 3)
    0.125
    """

    def __init__(  # noqa: PLR0913 - all are keyword-only
        self,
        policies: PolicyClass,
        *,
        gains: Array,
        frequencies: Array,
        floor: float,
        flat: float,
        curve: float,
    ) -> None:
        self.policies, self.gains = policies, gains
        self.frequencies, self.floor = frequencies[:, None], floor
        self.flat, self.curve = flat, curve
        self.share = 1.0 - gains.shape[1] * floor
        values = policies.values(gains)
        self.leader = int(values.argmax())
        self.top = float(values[self.leader])
        self.costs = self.top - values
        highest = float(self.costs.max())
        self.is_flat = curve * highest**2 <= flat
        self.knee = 0.0 if self.is_flat else math.sqrt(flat / curve)
        self.steepest = 0.0 if self.is_flat else 2.0 * curve * highest

    # The constraint

    def bound(self, cost: float) -> float:
        """Return f."""
        return max(self.flat, self.curve * cost**2)

    def intercept(self, slope: float) -> tuple[float, float, float]:
        """Return the highest intercept of a line under f with this slope, and two derivatives."""
        if self.is_flat or slope <= 2.0 * self.curve * self.knee:
            return self.flat - slope * self.knee, -self.knee, 0.0
        touch = 0.5 / self.curve
        return -0.5 * touch * slope**2, -touch * slope, -touch

    def variances(self, table: Array) -> Array:
        """Return V of each policy if arms are drawn from `table[cell, arm]`."""
        return self.policies.values(self.frequencies / chances(table, self.floor))

    def excess(self, variances: Array) -> float:
        """Return by how much the worst mixture exceeds f; zero or less if none does."""
        highest = float(variances.max()) - self.flat
        if self.is_flat or highest <= 0:
            return highest
        # By duality this is the minimum over lines under f of the worst policy's excess.
        low, high = 0.0, self.steepest
        for _ in range(60):
            third = (high - low) / 3.0
            if self._above(variances, low + third) <= self._above(variances, high - third):
                high -= third
            else:
                low += third
        return min(highest, self._above(variances, 0.5 * (low + high)))

    def _above(self, variances: Array, slope: float) -> float:
        return float((variances - slope * self.costs).max()) - self.intercept(slope)[0]

    # The value

    def gap(self, table: Array, prices: Array, *, slack: float) -> float:
        """Return the duality gap: a bound on how far a mixture is above the minimum.

        `prices[cell, arm]` is the sum of the dual prices of the policies that play the arm in
        the cell.
        """
        total = float(prices[0].sum())
        smoothed = chances(table, self.floor)
        worth = self.share * prices * self.frequencies / smoothed**2
        _, reach = self.policies.best(self.gains + worth)
        mean = float((table * (self.gains + worth)).sum())
        limit = 0.0
        if total > 0:
            cost = self.top - float((prices * self.gains).sum()) / total
            limit = total * (self.bound(cost) + slack)
        return limit - float((prices * self.frequencies / smoothed).sum()) + reach - mean

    # The solution

    def solve(self, *, slack: float, tolerance: float) -> tuple[Weights, Weights]:
        """Return the weights of the policies, and the dual prices of the constraints.

        This is an interior-point method with column and row generation.  The oracle adds the
        policies that would lower the value as columns, and those whose constraint is tight as
        rows.  Each point satisfies the constraints of the whole class.
        """
        search = _Search(self, slack)
        sharpness = 10.0
        for _ in range(ROUNDS):
            search.centre(sharpness)
            prices = search.prices(sharpness)
            if self.gap(search.table(), search.spread(prices), slack=slack) <= tolerance:
                break
            widened = search.widen(prices)
            if not widened or search.size / sharpness > 0.5 * tolerance:
                sharpness *= SHARPER
        return search.weights(), prices


class _Search:
    """An interior point, and Newton steps from it."""

    def __init__(self, program: Program, slack: float) -> None:
        self.program, self.slack = program, slack
        self.shape = program.gains.shape
        none = np.zeros(self.shape)
        # Half of the weight on a mixture with variances up to 2K keeps all variances below 4K.
        even = low_variance(program.policies, none, program.frequencies[:, 0], program.floor)
        even[program.leader] = even.get(program.leader, 0.0) + 1.0
        self.columns, self.rows = list(even), [program.leader]
        self.point = np.array(list(even.values()))
        self.point /= self.point.sum()
        self.slope = 0.0 if program.is_flat else 0.1 * slack / program.knee

    @property
    def size(self) -> int:
        return len(self.columns) + len(self.rows) + 1

    def _hot(self, policies: Sequence[int]) -> Array:
        """Return a one-hot row per policy, with a one for the arm played in each cell."""
        cells, arms = self.shape
        played = self.program.policies.assignments[list(policies)] + arms * np.arange(cells)
        hot = np.zeros((len(played), cells * arms))
        np.put_along_axis(hot, played, 1.0, axis=1)
        return hot

    def table(self) -> Array:
        return (self.point @ self._hot(self.columns)).reshape(self.shape)

    def spread(self, prices: Weights) -> Array:
        return (np.array(list(prices.values())) @ self._hot(list(prices))).reshape(self.shape)

    def _room(self, point: Array, slope: float) -> Array:
        """Return the slack of each policy's constraint."""
        program = self.program
        table = (point @ self._hot(self.columns)).reshape(self.shape)
        line = program.intercept(slope)[0] + slope * program.costs + self.slack
        return line - program.variances(table)

    def _height(self, point: Array, slope: float, room: Array, sharpness: float) -> float:
        """Return the value plus the logarithmic barrier."""
        value = sharpness * float(point @ self.program.costs[self.columns])
        barrier = float(np.log(room[self.rows]).sum() + np.log(point).sum())
        return value - barrier - (0.0 if self.program.is_flat else math.log(slope))

    def centre(self, sharpness: float) -> None:
        """Minimise the value plus the barrier."""
        room = self._room(self.point, self.slope)
        for _ in range(DESCENT_STEPS):
            tightest = int(room.argmin())
            if tightest not in self.rows:
                self.rows.append(tightest)
            gradient, step = self._direction(room, sharpness)
            if -float(gradient @ step) < CENTRED:
                return
            room = self._go(gradient, step, room, sharpness)

    def _direction(self, room: Array, sharpness: float) -> tuple[Array, Array]:
        program, share = self.program, self.program.share
        columns, rows = self._hot(self.columns), self._hot(self.rows)
        smoothed = chances((self.point @ columns).reshape(self.shape), program.floor)
        weights = 1.0 / room[self.rows]
        slopes = (share * program.frequencies / smoothed**2).ravel()
        bends = 2.0 * slopes * share / smoothed.ravel() * (weights @ rows)
        gains = (rows * slopes) @ columns.T
        _, fall, bend = program.intercept(self.slope)
        lift = program.costs[self.rows] + fall
        count = len(self.columns)
        jacobian = np.column_stack([gains, lift])
        gradient = -weights @ jacobian
        gradient[:count] += sharpness * program.costs[self.columns] - 1.0 / self.point
        system = np.zeros((count + 2, count + 2))
        system[: count + 1, : count + 1] = (jacobian.T * weights**2) @ jacobian
        system[:count, :count] += (columns * bends) @ columns.T + np.diag(self.point**-2.0)
        if program.is_flat:
            gradient[count] = 0.0
            system[count, :], system[:, count] = 0.0, 0.0
            system[count, count] = 1.0
        else:
            gradient[count] -= 1.0 / self.slope
            system[count, count] += self.slope**-2.0 - bend * float(weights.sum())
        system[count + 1, :count] = system[:count, count + 1] = 1.0  # the weights sum to one
        step = np.linalg.solve(system, np.append(-gradient, 0.0))[: count + 1]
        return gradient, step

    def _go(self, gradient: Array, step: Array, room: Array, sharpness: float) -> Array:
        """Take the largest step that stays inside and descends; return the slack there."""
        start = self._height(self.point, self.slope, room, sharpness)
        here = np.append(self.point, self.slope)
        shrinking = step < 0
        ratios = -here[shrinking] / step[shrinking]
        length = min(1.0, 0.9 * float(ratios.min(initial=np.inf)))
        for _ in range(DESCENT_STEPS):
            point = here[:-1] + length * step[:-1]
            slope = float(here[-1] + length * step[-1])
            found = self._room(point, slope)
            if found.min() > 0:
                height = self._height(point, slope, found, sharpness)
                if height <= start + 0.1 * length * float(gradient @ step) + 1e-12 * abs(start):
                    self.point, self.slope = point, slope
                    return found
            elif (blocking := int(found.argmin())) not in self.rows:
                self.rows.append(blocking)
            length *= 0.5
        return room

    def prices(self, sharpness: float) -> Weights:
        """Return the dual price of each row, from the barrier."""
        room = self._room(self.point, self.slope)
        return {row: 1.0 / (sharpness * float(room[row])) for row in self.rows}

    def widen(self, prices: Weights) -> bool:
        """Add the policy that would lower the value most; return whether it is new."""
        program = self.program
        smoothed = chances(self.table(), program.floor)
        worth = program.share * self.spread(prices) * program.frequencies / smoothed**2
        best, _ = program.policies.best(program.gains + worth)
        if best in self.columns:
            return False
        self.columns.append(best)
        weight = 0.02
        while True:
            point = np.append((1.0 - weight) * self.point, weight)
            if self._room(point, self.slope).min() > 0:
                self.point = point
                return True
            weight *= 0.5

    def weights(self) -> Weights:
        """Return the weights of the point, without negligible ones."""
        kept = {c: float(w) for c, w in zip(self.columns, self.point, strict=True) if w > 1e-6}
        total = math.fsum(kept.values())
        return {column: weight / total for column, weight in kept.items()}
