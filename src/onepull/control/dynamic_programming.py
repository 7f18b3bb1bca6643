"""Dynamic programming over the level of a buffer: the best long-run plan."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.control.buffer import Buffer
from onepull.control.controller import IDLE, SlotChoice
from onepull.distributions import Distribution
from onepull.distributions.fits_space import check_fit
from onepull.errors import ParameterError
from onepull.spaces import Box, Interval

MOST_LEVELS = 10_000
MOST_SWEEPS = 100_000
ACCURACY = 1e-6  # of the gain per slot
FINEST = 10_000  # the largest denominator of a level as a fraction


class LevelAction(NamedTuple):
    """An amount on an arm: its mean gain, and the law of what it drains."""

    decision: SlotChoice
    gain: float
    drained: tuple[float, ...]
    chances: tuple[float, ...]


IDLE_ACTION = LevelAction(IDLE, 0.0, (0.0,), (1.0,))


@dataclass(frozen=True, slots=True)
class LevelPlan:
    """The decision at every level, and the long-run gain per slot.

    Attributes
    ----------
    step
        The distance between levels.
    value
        The gain per slot, minus the costs of holding and losing.
    decisions
        The decision at each level.
    bias
        The advantage of starting at each level over starting empty.
    """

    step: float
    value: float
    decisions: tuple[SlotChoice, ...]
    bias: Array

    def at(self, level: float) -> SlotChoice:
        """Return the decision at a level, rounded down to a planned level."""
        place = int(level / self.step + 1e-6)
        return self.decisions[min(place, len(self.decisions) - 1)]


def best_plan(  # noqa: PLR0913 - the whole programme in one call
    buffer: Buffer,
    options: Sequence[LevelAction],
    arrivals: Distribution,
    *,
    holding: float = 0.0,
    losing: float = 0.0,
    bias: Array | None = None,
) -> LevelPlan:
    """Return the plan with the highest gain per slot, by relative value iteration.

    The gain is reduced by `holding` for each unit in the buffer and slot, and by `losing` for
    each unit lost to overflow.  Everything that arrives or is drained must be a multiple of one
    step, and the capacity at most 10,000 steps.  The iteration ends when the value is known to
    within a millionth; it starts from `bias`, such as that of a similar plan.

    >>> from onepull import Discrete
    >>> from onepull.control import Battery
    >>> battery = Battery(capacity=2, amounts=[1, 2])
    >>> options = [  # two units at once earn less than one after the other
    ...     LevelAction(SlotChoice(1.0, "a"), 1.0, (1.0,), (1.0,)),
    ...     LevelAction(SlotChoice(2.0, "a"), 1.2, (2.0,), (1.0,)),
    ... ]
    >>> plan = best_plan(battery, options, Discrete([0, 2], [0.5, 0.5]))
    >>> [decision.amount for decision in plan.decisions], round(plan.value, 4)
    ([0.0, 1.0, 1.0], 0.75)
    """
    every = [IDLE_ACTION, *options]
    amounts, shares = _listed(arrivals)
    step = level_step(buffer, arrivals, (d for o in every for d in o.drained))
    count = round(buffer.capacity / step) + 1
    gains = np.full((count, len(every)), -np.inf)
    outcomes = max(len(option.drained) for option in every)
    chances = np.zeros((outcomes, len(shares), 1, len(every)))
    nexts = np.zeros((outcomes, len(shares), count, len(every)), np.int64)
    levels = np.arange(count)
    for s in range(count):
        offers = buffer.offers(s * step)
        for a, option in enumerate(every):
            if option.decision is IDLE or option.decision.amount in offers:
                gains[s, a] = option.gain - holding * s * step
    for a, option in enumerate(every):
        for o, (drained, chance) in enumerate(zip(option.drained, option.chances, strict=True)):
            for e, (amount, share) in enumerate(zip(amounts, shares, strict=True)):
                left = np.maximum(levels - round(drained / step), 0) + round(amount / step)
                nexts[o, e, :, a] = np.minimum(left, count - 1)
                chances[o, e, 0, a] = chance * share
                lost = np.maximum(left - (count - 1), 0) * step
                gains[:, a] -= losing * chance * share * lost
    start = np.zeros(count) if bias is None else bias.copy()
    value, actions, found = _iterated(gains, chances, nexts, start)
    decisions = tuple(every[a].decision for a in actions.tolist())
    return LevelPlan(step, value, decisions, found)


def _iterated(
    gains: Array, chances: Array, nexts: NDArray[np.int64], bias: Array
) -> tuple[float, NDArray[np.int64], Array]:
    """Return the value, the best action at every level, and the bias."""
    for _ in range(MOST_SWEEPS):
        scores = gains + (chances * bias[nexts]).sum(axis=(0, 1))
        change = scores.max(axis=1) - bias
        low, high = float(change.min()), float(change.max())  # bounds on the value
        if high - low <= ACCURACY:
            return (low + high) / 2, scores.argmax(axis=1), bias
        # Half steps, since periodic levels would not converge otherwise.
        bias += change / 2
        bias -= bias[0]
    raise ParameterError(f"no plan found to within {ACCURACY:g} after {MOST_SWEEPS:,} iterations")


def _listed(arrivals: Distribution) -> tuple[list[float], list[float]]:
    """Return the amounts that may arrive and their probabilities."""
    if not isinstance(arrivals, Distribution):
        raise ParameterError(
            "arrivals must be a law with listed amounts, such as Discrete([0, 1], [0.8, 0.2]), "
            f"given {arrivals!r}"
        )
    check_fit(arrivals, Box(amount=Interval(0, math.inf)), "the arrivals")
    if arrivals.atoms is None or arrivals.in_order:
        raise ParameterError(f"a plan needs arrivals with listed amounts, given {arrivals!r}")
    return arrivals.atoms[0][:, 0].tolist(), arrivals.atoms[1].tolist()


def level_step(buffer: Buffer, arrivals: Distribution, drained: Iterable[float]) -> float:
    """Return the step between levels: the largest that divides all arrivals and drains.

    >>> from onepull import Discrete
    >>> from onepull.control import Battery
    >>> battery = Battery(capacity=2, amounts=[0.5, 1])
    >>> level_step(battery, Discrete([0, 1.5], [0.5, 0.5]), battery.amounts)
    0.5
    """
    parts = []
    for value in (buffer.capacity, *_listed(arrivals)[0], *drained):
        part = Fraction(value).limit_denominator(FINEST)
        if not math.isclose(part, value, rel_tol=1e-9, abs_tol=1e-12):
            raise ParameterError(
                f"a plan needs amounts that are multiples of one step, given {value!r}"
            )
        parts.append(part)
    below = math.lcm(*(part.denominator for part in parts))
    step = Fraction(reduce(math.gcd, (int(part * below) for part in parts)), below)
    levels = parts[0] / step
    if levels > MOST_LEVELS:
        raise ParameterError(
            f"a plan may have at most {MOST_LEVELS:,} levels; a step of {float(step):g} gives "
            f"{int(levels):,}"
        )
    return float(step)
