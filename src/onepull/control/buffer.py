"""Buffers between time slots: energy in a battery, bits in a queue."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import ClassVar, Literal

from onepull.budgets import can_pay, cost_of
from onepull.checks import number
from onepull.errors import InputError, ParameterError
from onepull.problem import Problem


def amount_field(problem: Problem, amounts: Iterable[float], who: str) -> str:
    """Return the only context field, of which every amount is a value; else raise ParameterError.

    >>> from onepull.spaces import Finite
    >>> problem = Problem(
    ...     arms=["a"], context={"bits": Finite([1, 2])}, state={"x": Finite([0, 1])}, reward="x"
    ... )
    >>> amount_field(problem, [1], "a controller")
    'bits'
    """
    if len(problem.context) != 1:
        raise ParameterError(
            f"{who} needs one context field, the amount; given {', '.join(problem.context)}"
        )
    (field,) = problem.context
    for amount in amounts:
        try:
            problem.context.exactly({field: amount})
        except InputError as error:
            raise ParameterError(
                f"the amounts of the buffer must be contexts of the problem: {error}"
            ) from None
    return field


class Buffer(ABC):
    """A level that arrivals raise, up to a capacity, and that pulls lower.

    In each slot either an amount is drawn for a pull, or the controller idles, which earns
    nothing and shows no state.  The amount is the context of the pull.  Arrivals can be used
    from the next slot on; what exceeds the capacity is lost.

    Attributes
    ----------
    capacity
        The highest level.
    amounts
        The amounts that may be drawn in a slot, from small to large.
    costs
        What a pull costs, by arm; free if not given.
    counted
        What is averaged over time: 'reward' (to be maximised) or 'cost' (to be minimised).
    """

    counted: ClassVar[Literal["reward", "cost"]]

    def __init__(
        self,
        *,
        capacity: float,
        amounts: Iterable[float],
        costs: Mapping[str, float] | None = None,
    ) -> None:
        self.capacity = number("capacity", capacity, above=0.0)
        if not isinstance(amounts, Iterable):
            raise ParameterError(
                f"amounts must be a list of numbers from small to large, given {amounts!r}"
            )
        if costs is not None and not isinstance(costs, Mapping):
            raise ParameterError(f"costs are given by arm, such as {{'lte': 1.0}}, given {costs!r}")
        self.amounts = tuple(number("an amount", amount, above=0.0) for amount in amounts)
        if not self.amounts or any(b <= a for a, b in pairwise(self.amounts)):
            raise ParameterError(f"amounts must go from small to large, given {list(self.amounts)}")
        if self.amounts[-1] > self.capacity:
            raise ParameterError(
                f"amounts must not exceed the capacity, {capacity:g}, given {self.amounts[-1]:g}"
            )
        self.costs = {arm: cost_of(arm, cost) for arm, cost in (costs or {}).items()}

    def affordable(self, level: float) -> tuple[float, ...]:
        """Return the amounts that do not exceed a level, up to rounding."""
        return tuple(a for a in self.amounts if can_pay(level, a, self.capacity))

    def refilled(self, level: float, drained: float, arrived: float) -> tuple[float, float]:
        """Return the level of the next slot, and the amount lost to overflow."""
        level = max(level - drained, 0.0) + arrived
        return min(level, self.capacity), max(level - self.capacity, 0.0)

    @abstractmethod
    def offers(self, level: float) -> tuple[float, ...]:
        """Return the amounts to choose from at a level."""

    @abstractmethod
    def gain(self, reward: float, cost: float) -> float:
        """Return what a pull with this reward and cost adds to the long-run objective."""

    @abstractmethod
    def drain(self, amount: float, reward: float) -> float:
        """Return by how much a pull lowers the level."""


class Battery(Buffer):
    """A battery: energy is harvested, stored, and spent as the power of a transmission.

    The amount is the power.  It is spent whatever the state is.  The objective is the reward.

    >>> battery = Battery(capacity=2.0, amounts=[0.25, 0.5, 1.0])
    >>> battery.offers(0.75)
    (0.25, 0.5)
    >>> battery.refilled(1.75, drained=0.5, arrived=1.0)
    (2.0, 0.25)
    """

    counted = "reward"

    def __init__(self, *, capacity: float, amounts: Iterable[float]) -> None:
        super().__init__(capacity=capacity, amounts=amounts)

    def __repr__(self) -> str:
        """Show capacity and amounts."""
        return f"Battery(capacity={self.capacity:g}, amounts={list(self.amounts)})"

    def offers(self, level: float) -> tuple[float, ...]:
        """Return the powers that do not exceed the level."""
        return self.affordable(level)

    def gain(self, reward: float, cost: float) -> float:
        """Return the reward; energy itself costs nothing."""
        del cost
        return reward

    def drain(self, amount: float, reward: float) -> float:
        """Return the energy spent."""
        del reward
        return amount


class Backlog(Buffer):
    """A queue: bits arrive, wait, and are sent over an arm that has a cost.

    The amount is the number of bits to send: all that wait, up to the largest amount.  The
    reward is the number of bits delivered; the others stay in the queue.  The objective is the
    cost.

    >>> backlog = Backlog(capacity=40, amounts=[1, 2, 3, 4], costs={"lte": 1.0})
    >>> backlog.offers(2), backlog.offers(17)
    ((2.0,), (4.0,))
    """

    counted = "cost"

    def __init__(
        self, *, capacity: float, amounts: Iterable[float], costs: Mapping[str, float]
    ) -> None:
        super().__init__(capacity=capacity, amounts=amounts, costs=costs)

    def __repr__(self) -> str:
        """Show capacity, amounts and costs."""
        told = f"capacity={self.capacity:g}, amounts={list(self.amounts)}, costs={self.costs}"
        return f"Backlog({told})"

    def offers(self, level: float) -> tuple[float, ...]:
        """Return the largest amount that does not exceed the level, if any."""
        return self.affordable(level)[-1:]

    def gain(self, reward: float, cost: float) -> float:
        """Return minus the cost; delivered bits count through the level of the queue."""
        del reward
        return -cost

    def drain(self, amount: float, reward: float) -> float:
        """Return the bits delivered."""
        del amount
        return reward
