"""What is stored between slots: energy in a battery, bits in a queue."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import ClassVar, Literal

from onepull.budgets import can_pay, cost_of
from onepull.checks import number
from onepull.errors import InputError, ParameterError
from onepull.problem import Problem


def check_amounts(amounts: Iterable[float], problem: Problem) -> None:
    """Refuse amounts that are no contexts of a problem, whose one context field they are."""
    (field,) = problem.context
    for amount in amounts:
        try:
            problem.context.exactly({field: amount})
        except InputError as error:
            raise ParameterError(f"the amounts of the buffer are contexts: {error}") from None


class Buffer(ABC):
    """A level that arrivals raise, up to a capacity, and that choices drain.

    In each slot an amount is drawn or nothing is (idling, which earns and shows nothing);
    the amount is the context of the pull.  What arrives can be used from the next slot on,
    and what finds no room is lost.

    Attributes
    ----------
    capacity
        The highest level.
    amounts
        What may be drawn in a slot, from small to large.
    costs
        What a pull costs, by arm; nothing where none is given.
    counted
        What the long run's account is kept in: the reward, or the cost.
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
            raise ParameterError(f"amounts are numbers from small to large, given {amounts!r}")
        if costs is not None and not isinstance(costs, Mapping):
            raise ParameterError(f"costs are given by arm, such as {{'lte': 1.0}}, given {costs!r}")
        self.amounts = tuple(number("an amount", amount, above=0.0) for amount in amounts)
        if not self.amounts or any(b <= a for a, b in pairwise(self.amounts)):
            raise ParameterError(f"amounts go from small to large, given {list(self.amounts)}")
        if self.amounts[-1] > self.capacity:
            raise ParameterError(
                f"an amount of {self.amounts[-1]:g} is never there with a capacity of {capacity:g}"
            )
        self.costs = {arm: cost_of(arm, cost) for arm, cost in (costs or {}).items()}

    def affordable(self, level: float) -> tuple[float, ...]:
        """Return the amounts that a level pays for, rounding aside."""
        return tuple(a for a in self.amounts if can_pay(level, a, self.capacity))

    def refilled(self, level: float, drained: float, arrived: float) -> tuple[float, float]:
        """Return the level of the next slot, and what was lost for want of room."""
        level = max(level - drained, 0.0) + arrived
        return min(level, self.capacity), max(level - self.capacity, 0.0)

    @abstractmethod
    def offers(self, level: float) -> tuple[float, ...]:
        """Return the amounts to choose from at a level."""

    @abstractmethod
    def gain(self, reward: float, cost: float) -> float:
        """Return what a pull with this reward and cost is worth in the long run's account."""

    @abstractmethod
    def drain(self, amount: float, reward: float) -> float:
        """Return by how much a pull lowers the level."""


class Battery(Buffer):
    """Energy that is harvested, stored, and spent as the power of a transmission.

    The amount is the power, all of which is spent whatever the state shows; what counts is
    the reward.

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
        """Return every power that the level pays for."""
        return self.affordable(level)

    def gain(self, reward: float, cost: float) -> float:
        """Return the reward; energy has no other price than not being there later."""
        del cost
        return reward

    def drain(self, amount: float, reward: float) -> float:
        """Return the energy spent."""
        del reward
        return amount


class Backlog(Buffer):
    """Bits that arrive, wait in a queue, and are sent over an arm that has its price.

    The amount is the number of bits offered to the arm: all that wait, up to the largest.
    The reward is how many of them get through; the others stay.  What counts is the cost.

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
        """Return the largest amount that the level holds, if it holds any."""
        return self.affordable(level)[-1:]

    def gain(self, reward: float, cost: float) -> float:
        """Return what the pull costs, as a loss; a bit that gets through drains the queue."""
        del reward
        return -cost

    def drain(self, amount: float, reward: float) -> float:
        """Return the bits that got through."""
        del amount
        return reward
