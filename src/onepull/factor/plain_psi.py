"""ψ as a plain function, which the library calls and the simulator compiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log
from typing import Any


@dataclass(frozen=True, slots=True)
class PlainPsi:
    """ψ of a state as a plain function of its fields.

    Attributes
    ----------
    function
        `function(state, out, *constants)` writes ψ into `out`, which holds a zero per feature.
    constants
        Numbers and arrays that are passed to it.

    Examples
    --------
    >>> def powers(state, out):
    ...     for r in range(len(out)):
    ...         out[r] = state[0] ** r
    >>> PlainPsi(powers)((2.0,), 4)
    [1.0, 2.0, 4.0, 8.0]
    """

    function: Callable[..., None]
    constants: tuple[Any, ...] = ()

    def __call__(self, state: Any, features: int) -> list[float]:
        """Return ψ of a state."""
        out = [0.0] * features
        self.function(state, out, *self.constants)
        return out


def shared_out(  # noqa: PLR0913, PLR0917 - plain arguments, so that it can be compiled
    state: Any, out: Any, lows: Any, per_unit: Any, counts: Any, first: int, logs: Any
) -> None:
    """Write the interpolation weights of a state on the neighbouring knots: ψ of a sketch.

    Field f has counts[f] knots starting at lows[f], with per_unit[f] knots per unit, or per unit
    of the logarithm where logs[f] is true.  A state lies in a box with a knot at each corner.  The
    weight of a corner is the product of the linear interpolation weights along the fields.

    The fields begin at number `first` of what is given, after the attributes of an arm.  If one
    more number follows them, it says whether the pull failed.  A failed pull has a place of its
    own, the last.

    >>> out = [0.0] * 5
    >>> shared_out((2.25,), out, [0.0], [1.0], [5], 0, [False])
    >>> out
    [0.0, 0.0, 0.75, 0.25, 0.0]
    >>> out = [0.0] * 6
    >>> shared_out((2.25, 1.0), out, [0.0], [1.0], [5], 0, [False])
    >>> out
    [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    >>> out = [0.0] * 3
    >>> shared_out((4.0,), out, [1.0], [1 / log(10.0)], [3], 0, [True])   # knots 1, 10, 100
    >>> [round(share, 6) for share in out]
    [0.666667, 0.333333, 0.0]
    """
    fields = len(counts)
    if len(state) > first + fields and state[first + fields] > 0.0:
        out[len(out) - 1] = 1.0
        return
    for corner in range(1 << fields):
        place, share = 0, 1.0
        for f in range(fields):
            last, value = counts[f] - 1, state[first + f]
            if logs[f]:
                steps = min(log(value / lows[f]) * per_unit[f], float(last))
                below = max(min(int(steps), last - 1), 0)
                left = lows[f] * exp(below / per_unit[f])
                right = lows[f] * exp((below + 1) / per_unit[f])
                at = below + min(max((value - left) / (right - left), 0.0), 1.0)
            else:
                at = min((value - lows[f]) * per_unit[f], float(last))  # rounding may exceed it
                below = max(min(int(at), last - 1), 0)
            above = (corner >> (fields - 1 - f)) & 1
            place = place * counts[f] + below + above
            share *= at - below if above else 1.0 - (at - below)
        if share > 0.0:
            out[place] += share
