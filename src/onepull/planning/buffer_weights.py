"""Which weights of drift plus penalty to try for a buffer."""

from __future__ import annotations

import math

import numpy as np

from onepull.control import (
    BufferEnvironment,
    Myopic,
)
from onepull.errors import ParameterError
from onepull.policies import Genie

RUNGS = 8  # weights that are tried, at most
FACTOR = math.sqrt(2)  # between one weight and the next, at least


def weights(environment: BufferEnvironment) -> list[float]:
    """Return the weights V to try for a buffer, from small to large.

    Of all pairs of an amount and an arm, only those on the upper hull of (mean drain, mean gain)
    are worth using.  Along the hull the gain per unit falls: s_1 > s_2 > ….  Drift plus penalty
    counts the level from V·s_1 and takes the step with slope s_i when the level is above
    V(s_1 - s_i).  In the long run all arrivals are drained, so the level settles near
    V(s_1 - s), where s is the slope of the step that contains the mean arrivals, or of the second
    step if that is the first.  The weights returned make this level go from half the largest
    amount, or an eighth of the capacity if that is less, up to the capacity.  Each is √2 times the
    one before, or more if that would need more than eight.

    >>> from onepull.control import harvesting_battery
    >>> weights(harvesting_battery())
    [1.4, 1.98, 2.8, 3.97, 5.61, 7.93, 11.2]
    """
    buffer = environment.buffer
    slopes = _slopes(environment)
    apart = abs(slopes[0]) if len(slopes) == 1 else slopes[0] - slopes[1]
    apart = apart or 1.0  # if nothing costs anything, all weights are the same
    low, high = min(buffer.amounts[-1] / 2, buffer.capacity / 8), buffer.capacity
    rungs = min(RUNGS, 1 + math.ceil(math.log(high / low, FACTOR) - 1e-9))
    return [float(f"{level / apart:.3g}") for level in np.geomspace(low, high, rungs).tolist()]


def _slopes(environment: BufferEnvironment) -> tuple[float, ...]:
    """Return the slope of the hull's first step and of the step at the mean arrivals.

    Only the first if the hull has one step.
    """
    buffer = environment.buffer
    known = Myopic(Genie(environment.problem, states=environment.states), buffer)
    uses = [
        (drain, gain)
        for amount in buffer.offers(buffer.capacity)
        for _, gain, drain in known.uses(amount)
        if drain > 0.0
    ]
    if not uses:
        raise ParameterError("no arm ever drains the buffer")
    arriving = environment.arrivals.expectation(lambda amount: amount)
    hull = _hull(uses)
    if len(hull) == 1:
        return (hull[0][1],)
    beyond = [slope for drain, slope in hull[1:] if drain >= arriving]
    return hull[0][1], beyond[0] if beyond else hull[-1][1]


def _hull(uses: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the end and the slope of each step of the upper hull, which starts at (0, 0)."""
    drain, gain = 0.0, 0.0
    steps: list[tuple[float, float]] = []
    while further := [use for use in uses if use[0] > drain]:
        slope, end, worth = max(((g - gain) / (d - drain), d, g) for d, g in further)
        if steps and math.isclose(slope, steps[-1][1], rel_tol=1e-9):
            steps.pop()  # the same slope up to rounding
        steps.append((end, slope))
        drain, gain = end, worth
    return steps
