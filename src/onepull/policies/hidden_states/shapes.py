"""The shapes that mean rewards can have, as functions of the context."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onepull.arrays import Array
from onepull.payoff import State
from onepull.payoff.box_points import points
from onepull.problem import Problem
from onepull.spaces import Box, Finite

STATES = 256  # whose shapes are compared
CONTEXTS = 128  # in which they are compared
MOST_ROWS = 512  # contexts of all kinds of arms together
FEWEST_CONTEXTS = 16  # for each of many kinds
MOST_KINDS = 32  # of arms, by their attributes, whose rewards are computed together
FAILURES = 0.125  # of the shapes, if pulls can fail
OCTAVES = 20.0  # up and down from 1, over which the values of a field without bounds are spread
MOST_SHAPES = 16
HIGHEST = 1e150  # that features may be, in units; where they are made they are about one
NEGLIGIBLE = 1e-3  # what the shapes left out may contribute, as a share of all
SPANNED = 1e-2  # the same for the shapes of one kind of arms, all of the same size
CHECKED = 64  # contexts in which they are compared with the features
FLAT = 1e-12  # a shape smaller than this share of the rewards is rounding


class Basis(NamedTuple):
    """What is needed to compute features: states, and how their rewards are combined.

    The first state is the reference.  `mix` has a row for each other state and a column for each
    feature.  Rewards are taken in a unit, so that no square overflows.
    """

    states: Array
    mix: Array
    unit: float


class Shapes:
    """Features in which the mean reward of every arm is linear, whatever its states.

    If a state s has the probability p(s), the mean reward in a context is

        g(context, s₀) + Σ p(s) · (g(context, s) - g(context, s₀)),

    for any reference s₀.  So it is known but for the weights of the shapes g(·, s) - g(·, s₀).  A
    sample of shapes, each scaled to size one, is reduced to a few states with which the others can
    be expressed, up to 16.  Features are made from these so that equal priors of their weights
    give each sampled shape the same chance.

    They are scaled to length one, together with the reward.  The length is how much rewards differ
    between states in this context, and so about how noisy they are.

    >>> from onepull import Interval
    >>> problem = Problem(
    ...     arms=["a"], context={"tokens": Interval(1, 4000)},
    ...     state={"first": Interval(0, math.inf), "each": Interval(0, math.inf)},
    ...     reward="-first - tokens * each",
    ... )
    >>> Shapes(problem).size
    2
    """

    def __init__(self, problem: Problem, basis: Basis | None = None) -> None:
        self.basis = basis or _basis(problem)
        self.problem = problem
        self._known = [column[:, None] for column in np.array(problem.known).T]
        self._states = list(self.basis.states.T)

    @property
    def size(self) -> int:
        """The number of features."""
        return int(self.basis.mix.shape[1])

    def are_possible(self) -> bool:
        """Whether these could be the shapes of this problem; those from a save may not be."""
        states, mix, unit = self.basis
        if max(mix.shape) > MOST_SHAPES:
            return False
        for space, values in zip(self.problem.shown.values(), states.T, strict=True):
            if isinstance(space, Finite):
                inside = np.isin(values, space.values)
            else:  # a sample of ratios may leave the interval by rounding
                near = 1e-9 * np.abs(values)
                inside = (space.low <= values + near) & (values - near <= space.high)
            if not inside.all():
                return False
        if not mix.any():  # nothing to learn
            return True
        sample = points(self.problem.context, FEWEST_CONTEXTS, np.random.default_rng(0))
        with np.errstate(all="ignore"):
            scales = [self.at(context)[1] for context in zip(*sample.values(), strict=True)]
        return bool((np.array(scales) / unit <= HIGHEST).all())  # not if one is NaN

    def on(self, problem: Problem) -> Shapes:
        """Return the same shapes for other arms."""
        return Shapes(problem, self.basis)

    def widened(self, problem: Problem) -> Shapes:
        """Return shapes for more arms: the same, unless new ones describe a new arm better."""
        kinds = sorted(set(problem.known) - set(self.problem.known))
        if not kinds or max(left := _left(problem, self.basis, kinds)) <= SPANNED:
            return self.on(problem)
        new = Shapes(problem)
        pairs = zip(left, _left(problem, new.basis, kinds), strict=True)
        return new if any(old > max(SPANNED, 2.0 * now) for old, now in pairs) else self.on(problem)

    def at(self, context: State) -> tuple[Array, Array, Array]:
        """Return features, their scale and the reward of the reference state.

        There is one row for all arms, or one for each if arms have attributes.
        """
        payoff = self.problem.payoff
        arms = len(self.problem.arms) if self._known else 1
        found = payoff.vector(*context, *self._known, *self._states)
        rewards = np.broadcast_to(found, (arms, len(self.basis.states)))
        shapes = (rewards[:, 1:] - rewards[:, :1]) / self.basis.unit
        # A product for each arm, so that its rounding does not depend on the number of arms.
        features = np.matmul(shapes[:, None, :], self.basis.mix)[:, 0, :]
        largest = np.abs(features).max(axis=1)
        largest[largest == 0.0] = 1.0  # no state makes a difference here
        features = features / largest[:, None]  # so that no square vanishes
        lengths = np.sqrt((features * features).sum(axis=1))
        lengths[lengths == 0.0] = 1.0
        return features / lengths[:, None], lengths * largest * self.basis.unit, rewards[:, 0]


def _basis(problem: Problem) -> Basis:
    """Return a basis for some kinds of arms, and for each other kind that it cannot express."""
    kinds = sorted(set(problem.known))
    used = kinds[:: math.ceil(len(kinds) / MOST_KINDS)]
    basis = _basis_of(problem, used)
    others = sorted(set(kinds) - set(used))
    for start in range(0, len(others), MOST_KINDS):
        lot = others[start : start + MOST_KINDS]
        while lot and basis.mix.shape[1] < MOST_SHAPES:
            left = _left(problem, basis, lot)
            if max(left) <= SPANNED:
                break
            used.append(lot.pop(left.index(max(left))))
            basis = _basis_of(problem, used)
    return basis


def _basis_of(problem: Problem, kinds: Sequence[State]) -> Basis:
    generator = np.random.default_rng(0)
    each = min(CONTEXTS, max(FEWEST_CONTEXTS, MOST_ROWS // len(kinds)))
    contexts = list(points(problem.context, each, generator).values())
    states = _states(problem, generator)
    columns = [column[:, None] for column in contexts]
    rewards = np.vstack(
        [
            np.broadcast_to(
                problem.payoff.vector(*columns, *known, *states.T), (len(contexts[0]), len(states))
            )
            for known in kinds
        ]
    )
    usable = np.isfinite(rewards).all(axis=0)
    if not usable.any():
        return Basis(states[:2], np.zeros((1, 1)), 1.0)
    rewards, states = rewards[:, usable], states[usable]
    unit = _unit(rewards)
    rewards = rewards / unit
    sizes = np.abs(rewards).mean(axis=0)
    reference = _first_largest(sizes.max() - sizes)
    shapes = rewards - rewards[:, [reference]]
    peaks = np.abs(shapes).max(axis=0)
    uneven = peaks > FLAT * (sizes + sizes[reference])
    if not uneven.any():
        return Basis(states[[reference, reference]], np.zeros((1, 1)), unit)
    shapes = shapes[:, uneven] / peaks[uneven]
    norms = np.sqrt((shapes * shapes).mean(axis=0))
    shapes, norms = shapes / norms, norms * peaks[uneven]
    chosen = _pivots(shapes)
    # Each shape as a sum of the chosen ones, and the covariance of these weights.
    weights = np.linalg.lstsq(shapes[:, chosen], shapes, rcond=None)[0]
    values, vectors = np.linalg.eigh(weights @ weights.T / shapes.shape[1])
    roots = np.sqrt(np.maximum(values, FLAT * values[-1]))
    mix = vectors * roots / norms[chosen][:, None]
    return Basis(np.vstack([states[[reference]], states[uneven][chosen]]), mix, unit)


def _left(problem: Problem, basis: Basis, kinds: Sequence[State]) -> list[float]:
    """Return the share of the shapes of each kind of arms that the features cannot express."""
    generator = np.random.default_rng(0)
    columns = [column[:, None] for column in points(problem.context, CHECKED, generator).values()]
    states = np.vstack([basis.states, _states(problem, generator)])
    return [_share_left(problem, basis, columns, known, states) for known in kinds]


def _share_left(
    problem: Problem, basis: Basis, columns: list[Array], known: State, states: Array
) -> float:
    found = problem.payoff.vector(*columns, *known, *states.T)
    rewards = np.broadcast_to(found, (len(columns[0]), len(states))) / basis.unit
    chosen = len(basis.mix)
    usable = np.asarray(np.isfinite(rewards).all(axis=0))
    if not usable[: chosen + 1].all():
        return 1.0
    shapes = rewards[:, 1:] - rewards[:, :1]
    features = shapes[:, :chosen] @ basis.mix
    peaks = np.abs(shapes).max(axis=0)
    sizes = np.abs(rewards).max(axis=0)
    uneven = usable[1:] & (peaks > FLAT * (sizes[1:] + sizes[0]))
    if not uneven.any():
        return 0.0
    shapes = shapes[:, uneven] / peaks[uneven]
    heights = np.abs(features).max(axis=0)
    features = features[:, heights > 0.0] / heights[heights > 0.0]
    directions, lengths, _ = np.linalg.svd(features, full_matrices=False)
    directions = directions[:, lengths > FLAT * lengths.max(initial=0.0)]
    left = shapes - directions @ (directions.T @ shapes)
    return math.sqrt(float((left * left).sum() / (shapes * shapes).sum()))


def _unit(rewards: Array) -> float:
    """Return a power of two of about the size of the largest reward, so that nothing overflows."""
    largest = float(np.abs(rewards).max())
    return 2.0 ** math.floor(math.log2(largest)) if largest else 1.0


def _states(problem: Problem, generator: np.random.Generator) -> Array:
    """Return a sample of states; with failures among them, if pulls can fail."""
    sample = points(problem.state, STATES, generator)
    for name, (low, high) in _endless(problem.state).items():
        far = 2.0 ** generator.uniform(-OCTAVES, OCTAVES, len(sample[name]))
        if math.isinf(low) and math.isinf(high):
            sample[name] = far * generator.choice([-1.0, 1.0], len(far))
        else:
            sample[name] = high - far if math.isinf(low) else low + far
    states = np.column_stack(list(sample.values()))
    if problem.failure is None:
        return states
    failed = np.arange(len(states)) < max(1, FAILURES * len(states))
    states = np.vstack([states, states[failed]])
    ending = np.repeat([0.0, 1.0], [len(failed), failed.sum()])
    return np.column_stack([states, ending])


def _endless(box: Box) -> dict[str, tuple[float, float]]:
    ends = {name: (space.low, space.high) for name, space in box.items()}
    return {name: each for name, each in ends.items() if math.isinf(each[1] - each[0])}


def _pivots(shapes: Array) -> Sequence[int]:
    """Return columns with which all columns can be expressed, the largest remainder first."""
    left = shapes.copy()
    chosen: list[int] = []
    enough = NEGLIGIBLE**2 * float((shapes * shapes).sum())
    while len(chosen) < MOST_SHAPES:
        squares = (left * left).sum(axis=0)
        if squares.sum() <= enough:
            break
        best = _first_largest(squares)
        chosen.append(best)
        direction = left[:, best] / math.sqrt(squares[best])
        left -= np.outer(direction, direction @ left)
    return chosen


def _first_largest(values: Array) -> int:
    """Return the place of the first value that is the largest up to rounding."""
    return int(np.argmax(values >= (1.0 - 1e-6) * values.max()))
