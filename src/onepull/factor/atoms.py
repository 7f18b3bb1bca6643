"""Factorisations that store the distribution of the state, as weights on listed states."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.checks import whole_number
from onepull.errors import ParameterError
from onepull.factor.context_ranges import Ranges
from onepull.factor.factorisation import Dense, Factorisation
from onepull.factor.plain_psi import PlainPsi, shared_out
from onepull.payoff import COMPACT, Features, State
from onepull.payoff.box_points import all_combinations, is_finite, listed_values, size
from onepull.problem import Problem, given_problem
from onepull.spaces import Finite, Interval

MOST_ATOMS = 100_000
FINER = (4, 8, 16)  # points per knot when the error is measured
REMEMBERED_REWARDS = 1 << 21  # rewards cached for recent contexts


class Atoms(Dense):
    """Base class with features on listed states: φ(y) is their reward, ψ(x) the weights of x.

    An arm's mean of ψ is a distribution on the listed states.  It gives the arm's mean reward in
    every context, for this reward formula or another.  If arms have attributes, the reward of a
    listed state depends on the arm, and so does φ.  A failed pull is one more listed state.
    """

    points: Array  # one listed state per row
    keeps_states = True

    def __init__(self, problem: Problem, columns: Sequence[Array]) -> None:
        self.problem = problem
        self.points = np.column_stack(columns)
        self.features = len(self.points)
        self._columns = list(self.points.T.copy())
        # The attributes of each arm, one row an arm.
        self._known = [column[:, None] for column in np.array(problem.known).T]
        contexts = max(1, min(4096, REMEMBERED_REWARDS // self.features))
        self._rewards = lru_cache(maxsize=contexts)(self._compute)

    def _compute(self, context: State) -> tuple[Array, Any, Any]:
        rewards = self.problem.payoff.vector(*context, *self._known, *self._columns)
        shape = (len(self.problem.arms), self.features) if self._known else self.features
        rewards = np.ascontiguousarray(np.broadcast_to(rewards, shape), np.float64)
        rewards.flags.writeable = False
        return rewards, *self._bounds(context, rewards)

    def _bounds(self, context: State, rewards: Array) -> tuple[Any, Any]:
        """Return bounds on the reward over all states, given the rewards of the listed ones."""
        del context
        return rewards.min(axis=-1).tolist(), rewards.max(axis=-1).tolist()

    def on(self, problem: Problem) -> Factorisation:
        """Return the same listed states for a problem with other arms."""
        return self if problem.known == self.problem.known else self._rebuilt(problem)

    def phi(self, context: State) -> Array:
        """Return the reward of each listed state; one row for each arm if they differ."""
        return self._rewards(context)[0]

    def look(self, means: Any, fields: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """Return the mean reward of every arm, and bounds on the reward over all states."""
        if not self._known:
            return super().look(means, fields)
        rewards, low, high = self._rewards(self.problem.context.exactly(fields))
        by_arm = np.ascontiguousarray(np.asarray(means).T)  # so that each row is added alike
        unpulled = np.isinf(by_arm).any(axis=1)
        found = np.einsum("js,js->j", rewards, np.where(unpulled[:, None], 0.0, by_arm))
        return np.where(unpulled, np.inf, found), low, high

    def feature_bounds(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return each feature's bounds: 0 and 1."""
        return [0.0] * self.features, [1.0] * self.features

    def bounds(self, context: State) -> tuple[Any, Any]:
        """Return bounds on the reward over all states; of each arm if they differ."""
        _, low, high = self._rewards(context)
        return low, high

    def phi_many(self, contexts: Array) -> Array:
        """Return φ of each context: `[context, state]`, or `[context, arm, state]`."""
        by_arm = (len(self.problem.arms),) if self._known else ()
        columns = [column.reshape(-1, *(1 for _ in by_arm), 1) for column in contexts.T]
        rewards = self.problem.payoff.vector(*columns, *self._known, *self._columns)
        shape = (len(contexts), *by_arm, self.features)
        return np.ascontiguousarray(np.broadcast_to(rewards, shape))

    def bounds_many(self, contexts: Array) -> tuple[Array, Array]:
        """Return bounds on the reward over all states in each context (one per row)."""
        rewards = self.phi_many(contexts)
        return rewards.min(axis=-1), rewards.max(axis=-1)


class Histogram(Atoms):
    """The frequency of each of finitely many states; exact in every context.

    It stores one number per arm and state, however many contexts there are.

    >>> from onepull import Interval
    >>> histogram = Histogram(Problem(
    ...     arms=["a", "b"],
    ...     context={"power": Interval(0, 1)},
    ...     state={"gain": Finite([0, 2, 4])},
    ...     reward="log(1 + power * gain)",
    ... ))
    >>> histogram.features, histogram.error, histogram.psi((2.0,))
    (3, 0.0, [0.0, 1.0, 0.0])
    """

    error = 0.0

    def __init__(self, problem: Problem) -> None:
        if not is_finite(given_problem(problem).state):
            fields = [n for n, s in problem.state.items() if not isinstance(s, Finite)]
            raise ParameterError(
                f"state field {fields[0]!r} is {problem.state[fields[0]]!r}, but a histogram needs "
                "finitely many states; use a sketch"
            )
        _check_number(size(problem.state))
        super().__init__(
            problem, _and_failed(problem, all_combinations(listed_values(problem.state)))
        )
        self.psi = self._of_outcome(_one_hot([tuple(row) for row in self.points.tolist()]))

    def _of_outcome(self, psi: Callable[[State], Features]) -> Callable[[State], Features]:
        """Return ψ as a function of an outcome: attributes, state, and whether the pull failed."""
        first = len(self._known)
        if self.problem.failure is None:
            return (lambda outcome: psi(outcome[first:])) if first else psi
        failed = psi(tuple(self.points[-1].tolist()))  # whatever else an outcome says
        return lambda outcome: failed if outcome[-1] > 0.0 else psi(outcome[first:])

    def _rebuilt(self, problem: Problem) -> Histogram:
        return Histogram(problem)


class Sketch(Atoms):
    """The distribution of states on knots, with linear interpolation between neighbours.

    An interval field has equally spaced knots at a distance h; a finite field keeps its values.
    Several fields form a product grid.  The weight of a state is split between the neighbouring
    knots, so the reward is interpolated linearly.  The error is 0 at the knots and at most L·h/2
    for a reward with slope at most L, also for rewards with kinks such as min(y, x).  If the
    reward jumps, such as x <= y, the error may be as large as the jump, but only for states
    between the two knots around it.  Sketches are sums, so they merge exactly.

    Parameters
    ----------
    knots
        Number of knots per interval field.

    Examples
    --------
    >>> from onepull import Interval
    >>> sketch = Sketch(Problem(
    ...     arms=["a", "b"],
    ...     context={"bits": Interval(0, 4)},
    ...     state={"capacity": Interval(0, 4)},
    ...     reward="min(bits, capacity)",
    ... ), knots=5)
    >>> sketch.psi((2.25,)), sketch.error
    ([0.0, 0.0, 0.75, 0.25, 0.0], 0.5)
    """

    knots: int

    def __init__(self, problem: Problem, *, knots: int = 65) -> None:
        self.knots = whole_number("knots", knots, least=2)
        fields = given_problem(problem).state
        intervals = {n: s for n, s in fields.items() if isinstance(s, Interval)}
        for name, space in intervals.items():
            if not math.isfinite(space.width):
                raise ParameterError(
                    f"state field {name!r} is {space!r}, but a sketch needs bounded fields: bound "
                    "it, for example with Interval(0, 30, outside='clip'), or use "
                    "recommended(problem), which keeps the states themselves"
                )
        _check_number(size(fields) * self.knots ** len(intervals))
        columns = {
            name: np.array(space.values) if isinstance(space, Finite) else space.places(self.knots)
            for name, space in fields.items()
        }
        super().__init__(problem, _and_failed(problem, all_combinations(columns)))
        low, high = problem.payoff.whole_range
        between = {name: _widest(space, self.knots) for name, space in intervals.items()}
        slopes = problem.payoff.steepness
        interpolated = sum(slopes[name].value * h / 2 for name, h in between.items())
        self.error = min(interpolated, high - low)
        self._ranges = Ranges(problem)
        self.plain_psi = _sketched(problem, self.knots)
        self.psi = _psi_of(self.plain_psi, problem, self.features)

    def _rebuilt(self, problem: Problem) -> Sketch:
        return Sketch(problem, knots=self.knots)

    def looked_at(self, looks: int = 1 << 23) -> float:
        """Return a tighter bound on the error, measured between the knots.

        The interpolation error is computed at points between the knots and in a sample of
        contexts, at most `looks` times in total.  Between these points neither the reward nor its
        interpolation changes faster than the reward's slope, so twice the distance times the
        slope is added.  For smooth rewards the result is far smaller than `error`.

        >>> from onepull import Interval
        >>> sketch = Sketch(Problem(
        ...     arms=["a"],
        ...     context={"data": Finite([8, 64])},
        ...     state={"rate": Interval(40, 200)},
        ...     reward="-data / rate",
        ... ), knots=33)
        >>> round(sketch.error, 4), round(sketch.looked_at(), 4)
        (0.1, 0.0177)
        """
        slopes = self.problem.payoff.steepness
        fields = self.problem.state
        if any(isinstance(space, Interval) and space.is_log for space in fields.values()):
            return self.error  # it is measured on evenly spaced points only
        if self._known or not all(math.isfinite(slopes[name].value) for name in fields):
            return self.error
        margin, finer, rows = min(
            (self._view(finer, looks) for finer in FINER), key=lambda view: view[0]
        )
        if margin >= self.error:
            return self.error
        columns = {
            name: np.array(space.values)
            if isinstance(space, Finite)
            else np.linspace(space.low, space.high, (self.knots - 1) * finer + 1)
            for name, space in fields.items()
        }
        fine = list(all_combinations(columns).values())
        if self.problem.failure is not None:  # a failed pull has no error
            fine.append(np.zeros(len(fine[0])))
        shape = [len(column) for column in columns.values()]
        worst = 0.0
        for context in rows:
            rewards = np.broadcast_to(self.problem.payoff.vector(*context, *fine), len(fine[0]))
            exact = rewards.reshape(shape)
            drawn = exact
            for axis, space in enumerate(fields.values()):
                if isinstance(space, Interval):
                    drawn = _drawn(drawn, axis, finer)
            worst = max(worst, float(np.abs(drawn - exact).max()))
        return min(self.error, worst + margin)

    def _view(self, finer: int, looks: int) -> tuple[float, int, list[State]]:
        """Return the margin, `finer`, and the contexts to measure with `finer` points per knot."""
        problem = self.problem
        margin, points = 0.0, 1
        for name, space in problem.state.items():
            if isinstance(space, Finite):
                points *= len(space.values)
            else:
                points *= (self.knots - 1) * finer + 1
                step = space.width / (self.knots - 1) / finer
                margin += problem.payoff.steepness[name].value * step
        intervals = [s for s in problem.context.values() if isinstance(s, Interval)]
        share = looks / points / size(problem.context)
        each = max(2, int(share ** (1 / len(intervals)))) if intervals else 1
        if share < 1:
            return math.inf, finer, []
        columns = {}
        for name, space in problem.context.items():
            if isinstance(space, Finite):
                columns[name] = np.array(space.values)
            else:
                columns[name] = np.linspace(space.low, space.high, each)
                margin += problem.payoff.lipschitz[name].value * space.width / (each - 1)
        rows = list(zip(*(c.tolist() for c in all_combinations(columns).values()), strict=True))
        return margin, finer, rows

    def _bounds(self, context: State, rewards: Array) -> tuple[Any, Any]:
        del rewards
        return self._ranges.at(context)

    def bounds_many(self, contexts: Array) -> tuple[Array, Array]:
        """Return bounds on the reward over all states in each context (one per row)."""
        return self._ranges.at_many(contexts)


def _drawn(values: Array, axis: int, finer: int) -> Array:
    """Return values interpolated linearly between every `finer`-th one along an axis."""
    moved = np.moveaxis(values, axis, 0)
    knots = moved[::finer]
    share = (np.arange(finer) / finer).reshape(1, finer, *([1] * (moved.ndim - 1)))
    lines = knots[:-1, None] * (1 - share) + knots[1:, None] * share
    drawn = np.concatenate([lines.reshape(-1, *moved.shape[1:]), knots[-1:]])
    return np.moveaxis(drawn, 0, axis)


def _check_number(atoms: int) -> None:
    if atoms > MOST_ATOMS:
        raise ParameterError(
            f"{atoms:,} listed states are more than the {MOST_ATOMS:,} allowed; take fewer knots "
            "or another sharing"
        )


def _one_hot(states: list[State]) -> Callable[[State], Features]:
    """Return ψ of a histogram, with precomputed results if there are few states."""
    place = {state: s for s, state in enumerate(states)}
    count = len(states)
    if count <= COMPACT:
        rows = {state: [float(s == i) for i in range(count)] for state, s in place.items()}
        return rows.__getitem__

    def psi(state: State) -> Features:
        weights = np.zeros(count)
        weights[place[state]] = 1.0
        return weights

    return psi


def _and_failed(problem: Problem, columns: Mapping[str, Array]) -> list[Array]:
    """Return the columns of listed states, with a failed pull as the last if pulls can fail."""
    found = list(columns.values())
    if problem.failure is None:
        return found
    failed = problem.failed_outcome_of(0)[len(problem.known[0]) :]
    shown = [*found, np.zeros(len(found[0]))]
    return [np.append(column, value) for column, value in zip(shown, failed, strict=True)]


def _sketched(problem: Problem, knots: int) -> PlainPsi:
    """Return ψ of a sketch as a plain function of values and of positions of listed values."""
    spaces, first = list(problem.state.values()), len(problem.known[0])
    counts = [len(s.values) if isinstance(s, Finite) else knots for s in spaces]
    lows = [0.0 if isinstance(s, Finite) else s.low for s in spaces]
    per_unit = [1.0 if isinstance(s, Finite) else (knots - 1) / s.extent for s in spaces]
    logs = [isinstance(s, Interval) and s.is_log for s in spaces]
    return PlainPsi(shared_out, (lows, per_unit, counts, first, logs))


def _widest(space: Interval, knots: int) -> float:
    """Return the largest distance between neighbouring knots."""
    if not space.is_log:
        return space.width / (knots - 1)
    return space.high * (1.0 - math.exp(-space.extent / (knots - 1)))


def _psi_of(plain: PlainPsi, problem: Problem, count: int) -> Callable[[State], Features]:
    """Return ψ of a sketch, which replaces listed values by their positions."""
    places = [
        {value: float(i) for i, value in enumerate(space.values)}
        if isinstance(space, Finite) and name in problem.state
        else None
        for name, space in problem.outcome.items()
    ]
    has_lists = any(place is not None for place in places)

    def psi(state: State) -> Features:
        if has_lists:
            pairs = zip(state, places, strict=True)
            state = tuple(v if place is None else place[v] for v, place in pairs)
        weights = plain(state, count)
        return weights if count <= COMPACT else np.array(weights)

    return psi
