"""The known reward on its context and state spaces."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np

from onepull.arrays import Array
from onepull.errors import DeclarationError, FormulaError, ProblemError, RewardError
from onepull.formula import Bounds, Formula
from onepull.payoff import box_points
from onepull.payoff.facts import Fact
from onepull.payoff.reward import Fixed, Reward, slack
from onepull.spaces import FAILED, Box, Interval

Features: TypeAlias = Sequence[float] | Array
State: TypeAlias = tuple[float, ...]

COMPACT = 64  # up to this length plain lists are faster than arrays
SAMPLED_POINTS = 2048
MOST_LISTED_STATES = 65536  # the most states to enumerate
REMEMBERED_RANGES = 32  # ranges, of at most so many bytes each
REMEMBERED_BYTES = 16384
FAR, FARTHER = 2.0**240, 2.0**40  # how far, and in which steps, a state without bounds is sought


class Payoff(ABC):
    """The function g(context, state) and its properties.

    Call it with every field by name.  Among the fields of the state are the attributes of the
    arm, if arms have any, and `failed`, if pulls can fail: whatever else the state is, the reward
    of a failed pull is `failure`.

    Attributes
    ----------
    scalar
        g on numbers: the context fields, then the state fields, in order.
    vector
        g on arrays, the same way.
    """

    scalar: Callable[..., float]
    vector: Callable[..., Array]

    def __init__(
        self,
        reward: Reward,
        context: Box,
        state: Box,
        failure: Formula | None = None,
        fixed: Fixed | None = None,
    ) -> None:
        self.reward = reward
        self.context = context
        self.state = state
        self.failure = failure
        self.fixed = fixed or Fixed()
        self.names = (*context.names, *state.names)
        for name in reward.monotone:
            if name not in state:
                raise ProblemError(f"reward monotone: {name!r} is not a state field")
        for name in reward.lipschitz:
            if name not in context:
                raise ProblemError(f"reward lipschitz: {name!r} is not a context field")
        self.low = self._declared_bound("low")
        self.high = self._declared_bound("high")
        self._ranges: dict[tuple[Any, ...], Bounds] = {}
        self._words = {**context.words, **state.words, **self.fixed.words}
        self._hidden = [*context.implied, *([] if failure is None else [FAILED])]
        self._work_out()

    @abstractmethod
    def _work_out(self) -> None:
        """Make `scalar` and `vector`; raises FormulaError if the reward is undefined somewhere."""

    def __call__(self, **fields: Any) -> float:
        """Return the reward of a context and a state, all fields by name."""
        if stray := set(fields) - set(self.names).difference(self.context.implied):
            raise self.context.stray(stray, self.state.names)
        if self.failure is not None:
            fields.setdefault(FAILED, False)
        return float(self.scalar(*self.context.read(fields), *self.state.read(fields)))

    def parted(self, context: Box, state: Box) -> Self:
        """Return the same function with another split of the fields, in the same order.

        So attributes of arms, which are part of an outcome, can be taken as part of the context.
        """
        return type(self)(self.reward, context, state, self.failure, self.fixed)

    def computes_as(self, other: Payoff) -> bool:
        """Whether another reward is the same function, as far as that can be told."""
        return bool(self.reward.source == other.reward.source)

    # Rewards in many contexts

    def across(self, contexts: Sequence[State]) -> Callable[[State], Features]:
        """Return ψ, the function from a state to its rewards in all `contexts`."""
        compute = self.listing(contexts) if len(contexts) <= COMPACT else self.column(contexts)
        if not box_points.is_finite(self.state) or (
            box_points.size(self.state) * len(contexts) > 2**20
        ):
            return compute
        return _Cache(compute).__getitem__

    @abstractmethod
    def listing(self, contexts: Sequence[State]) -> Callable[[State], list[float]]:
        """Return the function from a state to a list of rewards, one per context."""

    def column(self, contexts: Sequence[State]) -> Callable[[State], Array]:
        """Return the function from a state to an array of rewards, one per context."""
        columns = list(np.array(contexts).T)
        return lambda state: self.vector(*columns, *state)

    # Properties

    def range(self, contexts: Mapping[str, Bounds]) -> Bounds:
        """Bound the reward over all states, for each of an array of context boxes.

        Parts of a policy, and policies on one problem, ask for the same ranges, which take
        milliseconds to find.  So the last ones are remembered.
        """
        ends = [np.asarray(end) for bounds in contexts.values() for end in bounds]
        key = (*contexts, *((end.shape, end.tobytes()) for end in ends))
        if (found := self._ranges.get(key)) is not None:
            return found
        try:
            lows, highs = self._bounds(contexts)
        except FormulaError:
            # A declared bound is defined on all contexts, but these boxes are too large to tell.
            lows, highs = (np.full((), end) for end in self.whole_range)
        found = np.broadcast_to(lows, ends[0].shape), np.broadcast_to(highs, ends[0].shape)
        if sum(end.nbytes for end in ends) <= REMEMBERED_BYTES:
            if len(self._ranges) >= REMEMBERED_RANGES:
                self._ranges.clear()
            self._ranges[key] = found
        return found

    def _bounds(self, contexts: Mapping[str, Bounds]) -> Bounds:
        low, high = self.low, self.high
        if low is None and high is None:
            return self._range(contexts)
        if low is not None and high is not None:
            lows, highs = low.enclose(contexts).low, high.enclose(contexts).high
        else:
            lows, highs = self._range(contexts)
            lows = lows if low is None else low.enclose(contexts).low
            highs = highs if high is None else high.enclose(contexts).high
        if self.failure is not None:  # which the declarations do not speak of
            fields = {name: (space.low, space.high) for name, space in self.state.items()}
            failing = self.failure.enclose({**contexts, **fields})
            lows, highs = np.minimum(lows, failing.low), np.maximum(highs, failing.high)
        return lows, highs

    @cached_property
    def whole_range(self) -> tuple[float, float]:
        """Bounds on the reward over all contexts and states."""
        boxes = box_points.pieces(self.context, 256)
        lows, highs = self._bounds(boxes)
        return float(np.min(lows)), float(np.max(highs))

    @property
    def reach(self) -> float:
        """The largest size of a context and a state at which no reward overflows, if known."""
        return math.inf

    @abstractmethod
    def _range(self, contexts: Mapping[str, Bounds]) -> Bounds:
        """Bound the reward from the source, without declared bounds."""

    @cached_property
    def monotone(self) -> dict[str, Fact[str | None]]:
        """For each state field, the direction of the reward along it, the same in all contexts."""
        declared: dict[str, Fact[str | None]] = {
            name: Fact(direction, "declared") for name, direction in self.reward.monotone.items()
        }
        return {name: declared.get(name) or self._monotone(name) for name in self.state}

    @abstractmethod
    def _monotone(self, name: str) -> Fact[str | None]:
        """Find the direction along a state field."""

    @cached_property
    def lipschitz(self) -> dict[str, Fact[float]]:
        """For each context field, a Lipschitz constant of the reward."""
        declared = {
            name: Fact(constant, "declared") for name, constant in self.reward.lipschitz.items()
        }
        return {name: declared.get(name) or self._lipschitz(name) for name in self.context}

    @cached_property
    def steepness(self) -> dict[str, Fact[float]]:
        """For each state field, a Lipschitz constant of the reward."""
        return {name: self._lipschitz(name) for name in self.state}

    @abstractmethod
    def _lipschitz(self, name: str) -> Fact[float]:
        """Bound the slope along a context or state field."""

    # From a reward back to the state

    def invert(self, reward: float, context: State) -> State:
        """Return the one state that gives this reward in this context.

        Raises `RewardError` if any two states may give the same reward in this context, even
        if this reward is unique: learning only from unique rewards would be biased.
        """
        if box_points.is_finite(self.state):
            if box_points.size(self.state) > MOST_LISTED_STATES:
                raise self._ambiguous(context, f"there are more than {MOST_LISTED_STATES} states")
            return self._look_up(reward, context)
        if len(self.state) > 1:
            raise self._ambiguous(context, "the state has several fields")
        if not self._strict(context):
            raise self._ambiguous(context, "several states may give the same reward")
        return (self._bisect(reward, context),)

    def _look_up(self, reward: float, context: State) -> State:
        states = box_points.all_combinations(box_points.listed_values(self.state))
        values = self.vector(*context, *states.values())
        order = np.argsort(values)
        close = slack(float(values.min()), float(values.max()))
        if np.any(np.diff(values[order]) <= close):
            raise self._ambiguous(context, "several states give the same reward")
        nearest = int(np.argmin(np.abs(values - reward)))
        if not abs(values[nearest] - reward) <= close:
            shown = ", ".join(f"{value:.12g}" for value in values[order][:12])
            raise RewardError(
                f"reward {reward!r} is impossible for {self._shown(context)}; expected {shown}"
            )
        return tuple(float(column[nearest]) for column in states.values())

    @abstractmethod
    def _strict(self, context: State) -> bool:
        """Whether the reward is known to be strictly monotone in the state in this context."""

    def _bisect(self, reward: float, context: State) -> float:
        space = _interval(next(iter(self.state.values())))
        edges = [edge for edge in box_points.cuts(space, 1) if math.isfinite(edge)]
        left, right = float(edges[0]), float(edges[-1])
        start, end = self.scalar(*context, left), self.scalar(*context, right)
        low, high = min(start, end), max(start, end)
        close = slack(low, high)
        if math.isinf(space.width):  # an end without a bound is moved until it is far enough
            close = slack(reward, reward)
            while not low - close <= reward <= high + close and max(-left, right) < FAR:
                left = left * FARTHER if math.isinf(space.low) else left
                right = right * FARTHER if math.isinf(space.high) else right
                start, end = self.scalar(*context, left), self.scalar(*context, right)
                low, high = min(start, end), max(start, end)
        if not low - close <= reward <= high + close:
            if math.isinf(space.width):
                points = ((np.array([value]),) * 2 for value in context)
                ends = self.range(dict(zip(self.context, points, strict=True)))
                low, high = (float(end[0]) for end in ends)
            raise RewardError(
                f"reward {reward!r} is impossible for {self._shown(context)}; "
                f"expected {low:.12g} to {high:.12g}"
            )
        while True:
            middle = left + (right - left) / 2
            if not left < middle < right:
                return middle
            if (self.scalar(*context, middle) < reward) == (start < end):
                left = middle
            else:
                right = middle

    def _shown(self, context: State) -> str:
        return self.context.shown(context)

    def _ambiguous(self, context: State, why: str) -> RewardError:
        fields = ", ".join(self.state)
        return RewardError(
            f"the reward does not determine the state for {self._shown(context)}: {why}; "
            f"observe the state instead ({fields})"
        )

    # Checks of declarations on samples

    def _declared_bound(self, side: str) -> Formula | None:
        bound = getattr(self.reward, side)
        return None if bound is None else self._over_contexts(str(bound))

    def _over_contexts(self, text: str) -> Formula:
        box = self.context
        return Formula(text, box.names, box.words, hidden=box.implied)

    def check_declarations(self) -> None:
        """Raise `DeclarationError` if a sample contradicts a declaration."""
        if not self.reward.declarations:
            return
        everything = Box({**self.context, **self.state})
        sample = box_points.points(everything, SAMPLED_POINTS, np.random.default_rng(0))
        if self.failure is not None:
            sample[FAILED] = np.zeros_like(sample[FAILED])
        self._check_bounds(sample)
        for name, direction in self.reward.monotone.items():
            self._check_direction(name, direction, sample)
        for name, constant in self.reward.lipschitz.items():
            self._check_slope(name, constant, sample)

    def _check_bounds(self, sample: Mapping[str, Array]) -> None:
        rewards = self.vector(*sample.values())
        context = [sample[name] for name in self.context]
        for side, bound, sign in (("low", self.low, -1.0), ("high", self.high, 1.0)):
            if bound is None:
                continue
            limits = bound.vector(*context)
            excess = sign * (rewards - limits)
            worst = int(np.argmax(excess))
            if excess[worst] > slack(float(np.min(rewards)), float(np.max(rewards))):
                raise DeclarationError(
                    f"{side}={getattr(self.reward, side)!r} is contradicted: "
                    f"{self._example(sample, worst)} gives {rewards[worst]:.6g}, "
                    f"where {side} is {limits[worst]:.6g}"
                )

    def _check_direction(self, name: str, direction: str, sample: Mapping[str, Array]) -> None:
        one, two, gain = self._differences(name, sample)
        sign = 1.0 if direction in ("increasing", "nondecreasing") else -1.0
        strict = direction in ("increasing", "decreasing")
        apart = two[name] > one[name]
        close = slack(*self.whole_range)
        wrong = apart & (sign * gain <= 0 if strict else sign * gain < -close)
        if np.any(wrong):
            worst = int(np.argmax(wrong))
            raise DeclarationError(
                f"monotone {name!r} {direction!r} is contradicted: "
                f"{self._example(one, worst)} gives {self._at(one, worst):.6g}, "
                f"{self._example(two, worst)} gives {self._at(two, worst):.6g}"
            )

    def _check_slope(self, name: str, constant: float, sample: Mapping[str, Array]) -> None:
        one, two, gain = self._differences(name, sample)
        with np.errstate(over="ignore"):  # then it is steep enough
            allowed = constant * (two[name] - one[name]) * (1 + 1e-9)
        excess = np.abs(gain) - allowed
        worst = int(np.argmax(excess))
        if excess[worst] > slack(*self.whole_range):
            raise DeclarationError(
                f"lipschitz {name!r}={constant:g} is contradicted: "
                f"{self._example(one, worst)} gives {self._at(one, worst):.6g}, "
                f"{self._example(two, worst)} gives {self._at(two, worst):.6g}"
            )

    def _differences(
        self, name: str, sample: Mapping[str, Array]
    ) -> tuple[dict[str, Array], dict[str, Array], Array]:
        """Return pairs of points that differ in one field, and the difference of g between them."""
        listed = box_points.listed_values(Box({**self.context, **self.state}))
        values = np.sort(np.array(listed.get(name, ())))
        if len(values):  # for a finite field, neighbours suffice
            above = np.searchsorted(values, sample[name]) + 1
            other = values[np.minimum(above, len(values) - 1)]
        else:
            other = np.random.default_rng(1).permutation(sample[name])
        one = {**sample, name: np.minimum(sample[name], other)}
        two = {**sample, name: np.maximum(sample[name], other)}
        return one, two, self.vector(*two.values()) - self.vector(*one.values())

    def _example(self, sample: Mapping[str, Array], place: int) -> str:
        spaces = {**self.context, **self.state}
        shown = (f"{n}={spaces[n].shown(float(c[place]))}" for n, c in sample.items())
        return ", ".join(shown)

    def _at(self, sample: Mapping[str, Array], place: int) -> float:
        return float(self.scalar(*(float(column[place]) for column in sample.values())))


class _Cache(dict[State, Features]):
    """A cache of the features of each state."""

    def __init__(self, compute: Callable[[State], Features]) -> None:
        super().__init__()
        self.compute = compute

    def __missing__(self, state: State) -> Features:
        features = self[state] = self.compute(state)
        return features


def _interval(space: Any) -> Interval:
    assert isinstance(space, Interval)  # noqa: S101 - callers pass continuous spaces only
    return space
