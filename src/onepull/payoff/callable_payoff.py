"""A reward given as a Python callable: only its values and the declarations are known."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.errors import DeclarationError, ProblemError, RewardError
from onepull.formula import Bounds
from onepull.payoff import box_points
from onepull.payoff.facts import Fact
from onepull.payoff.payoff import MOST_LISTED_STATES, Payoff, State
from onepull.payoff.reward import slack
from onepull.spaces import FAILED, Box


class CallablePayoff(Payoff):
    """A callable of the context and state fields, passed by name.

    It must be pure.  It gets numpy arrays only if it gave the same results on them as on
    numbers in a test when the problem was built.

    >>> from onepull.payoff import Reward
    >>> from onepull.spaces import Finite
    >>> bits, capacity = Box(bits=Finite([1, 2])), Box(capacity=Finite([0, 3]))
    >>> payoff = CallablePayoff(Reward(lambda bits, capacity: min(bits, capacity)), bits, capacity)
    >>> payoff(bits=2, capacity=3)
    2.0
    """

    def _work_out(self) -> None:
        hidden, known = self._hidden, self.fixed.values
        names = [name for name in (*self.names, *known) if name not in hidden]
        given = _with_words(_by_name(self.reward.source, names), names, self._words)
        places = [place for place, name in enumerate(self.names) if name not in hidden]
        if hidden or known:
            last = tuple(known.values())
            self.function: Callable[..., Any] = lambda *values: given(
                *[values[place] for place in places], *last
            )
        else:
            self.function = given
        self.vector = self._arrays if self._takes_arrays else self._one_by_one

    def scalar(self, *values: float) -> float:
        """Return the reward; raises `DeclarationError` if it breaks the declared bounds."""
        result = self._number(values)
        if self._has_failed(values):
            return result
        context = values[: len(self.context)]
        for side, bound, sign in (("low", self.low, -1.0), ("high", self.high, 1.0)):
            if bound is not None:
                limit = bound.scalar(*context)
                other = self.low if side == "high" else self.high
                ends = sorted((limit, limit if other is None else other.scalar(*context)))
                if sign * (result - limit) > slack(*ends):
                    raise DeclarationError(
                        f"the reward of {self._at_values(values)} is {result:.6g}, "
                        f"beyond the declared {side} of {limit:.6g}"
                    )
        return result

    def listing(self, contexts: Sequence[State]) -> Callable[[State], list[float]]:
        """Return a function that computes the rewards in all contexts, one call each."""
        return lambda state: [self.scalar(*context, *state) for context in contexts]

    def column(self, contexts: Sequence[State]) -> Callable[[State], Array]:
        """Return a function that computes the rewards in all contexts, checked as by `scalar`."""
        compute, listing = super().column(contexts), self.listing(contexts)
        columns = np.array(contexts).T
        low = -math.inf if self.low is None else self.low.vector(*columns)
        high = math.inf if self.high is None else self.high.vector(*columns)

        def checked(state: State) -> Array:
            rewards = compute(state)
            if self._has_failed(state):
                return rewards
            if np.any(rewards < low) or np.any(rewards > high):
                return np.array(listing(state))  # raises, if it is more than rounding
            return rewards

        return checked

    def _has_failed(self, values: Sequence[float]) -> bool:
        return self.failure is not None and values[-1] > 0.0

    def _number(self, values: Sequence[float]) -> float:
        if self.failure is not None and values[-1] > 0.0:
            return float(self.failure.scalar(*values))
        try:
            result = float(self.function(*values))
        except (TypeError, ArithmeticError, ValueError) as error:
            raise RewardError(
                f"the reward of {self._at_values(values)} is not a number: {error}"
            ) from error
        if not math.isfinite(result):
            raise RewardError(f"the reward of {self._at_values(values)} is {result}")
        return result

    def _at_values(self, values: Sequence[float]) -> str:
        return Box({**self.context, **self.state}).shown(values)

    def _one_by_one(self, *columns: Any) -> Array:
        arrays = np.broadcast_arrays(*(np.asarray(column, float) for column in columns))
        rows = zip(*(array.ravel().tolist() for array in arrays), strict=True)
        return np.array([self._number(row) for row in rows]).reshape(arrays[0].shape)

    def _arrays(self, *columns: Any) -> Array:
        shape = np.broadcast_shapes(*(np.shape(column) for column in columns))
        result = np.broadcast_to(np.asarray(self.function(*columns), dtype=np.float64), shape)
        if self.failure is not None:
            result = np.where(np.asarray(columns[-1]) > 0.0, self.failure.vector(*columns), result)
        if not np.all(np.isfinite(result)):
            return self._one_by_one(*columns)  # raises, and says where
        return result

    @cached_property
    def _takes_arrays(self) -> bool:
        box = Box({**self.context, **self.state})
        sample = box_points.points(box, 64, np.random.default_rng(0))
        if self.failure is not None:
            sample[FAILED] = np.zeros_like(sample[FAILED])
        columns = list(sample.values())
        try:
            arrays = self.function(*columns)
            return bool(np.array_equal(np.asarray(arrays, float), self._one_by_one(*columns)))
        except Exception:  # noqa: BLE001 - a function of numbers may fail on arrays in any way
            return False

    def _range(self, contexts: Mapping[str, Bounds]) -> Bounds:
        single = all(np.array_equal(low, high) for low, high in contexts.values())
        ends = self._state_ends()
        if ends is None:
            raise ProblemError(
                "the range of a Python reward over continuous states is not known: declare "
                "Reward(function, low=…, high=…), or monotone for every state field"
            )
        if not single and not box_points.is_finite(self.context):
            raise ProblemError(
                "the range of a Python reward over continuous contexts is not known: declare "
                "Reward(function, low=…, high=…)"
            )
        columns = [low[..., None] for low, _ in contexts.values()]
        rewards = self.vector(*columns, *ends.values())
        return np.min(rewards, axis=-1), np.max(rewards, axis=-1)

    def _state_ends(self) -> dict[str, Array] | None:
        """Return states that include those of the lowest and highest reward, None if not known."""
        if box_points.is_finite(self.state) and box_points.size(self.state) <= MOST_LISTED_STATES:
            return box_points.all_combinations(box_points.listed_values(self.state))
        falling = ("decreasing", "nonincreasing")
        along = {
            name: np.array((space.low, space.high))[
                :: -1 if self.reward.monotone[name] in falling else 1
            ]
            for name, space in self.state.items()
            if name in self.reward.monotone
        }
        others = Box({name: space for name, space in self.state.items() if name not in along})
        if not all(np.isfinite(ends).all() for ends in along.values()) or not (
            box_points.is_finite(others) and box_points.size(others) <= MOST_LISTED_STATES
        ):
            return None
        # Both corners of the monotone fields, for each value of the others.
        each = box_points.all_combinations({"_corner": (0, 1), **box_points.listed_values(others)})
        corner = each.pop("_corner").astype(int)
        found = {**{name: ends[corner] for name, ends in along.items()}, **each}
        return {name: found[name] for name in self.state}

    def _monotone(self, name: str) -> Fact[str | None]:
        del name
        return Fact(None, "unknown")

    def _lipschitz(self, name: str) -> Fact[float]:
        """Estimate the largest slope from differences on a fine grid through random points."""
        generator = np.random.default_rng(0)
        box = Box({**self.context, **self.state})
        others = box_points.points(box, 128, generator)
        space = box[name]
        line = np.array(sorted(box_points.listed_values(Box(f=space)).get("f", ())))
        if not len(line) and not math.isfinite(space.high - space.low):
            return Fact(math.inf, "unknown")
        if not len(line):
            line = np.linspace(space.low, space.high, 257)
        if len(line) < 2:
            return Fact(0.0, "enumerated")
        columns = {n: c[:, None] for n, c in others.items()} | {name: line[None, :]}
        slopes = np.abs(np.diff(self.vector(*columns.values()), axis=1)) / np.diff(line)
        return Fact(float(np.max(slopes)), "estimated")

    def _strict(self, context: State) -> bool:
        del context
        (name,) = self.state
        return self.reward.monotone.get(name) in ("increasing", "decreasing")


def _with_words(
    function: Callable[..., Any], names: Sequence[str], words: Mapping[str, Sequence[str]]
) -> Callable[..., Any]:
    """Return a function of numbers, which replaces the numbers of words by the words."""
    if not words:
        return function
    texts = {place: np.array(words[name]) for place, name in enumerate(names) if name in words}

    def decoded(*values: Any) -> Any:
        given = list(values)
        for place, known in texts.items():
            codes = np.asarray(values[place]).astype(np.int64)
            given[place] = known[codes] if codes.ndim else str(known[codes])
        return function(*given)

    return decoded


def _by_name(function: Any, names: Sequence[str]) -> Callable[..., Any]:
    """Return the callable as a function of the fields in the problem's order."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        signature = None  # some builtins have no signature
    if signature is not None:
        try:
            signature.bind(**dict.fromkeys(names))
        except TypeError as error:
            raise ProblemError(
                f"the reward callable does not take the fields {', '.join(names)}: {error}"
            ) from None
        if list(signature.parameters) == list(names) and all(
            p.kind is p.POSITIONAL_OR_KEYWORD for p in signature.parameters.values()
        ):
            positional: Callable[..., Any] = function
            return positional
    return lambda *values: function(**dict(zip(names, values, strict=True)))
