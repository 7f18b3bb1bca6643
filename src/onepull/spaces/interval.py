"""A closed range of numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onepull.checks import LARGEST, real, shown, written
from onepull.errors import ProblemError

NARROWEST_INTERVAL = 1e-300  # of an interval, whose inverse must be a number


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers from `low` to `high`, both included.

    An end may be infinite if the reward stays bounded, as in `min(bits, capacity)`.

    Parameters
    ----------
    low, high
        The ends.
    outside
        What to do with a number outside: "refuse" it with an error, or "clip" it to the nearest
        end.
    scale
        How cells and knots are spread: "linear", or "log" with the same ratio between neighbours,
        for numbers of very different sizes.  Then both ends must be above 0 and finite, and the
        width of a cell is a difference of logarithms.

    Examples
    --------
    >>> Interval(0, 7)
    Interval(0, 7)
    >>> Interval(0.01, 100, scale="log").places(5).tolist()
    [0.01, 0.1, 1.0, 10.0, 100.0]
    >>> Interval(0, 30, outside="clip").accept(31.5)
    30.0
    """

    low: float
    high: float
    outside: str
    scale: str
    # The ends for `accept`: infinity itself is not a valid value.
    _least: float = field(repr=False, compare=False)
    _most: float = field(repr=False, compare=False)

    def __init__(
        self, low: float, high: float, *, outside: str = "refuse", scale: str = "linear"
    ) -> None:
        if not isinstance(outside, str) or outside not in ("refuse", "clip"):  # type: ignore[redundant-expr]
            raise ProblemError(f"outside must be 'refuse' or 'clip', given {shown(outside)}")
        if not isinstance(scale, str) or scale not in ("linear", "log"):  # type: ignore[redundant-expr]
            raise ProblemError(f"scale must be 'linear' or 'log', given {shown(scale)}")
        try:
            ends = (real(low), real(high))
        except TypeError:
            raise ProblemError(
                f"Interval takes two numbers, given {shown(low)}, {shown(high)}"
            ) from None
        if not ends[0] < ends[1]:
            raise ProblemError(
                f"Interval takes low < high, given low={shown(low)}, high={shown(high)}"
            )
        if ends[1] - ends[0] < NARROWEST_INTERVAL:
            raise ProblemError(
                f"Interval is too narrow, given low={shown(low)}, high={shown(high)}; "
                f"its width must be at least {NARROWEST_INTERVAL:g}"
            )
        if math.isinf(ends[1] - ends[0]) and not any(map(math.isinf, ends)):
            raise ProblemError(
                f"Interval is too wide, given low={shown(low)}, high={shown(high)}; use inf"
            )
        object.__setattr__(self, "low", ends[0])
        object.__setattr__(self, "high", ends[1])
        if scale == "log" and not 0.0 < ends[0] < ends[1] < math.inf:
            raise ProblemError(
                f"scale='log' takes ends above 0 and finite, given low={shown(low)}, "
                f"high={shown(high)}"
            )
        object.__setattr__(self, "outside", str(outside))
        object.__setattr__(self, "scale", str(scale))
        object.__setattr__(self, "_least", max(ends[0], -LARGEST))
        object.__setattr__(self, "_most", min(ends[1], LARGEST))

    def __repr__(self) -> str:
        """Show the space as it was written."""
        clips = ", outside='clip'" if self.clips else ""
        scale = ", scale='log'" if self.is_log else ""
        return f"Interval({written(self.low)}, {written(self.high)}{clips}{scale})"

    @property
    def clips(self) -> bool:
        """Whether a number outside is replaced by the nearest end."""
        return self.outside == "clip"

    @property
    def is_log(self) -> bool:
        """Whether cells and knots have the same ratio instead of the same distance."""
        return self.scale == "log"

    @property
    def width(self) -> float:
        """The distance between the ends."""
        return self.high - self.low

    @property
    def extent(self) -> float:
        """The distance between the ends on the scale of the interval.

        >>> round(Interval(1, 100, scale="log").extent, 6)
        4.60517
        """
        return math.log(self.high / self.low) if self.is_log else self.width

    def places(self, count: int) -> Any:
        """Return `count` numbers from the low to the high end, evenly spread on the scale."""
        spread = np.geomspace if self.is_log else np.linspace
        return spread(self.low, self.high, count)

    def accept(self, value: Any) -> float:
        """Return `value` as a float; raises `ValueError` if it is not in this space."""
        number = value if type(value) is float else real(value)
        if self._least <= number <= self._most:
            return number
        if self.clips and math.isfinite(number):
            return min(max(number, self._least), self._most)
        raise ValueError(f"is not {self}")

    def within(self, size: float) -> Interval:
        """Return this interval with numbers of at most a size towards an end that is infinite.

        >>> Interval(0, math.inf).within(1e9).accept(1e10)
        Traceback (most recent call last):
        ValueError: is not a finite number in [0, inf]
        """
        twin = Interval(self.low, self.high, outside=self.outside, scale=self.scale)
        if math.isinf(self.low):
            object.__setattr__(twin, "_least", max(min(-size, self.high), self._least))
        if math.isinf(self.high):
            object.__setattr__(twin, "_most", min(max(size, self.low), self._most))
        return twin

    def too_far(self, value: float) -> float | None:
        """Return the largest size that is accepted, if a number of this interval is beyond it.

        >>> Interval(0, math.inf).within(1e9).too_far(1e10)
        1000000000.0
        """
        if not self.low <= value <= self.high or self._least <= value <= self._most:
            return None
        return abs(self._most if value > self._most else self._least)

    def clips_off(self, value: Any) -> bool:
        """Whether a number is outside, so that `accept` replaces it by the nearest end.

        >>> Interval(0, 30, outside="clip").clips_off(31.5)
        True
        """
        return self.clips and not self._least <= value <= self._most

    def shown(self, value: float) -> str:
        """Return a value of this space as text."""
        return f"{value:.12g}"

    def __str__(self) -> str:
        """Return the words that follow 'must be' in an error message."""
        return f"a finite number in [{self.low:.12g}, {self.high:.12g}]"
