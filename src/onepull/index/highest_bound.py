"""The search for the arm with the highest likelihood bound, from the rewards of kept states.

`index/kept_likelihood.py` has the plain functions of numbers that are computed for each arm.  What
is computed for each state is computed in numpy here, since a loop in Python over hundreds of kept
states would take longer than the rest of a decision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, inf, log
from types import FunctionType
from typing import Any, Self

import numpy as np

from onepull.arrays import Array
from onepull.index.kept_likelihood import (
    AT_LEAST,
    FALL_ACCURACY,
    MOST_IMPROVEMENTS,
    NEAREST,
    SIZES,
    TIED,
    first_beyond,
    first_fall,
    next_beyond,
)
from onepull.payoff.reward import NARROWEST

ROWS_ONE_BY_ONE = 2  # rows that are improved one by one
ROWS_AT_ONCE = 16  # rows that are improved at once; with more, their first numbers are an array
ADDED_ONE_BY_ONE = 8  # states that are added one by one; more are added at once
LOOK_AHEAD = 0.5  # how much of its lead a bound may lose by looking ahead
FARTHEST_AHEAD = 0.1  # how far a search looks ahead at most, as a share of β


def on_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a plain function of numbers as one of arrays, which is quicker for many rows.

    >>> on_arrays(first_beyond)(np.array([0.0, 0.5]), np.array([0.5, 0.01]))
    array([0.01, 4.  ])
    """
    names: dict[str, Any] = {"exp": np.exp, "log1p": np.log1p, "sqrt": np.sqrt}
    names |= {"max": np.maximum, "min": np.minimum, "AT_LEAST": AT_LEAST}
    return FunctionType(function.__code__, names)


first_beyonds, first_falls = on_arrays(first_beyond), on_arrays(first_fall)


def likely_means(
    rewards: Array,
    stands_for: Array,
    pulls: Array,
    budgets: Sequence[float],
    tops: Any,
    allowed: Sequence[int] = (),
) -> Array:
    """Return, for each row, the highest mean that is likely: the empirical-likelihood bound.

    It is the minimum over λ ≥ top of λ - exp(E ln(λ - X) - budget), as in `likely_mean`.  The
    highest of the allowed rows are equal if only rounding differs; by default all are allowed.

    >>> from onepull.index.empirical_likelihood import likely_mean
    >>> rewards, counts = np.array([[0.0, 0.5, 1.0]]), np.array([[2.0, 5.0, 3.0]])
    >>> bound = likely_means(rewards, counts, np.array([10.0]), [0.05], 1.0)[0]
    >>> bool(abs(bound - likely_mean(rewards[0], counts[0] / 10, 3, 1.0, 0.05)) < 1e-7)
    True
    """
    bounds = KeptBounds(rewards, stands_for, pulls, tops).explore(budgets)
    for row in range(len(bounds.uppers)):
        while bounds.improve(row):
            pass
    return bounds.levelled(allowed or range(len(bounds.uppers)))


class PointSums:
    """Sums over the states of a row at one λ, which serve for every budget.

    With u = λ - X they are those of ln u, 1/u and 1/u².  A further state is one more term.

    Attributes
    ----------
    shift
        How far λ is above the top.
    logs
        The sum of ln u.
    inverses, squares
        The sums of 1/u and 1/u²; None until they are needed.

    Examples
    --------
    >>> point = PointSums(0.5, 0.0)
    >>> point.add(0.5, 2.0)
    >>> point.logs, point.inverses
    (0.0, None)
    """

    __slots__ = ("inverses", "logs", "shift", "squares")

    def __init__(self, shift: float, logs: float) -> None:
        self.shift, self.logs = shift, logs
        self.inverses: float | None = None
        self.squares = 0.0

    def add(self, gap: float, weight: float) -> None:
        """Add a state by how far its reward is below the top, and how many it stands for."""
        u = gap + self.shift
        self.logs += weight * log(u)
        if self.inverses is not None:
            self.inverses += weight / u
            self.squares += weight / u / u


class RowSearch:
    """How far the search for one bound is.

    Attributes
    ----------
    beyond
        The β to look at next, or that was looked at last if the step is halfway.
    low, high
        The best β is between these.
    fall
        The fall at the last β.
    steps
        How many steps were taken; none yet if an earlier search left its last one.
    is_halfway
        Whether the present step improved the upper end, and not yet the lower one.

    Examples
    --------
    >>> RowSearch().steps
    0
    """

    __slots__ = ("beyond", "fall", "high", "is_halfway", "low", "steps")

    def __init__(self) -> None:
        self.beyond, self.fall, self.low, self.high = 0.0, inf, 0.0, inf
        self.steps, self.is_halfway = 0, False


class KeptBounds:
    """Numbers between which the bound of each row lies, and the search for it.

    Mean and variance alone give a number that is at least the bound.  Only the highest of these
    are improved, until one is known to belong to the highest bound.  A search with other budgets
    or a few more states starts where the last one ended, which mostly is enough.  `is_kept` says
    that many such searches will follow.

    >>> rewards, counts = np.array([[0.0, 0.5], [0.9, 0.9], [0.9, 0.9]]), np.ones((3, 2))
    >>> bounds = KeptBounds(rewards, counts, np.full(3, 2.0), 1.0)
    >>> bounds.means, bounds.explore([0.1, 0.1, 0.1]).highest(range(3))
    ([0.25, 0.9, 0.9], [1, 2])
    """

    __slots__ = (
        "_budgets", "_distances", "_gaps", "_has_other_unit", "_is_kept", "_new", "_points",
        "_pulls", "_ready", "_searches", "_shifts", "_slack", "_squares", "_stands_for",
        "_tops", "_totals", "_unit_logs", "_units", "lowers", "means", "uppers",
    )  # fmt: skip

    def __init__(
        self, rewards: Array, stands_for: Array, pulls: Array, tops: Any, *, is_kept: bool = False
    ) -> None:
        is_shared = isinstance(tops, float)
        gaps = (tops if is_shared else tops[:, None]) - rewards
        if np.minimum.reduce(gaps, None) < 0.0:
            np.maximum(gaps, 0.0, out=gaps)
        totals = np.vecdot(stands_for, gaps)
        distances = totals / pulls  # of the means from the top
        self._distances: list[float] = distances.tolist()
        scale = max(self._distances)
        self._has_other_unit = not (scale <= 0.0 or SIZES[0] < scale < SIZES[1])
        if self._has_other_unit:
            # Another unit, so that no square overflows or vanishes.
            scale = max(scale, NARROWEST)
            gaps, distances = np.where(stands_for > 0.0, gaps, 0.0) / scale, distances / scale
        units = np.maximum(distances, SIZES[0])
        self._totals: list[float] = totals.tolist()
        self._squares: list[float] = np.vecdot(stands_for * gaps, gaps).tolist()
        self._units: list[float] = units.tolist()
        self._unit_logs: list[float] = list(map(log, self._units))
        self._pulls: list[float] = pulls.tolist()
        self._tops: list[float] = [tops] * len(self._pulls) if is_shared else tops.tolist()
        self._gaps, self._stands_for = gaps, stands_for
        self._slack = TIED * max(self._distances)
        self._is_kept = is_kept
        # Where each row was searched last; if its states were replaced since, only how far above
        # the top that was.
        self._points: list[PointSums | None] = [None] * len(self._pulls)
        self._shifts: list[float] = [0.0] * len(self._pulls)
        self.means = [top - far for top, far in zip(self._tops, self._distances, strict=True)]
        self._ready: list[Any] = [None] * len(self._pulls)  # see `_make_ready`

    def update(self, row: int, first: int, rewards: Sequence[float] | Array, pulls: float) -> bool:
        """Take the rewards of a row from place `first` on, and its pulls.

        What the states stand for is read again from the array that was given at first.  Returns
        False if numbers are so large or small that the bounds must be made anew.

        >>> counts = np.array([[1.0, 0.0], [1.0, 1.0]])
        >>> rewards, pulls = np.array([[0.0, 0.5], [0.9, 0.9]]), np.array([1.0, 2.0])
        >>> bounds = KeptBounds(rewards, counts, pulls, 1.0)
        >>> counts[0, 1] = 3.0
        >>> bounds.update(0, 1, [0.8], 4.0), round(bounds.means[0], 6)
        (True, 0.6)
        """
        if self._has_other_unit:
            return False
        self._ready[row] = None
        if first and len(rewards) <= ADDED_ONE_BY_ONE:
            for place, reward in enumerate(rewards, first):
                self._add(row, place, reward, float(self._stands_for[row, place]))
        else:
            gaps, weights = self._gaps[row], self._stands_for[row]
            changed = gaps[first : first + len(rewards)]
            np.subtract(self._tops[row], rewards, out=changed)
            np.maximum(changed, 0.0, out=changed)
            self._totals[row] = total = float(weights.dot(gaps))
            is_usual = total / pulls < SIZES[1]  # else squares would overflow
            self._squares[row] = float((weights * gaps).dot(gaps)) if is_usual else inf
            if (point := self._points[row]) is not None:
                self._shifts[row], self._points[row] = point.shift, None
        distance = self._totals[row] / pulls
        if not (distance <= 0.0 or SIZES[0] < distance < SIZES[1]):
            return False
        before, unit = self._units[row], max(distance, SIZES[0])
        if not 0.5 * before <= unit <= 2.0 * before:  # as after the first states of a row
            self._points[row], self._shifts[row] = None, 0.0
        self._units[row], self._unit_logs[row] = unit, log(unit)
        self._distances[row], self._pulls[row] = distance, pulls
        self._slack = TIED * max(self._distances)
        self.means[row] = self._tops[row] - distance
        return True

    def _add(self, row: int, place: int, reward: float, weight: float) -> None:
        """Add one state to a row."""
        gap = max(self._tops[row] - reward, 0.0)
        self._gaps[row, place] = gap
        self._totals[row] += weight * gap
        self._squares[row] += weight * gap * gap
        if (point := self._points[row]) is not None:
            point.add(gap, weight)

    @property
    def is_new(self) -> bool:
        """Whether no row was searched yet."""
        return not any(self._points)

    def looks_close(self, budgets: Sequence[float], allowed: Sequence[int]) -> bool:
        """Guess from means and variances whether a row without the highest mean may lead.

        >>> rewards, counts = np.array([[0.0, 0.5], [0.8, 0.9], [0.3, 0.3]]), np.ones((3, 2))
        >>> bounds = KeptBounds(rewards, counts, np.full(3, 2.0), 1.0)
        >>> bounds.looks_close([0.1] * 3, [0, 1]), bounds.looks_close([0.1] * 3, [0, 2])
        (False, True)
        """
        best = max([self.means[row] for row in allowed])
        for row in allowed:
            off = (best - self.means[row]) / (self._distances[row] or 1.0)
            if 0.0 < off * off < 2.0 * budgets[row] * self._spread(row):
                return True
        return False

    def explore(self, budgets: Sequence[float]) -> Self:
        """Begin the search for bounds with these budgets, from the results of the last search."""
        ready = self._ready
        if None in ready:
            self._make_ready()
        uppers: list[float] = []
        lowers: list[float] = []
        for (top, far, mean, logs, beyond, one), budget in zip(ready, budgets, strict=True):
            fall = exp(logs - budget)
            upper = top - (fall - beyond) * far
            uppers.append(upper)
            # As in `next_beyond`: beyond the best β the lower end can be told, too.
            lower = top - fall * (1.0 - beyond * one) * far if fall * one <= 1.0 else mean
            lowers.append(mean if lower < mean else min(lower, upper))
        self.uppers, self.lowers, self._budgets = uppers, lowers, budgets
        self._searches: dict[int, RowSearch] = {}
        new = self._new
        if not new:
            return self
        if self._is_kept and len(new) <= ROWS_AT_ONCE:
            self._lower_uppers(new)  # once and for all the searches that will follow
            return self
        for row, fall in zip(new, self._first_falls(new), strict=True):
            uppers[row] -= fall * self._distances[row]
        return self

    def _make_ready(self) -> None:
        """Note what `explore` needs of each row that has changed."""
        ready, points = self._ready, self._points
        for row, point in enumerate(points):
            if ready[row] is None:
                known = self._tops[row], self._distances[row], self.means[row]
                if point is None:
                    ready[row] = *known, -inf, 0.0, inf
                else:
                    unit, pulls, inverses = self._units[row], self._pulls[row], point.inverses
                    ready[row] = (
                        *known, point.logs / pulls - self._unit_logs[row], point.shift / unit,
                        inf if inverses is None else inverses * unit / pulls,
                    )  # fmt: skip
        self._new = [row for row, point in enumerate(points) if point is None]

    def _first_falls(self, rows: Sequence[int]) -> list[float]:
        """Return falls of some rows that are not above the true ones, from their variances."""
        spreads, budgets = list(map(self._spread, rows)), [self._budgets[row] for row in rows]
        if len(rows) <= ROWS_AT_ONCE:
            guesses = map(first_beyond, spreads, budgets)
            return list(map(first_fall, spreads, budgets, guesses))
        some, limits = np.array(spreads), np.array(budgets)
        found: list[float] = first_falls(some, limits, first_beyonds(some, limits)).tolist()
        return found

    def _spread(self, row: int) -> float:
        """Return the variance of a row in its own unit."""
        unit = self._units[row]
        return max(self._squares[row] / (unit * unit * self._pulls[row]) - 1.0, 0.0)

    def _search(self, row: int) -> RowSearch:
        """Return how far the search for the bound of a row is."""
        search = self._searches.get(row)
        if search is None:
            unit, budget, point = self._units[row], self._budgets[row], self._points[row]
            search = self._searches[row] = RowSearch()
            if point is not None:
                search.beyond, search.is_halfway = point.shift / unit, True
                logs = point.logs / self._pulls[row] - self._unit_logs[row]
                search.fall = exp(logs - budget) - search.beyond
            elif self._shifts[row]:  # the best β has hardly changed since
                search.beyond = self._shifts[row] / unit
            else:
                search.beyond = first_beyond(self._spread(row), budget)
        return search

    def improve(self, row: int, lead: float = 0.0) -> bool:
        """Take half a step to the bound of a row; return whether there was one to take.

        The first half improves the upper end.  Often that is enough to see that the row is not the
        highest, and the other half, the lower end and the next β, is left out.  `lead` is how far
        the upper end is above those of the other rows.
        """
        if self.uppers[row] <= self.lowers[row]:
            return False
        search, point = self._search(row), self._points[row]
        if point is not None and search.is_halfway:
            self._raise_lower(row, search, point, lead)
        else:
            shift = search.beyond * self._units[row]
            logs = self._stands_for[row].dot(np.log(self._gaps[row] + shift))
            self._lower_upper(row, search, shift, float(logs))
        return True

    def _lower_uppers(self, rows: list[int]) -> None:
        """Improve the upper ends of some rows at once, which is quicker than one by one."""
        searches = [self._search(row) for row in rows]
        shifts = [one.beyond * self._units[row] for one, row in zip(searches, rows, strict=True)]
        gaps, stands_for = self._gaps, self._stands_for
        if len(rows) < len(gaps):
            gaps, stands_for = gaps[rows], stands_for[rows]
        away = gaps + np.array(shifts)[:, None]
        sums = np.vecdot(stands_for, np.log(away, out=away)).tolist()
        for found in zip(rows, searches, shifts, sums, strict=True):
            self._lower_upper(*found)

    def _lower_upper(self, row: int, search: RowSearch, shift: float, total: float) -> None:
        """Take over the sum of ln u at the present β."""
        logs = total / self._pulls[row] - self._unit_logs[row]
        before, search.fall = search.fall, exp(logs - self._budgets[row]) - search.beyond
        search.steps += 1
        self._points[row], self._ready[row] = PointSums(shift, total), None
        self.uppers[row] = upper = (
            self._tops[row] - min(max(search.fall, 0.0), 1.0) * self._distances[row]
        )
        if (
            (search.steps > 1 and abs(before - search.fall) <= FALL_ACCURACY)
            or search.beyond <= NEAREST
            or search.steps == MOST_IMPROVEMENTS
        ):
            self.lowers[row] = upper
        else:
            search.is_halfway = True

    def _raise_lower(self, row: int, search: RowSearch, point: PointSums, lead: float) -> None:
        pulls, unit = self._pulls[row], self._units[row]
        if point.inverses is None:
            inverses, weights = np.reciprocal(self._gaps[row] + point.shift), self._stands_for[row]
            point.inverses = float(weights.dot(inverses))
            inverses *= inverses
            point.squares = float(weights.dot(inverses))
            self._ready[row] = None
        before, one = search.beyond, point.inverses * unit / pulls
        two = point.squares * unit * unit / pulls
        logs = point.logs / pulls - self._unit_logs[row]
        search.beyond, low, high, most = next_beyond(
            logs, one, two, self._budgets[row], before, search.low, search.high
        )
        if search.steps:
            search.low, search.high = low, high
        elif lead > 0.0:
            # This is the first step after an earlier search.  The lower end can be told only beyond
            # the best β, which grows as the arm is pulled.  So look as far ahead as the lead
            # allows.  Then most of the next searches need no step.
            lost = (two / one - one) * before * before * self._distances[row]  # per change of ln β
            far = LOOK_AHEAD * lead
            search.beyond *= 1.0 + (far / lost if far < FARTHEST_AHEAD * lost else FARTHEST_AHEAD)
        search.is_halfway = False
        lower = min(self._tops[row] - most * self._distances[row], self.uppers[row])
        self.lowers[row] = max(self.lowers[row], lower)

    def may_lead(self, allowed: Sequence[int]) -> list[int]:
        """Return the rows that may have the highest bound, by what is known so far."""
        least = max([self.lowers[row] for row in allowed]) - self._slack
        return [row for row in allowed if self.uppers[row] >= least]

    def highest(self, allowed: Sequence[int]) -> list[int]:
        """Return the rows with the highest bound: improve the highest until that is known."""
        uppers, lowers, slack = self.uppers, self.lowers, self._slack
        able = self.may_lead(allowed)
        if len(able) == 1:
            return able
        rows = [j for j in able if self._points[j] is None and uppers[j] > lowers[j]]
        if len(rows) > ROWS_AT_ONCE:
            rows = sorted(sorted(rows, key=uppers.__getitem__)[-ROWS_AT_ONCE:])
        if len(rows) > ROWS_ONE_BY_ONE:
            self._lower_uppers(rows)
        while True:
            second, best = sorted(able, key=uppers.__getitem__)[-2:]
            if uppers[second] < uppers[best] - slack:
                lead = uppers[best] - uppers[second]
                if lowers[best] > uppers[second] + slack or not self.improve(best, lead):
                    return [best]
            else:
                leading = [row for row in able if uppers[row] >= uppers[best] - slack]
                if not any([self.improve(row) for row in leading]):  # noqa: C419 - all take a step
                    return leading

    def levelled(self, allowed: Sequence[int]) -> Array:
        """Return the bounds; the highest of the allowed are equal if only rounding differs."""
        highest = max([self.uppers[row] for row in allowed])
        return np.array([highest if abs(highest - u) <= self._slack else u for u in self.uppers])
