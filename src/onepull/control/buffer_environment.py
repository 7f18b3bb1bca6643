"""Environments with a buffer, where past choices limit the contexts to choose from."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from onepull.control.buffer import Backlog, Battery, Buffer, amount_field
from onepull.control.controller import SlotChoice
from onepull.control.dynamic_programming import LevelAction, LevelPlan, best_plan
from onepull.distributions import Discrete, Distribution
from onepull.distributions.fits_space import check_fit
from onepull.environment.applications import channel_selection, energy_harvesting
from onepull.environment.environment import Environment
from onepull.errors import ParameterError
from onepull.problem import Problem
from onepull.spaces import Box, Finite, Interval


class BufferEnvironment:
    """The laws of the arms' states, and of what arrives at a buffer in every slot.

    Parameters
    ----------
    problem
        A problem whose only context field is the amount drawn.
    states
        The law of each arm's state, by arm.
    buffer
        A `Battery` or a `Backlog`; it starts empty.
    arrivals
        The law of what arrives in a slot.

    Examples
    --------
    >>> from onepull import Finite
    >>> problem = Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2])},
    ...     state={"capacity": Finite([0, 1, 2])},
    ...     reward="min(bits, capacity)",
    ... )
    >>> world = BufferEnvironment(
    ...     problem,
    ...     states={"wifi": Discrete([0, 1], [0.5, 0.5]), "lte": Discrete([2], [1])},
    ...     buffer=Backlog(capacity=20, amounts=[1, 2], costs={"wifi": 0.25, "lte": 1}),
    ...     arrivals=Discrete([0, 1], [0.5, 0.5]),
    ... )
    >>> plan = world.best_plan(holding=0.001, losing=10.0)
    >>> [decision.arm for decision in plan.decisions[:4]]
    [None, 'wifi', 'lte', 'lte']
    """

    def __init__(
        self,
        problem: Problem,
        *,
        states: Mapping[str, Distribution],
        buffer: Buffer,
        arrivals: Distribution,
    ) -> None:
        self.field = amount_field(problem, buffer.amounts, "a buffer")
        # An environment with one fixed context checks the laws.
        still = Environment(problem, states=states, contexts=Discrete([buffer.amounts[0]], [1.0]))
        self.problem, self.states, self.outcomes = problem, still.states, still.outcomes
        check_fit(arrivals, Box(amount=Interval(0, math.inf)), "the arrivals")
        laws = [arrivals, *self.states.values()]
        if any(len(law.pieces()) > 1 for law in laws):
            raise ParameterError("an environment with a buffer needs laws that never switch")
        self.buffer, self.arrivals = buffer, arrivals
        self._check_drains()

    def __repr__(self) -> str:
        """Show the buffer and the laws."""
        return (
            f"BufferEnvironment(states={self.states}, buffer={self.buffer!r}, "
            f"arrivals={self.arrivals!r})"
        )

    def _check_drains(self) -> None:
        """Raise `ParameterError` if a reward could drain more than the amount drawn."""
        amounts = np.array(self.buffer.amounts)
        lows, highs = self.problem.payoff.range({self.field: (amounts, amounts)})
        for amount, low, high in zip(amounts.tolist(), lows.tolist(), highs.tolist(), strict=True):
            least, most = self.buffer.drain(amount, low), self.buffer.drain(amount, high)
            if least < 0 or most > amount:
                raise ParameterError(
                    f"{self.field}={amount:g} may drain {least:g} to {most:g} of the buffer; "
                    f"expected 0 to {amount:g}"
                )

    def best_plan(self, *, holding: float = 0.0, losing: float = 0.0) -> LevelPlan:
        """Return the optimal plan for known laws; see `onepull.control.best_plan`.

        States and arrivals must have listed values.
        """
        options = []
        for arm, law in self.outcomes.items():
            if law.atoms is None:
                raise ParameterError(f"a plan needs listed states, given {law!r} for {arm!r}")
            rows, weights = law.atoms
            cost = self.buffer.costs.get(arm, 0.0)
            for amount in self.buffer.amounts:
                rewards = np.broadcast_to(
                    self.problem.payoff.vector(amount, *rows.T), weights.shape
                )
                drained = tuple(self.buffer.drain(amount, r) for r in rewards.tolist())
                gain = self.buffer.gain(float(rewards @ weights), cost)
                options.append(LevelAction(SlotChoice(amount, arm), gain, drained, tuple(weights)))
        return best_plan(self.buffer, options, self.arrivals, holding=holding, losing=losing)


def harvesting_battery(capacity: float = 4.0) -> BufferEnvironment:
    """Return power-aware channel selection with a battery.

    The channels are those of `energy_harvesting`; the power is 1/8, 2/8, … or 1.  One unit of
    energy arrives with probability 1/5 in each slot.

    >>> harvesting_battery().buffer.capacity
    4.0
    """
    still = energy_harvesting()
    powers = [i / 8 for i in range(1, 9)]
    problem = Problem(
        arms=still.problem.arms,
        context={"power": Finite(powers)},
        state=still.problem.state,
        reward=still.problem.reward,
    )
    return BufferEnvironment(
        problem,
        states=still.states,
        buffer=Battery(capacity=capacity, amounts=powers),
        arrivals=Discrete([0, 1], [0.8, 0.2]),
    )


def metered_backlog(capacity: float = 100.0) -> BufferEnvironment:
    """Return channel selection with a queue, where channel j costs j/4 per pull.

    The channels are those of `channel_selection`.  Eight bits arrive with probability 1/10 in
    each slot, more than the cheapest channel can carry.  Up to four are sent at once.

    >>> metered_backlog().buffer.costs["channel 3"]
    0.75
    """
    still = channel_selection(4)
    return BufferEnvironment(
        still.problem,
        states=still.states,
        buffer=Backlog(
            capacity=capacity,
            amounts=[1, 2, 3, 4],
            costs={arm: j / 4 for j, arm in enumerate(still.problem.arms, start=1)},
        ),
        arrivals=Discrete([0, 8], [0.9, 0.1]),
    )
