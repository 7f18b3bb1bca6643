"""Controllers: a policy for the arm, and a rule for how much to draw."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from onepull.budgets import SLACK
from onepull.checks import number, real
from onepull.control.buffer import Buffer, amount_field
from onepull.errors import InputError, ParameterError, UnknownArm
from onepull.policies import Policy


class SlotChoice(NamedTuple):
    """The amount to draw in a slot and the arm to pull; (0, None) is idling."""

    amount: float
    arm: str | None


IDLE = SlotChoice(0.0, None)


class Controller(ABC):
    """Decides in each slot how much to draw from a buffer, and on which arm to use it.

    The worth of an arm with an amount is the policy's index, capped at the highest possible
    reward.  A policy that is randomised, or whose index is not a reward, chooses one arm for
    each amount instead, which is worth its estimate.  The policy learns from every pull
    through `observe`.

    Parameters
    ----------
    policy
        Any policy with estimates, for a problem with one context field: the amount.
    buffer
        The battery or backlog whose level is passed to `decide`.
    """

    def __init__(self, policy: Policy, buffer: Buffer) -> None:
        if not isinstance(policy, Policy):
            raise ParameterError(f"a controller needs a policy, such as DCB(…), given {policy!r}")
        if not isinstance(buffer, Buffer):
            raise ParameterError(f"a controller needs a Battery or a Backlog, given {buffer!r}")
        self.policy, self.buffer = policy, buffer
        problem = policy.problem
        self.field = amount_field(problem, buffer.amounts, "a controller")
        for arm in buffer.costs:
            if arm not in problem.arms:
                raise UnknownArm(
                    f"unknown arm {arm!r} among the costs; the arms are {', '.join(problem.arms)}"
                )
        amounts = np.array(buffer.amounts)
        highs = problem.payoff.range({self.field: (amounts, amounts)})[1].tolist()
        self._highs = dict(zip(buffer.amounts, highs, strict=True))
        self._offered: dict[float, list[tuple[str, float]]] = {}
        estimates = policy.estimates(**{self.field: buffer.amounts[0]})
        if all(estimate is None for estimate in estimates):
            raise ParameterError(
                f"{type(policy).__name__} does not estimate what an arm is worth; "
                "a controller needs a policy with estimates"
            )

    def decide(self, level: float) -> SlotChoice:
        """Return what to draw at a level, and the arm; does not change what was learned.

        The level must be from 0 to the buffer's capacity, up to rounding.
        """
        return self._decide(self._level(level))

    @abstractmethod
    def _decide(self, level: float) -> SlotChoice:
        """Return what to draw at a valid level."""

    def _level(self, level: float) -> float:
        capacity = self.buffer.capacity
        try:
            read = real(level)
        except TypeError:
            read = float("nan")
        if not -SLACK * capacity <= read <= (1 + SLACK) * capacity:
            raise InputError(
                f"level must be a number from 0 to the capacity, {capacity:g}, given {level!r}"
            )
        return min(max(read, 0.0), capacity)

    def observe(self, arm: str, **fields: Any) -> None:
        """Learn from a pull: give the state fields, and the amount if the policy needs it."""
        self.policy.observe(arm, **fields)
        if self.policy.learns:
            self._offered.clear()

    def options(self, amount: float) -> list[tuple[str, float]]:
        """Return the arms to choose from with an amount, and the worth of each."""
        found = self._offered.get(amount)
        if found is None:
            found = self._offered[amount] = self._weighed(amount)
        return found

    def worth(self, amount: float) -> float:
        """Return the worth of an amount on the best arm."""
        return max(worth for _, worth in self.options(amount))

    def uses(self, amount: float) -> list[tuple[str, float, float]]:
        """Return every arm with what it would gain and drain for an amount."""
        buffer = self.buffer
        return [
            (arm, buffer.gain(worth, buffer.costs.get(arm, 0.0)), buffer.drain(amount, worth))
            for arm, worth in self.options(amount)
        ]

    def _weighed(self, amount: float) -> list[tuple[str, float]]:
        policy = self.policy
        context: dict[str, Any] = {self.field: amount}
        arms, top = policy.problem.arms, self._highs[amount]
        if policy.traits.randomised or not policy.traits.index_is_reward:
            arm = policy.choose(**context)
            estimate = policy.estimates(**context)[arms.index(arm)]
            return [(arm, top if estimate is None else min(float(estimate), top))]
        indices = policy.indices(**context)
        return [(arm, min(float(index), top)) for arm, index in zip(arms, indices, strict=True)]


class Myopic(Controller):
    """Draws as much as possible in every slot, ignoring the future.

    Parameters
    ----------
    policy, buffer
        As for every controller.
    price
        What a unit of cost is worth in reward.  The arm with the highest reward minus price
        times cost is chosen, or none if that is negative.

    Examples
    --------
    >>> from onepull import DCB, Finite, Interval, Problem
    >>> from onepull.control import Battery
    >>> problem = Problem(
    ...     arms=["near", "far"],
    ...     context={"power": Finite([0.5, 1.0])},
    ...     state={"gain": Interval(0, 4)},
    ...     reward="log(1 + power * gain)",
    ... )
    >>> spend_all = Myopic(DCB(problem), Battery(capacity=4.0, amounts=[0.5, 1.0]))
    >>> spend_all.decide(level=0.75), spend_all.decide(level=3.0)
    (SlotChoice(amount=0.5, arm='near'), SlotChoice(amount=1.0, arm='near'))
    """

    def __init__(self, policy: Policy, buffer: Buffer, *, price: float = 0.0) -> None:
        super().__init__(policy, buffer)
        self.price = number("price", price, above=0.0, at_least=True)

    def _decide(self, level: float) -> SlotChoice:
        """Return the largest amount on offer, on the arm with the highest net worth."""
        costs, best, highest = self.buffer.costs, IDLE, 0.0
        for amount in self.buffer.offers(level)[-1:]:
            for arm, worth in self.options(amount):
                net = worth - self.price * costs.get(arm, 0.0)
                if net > highest or (best is IDLE and net == highest):
                    best, highest = SlotChoice(amount, arm), net
        return best
