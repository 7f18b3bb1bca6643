"""The reward as the user gives it: a formula or a callable, with declarations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from onepull.checks import real, shown
from onepull.errors import ProblemError

Source: TypeAlias = str | Callable[..., Any]

DIRECTIONS = ("increasing", "decreasing", "nondecreasing", "nonincreasing")
# Rules compute in units of the reward's range.  A unit is never smaller than this, so that one
# over it is finite; the rewards of a narrower range count as almost equal.
NARROWEST = 2.0**-1000
LARGEST_REWARD = 2.0**1000  # largest size of a reward: sums and widths of a few of them stay finite
REWARD_ROUNDING = 2.0**-48  # rounding error of a computed reward, as a share of its size


@dataclass(frozen=True, slots=True)
class Reward:
    """A known reward, with declarations of properties that cannot be derived.

    Everything is derived from a formula.  A Python callable cannot be analysed, so its bounds
    must be declared unless there are finitely many states.  Declarations are checked on
    samples.

    Parameters
    ----------
    source
        A formula over the context and state fields, or a callable that takes them by name.
    low, high
        Bounds on the reward: a number, or a formula over the context fields.
    monotone
        For a state field, one of 'increasing', 'decreasing' (strictly), 'nondecreasing',
        'nonincreasing'.
    lipschitz
        For a context field, a number L with abs(g(y, x) - g(y', x)) ≤ L·abs(y - y').

    Examples
    --------
    >>> Reward("min(bits, capacity)", high="bits").high
    'bits'
    """

    source: Source
    low: float | str | None = field(default=None, kw_only=True)
    high: float | str | None = field(default=None, kw_only=True)
    monotone: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    lipschitz: Mapping[str, float] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        """Check what does not depend on the fields."""
        if not isinstance(self.source, str) and not callable(self.source):
            raise ProblemError(f"reward takes a formula or a callable, given {shown(self.source)}")
        for name in ("low", "high"):
            bound = getattr(self, name)
            if bound is not None and not isinstance(bound, str):
                object.__setattr__(self, name, _finite(f"reward {name}", bound))
        for declared in ("monotone", "lipschitz"):
            given = getattr(self, declared)
            if not isinstance(given, Mapping):
                raise ProblemError(
                    f"reward {declared} takes a value for each field, as in {{'x': …}}, "
                    f"given {shown(given)}"
                )
        for name, direction in self.monotone.items():
            if direction not in DIRECTIONS:
                raise ProblemError(
                    f"reward monotone[{name!r}] must be one of {', '.join(DIRECTIONS)}, "
                    f"given {shown(direction)}"
                )
        slopes = {}
        for name, constant in self.lipschitz.items():
            slopes[name] = _finite(f"reward lipschitz[{name!r}]", constant)
            if slopes[name] < 0:
                raise ProblemError(
                    f"reward lipschitz[{name!r}] must be 0 or more, given {shown(constant)}"
                )
        object.__setattr__(self, "monotone", MappingProxyType(dict(self.monotone)))
        object.__setattr__(self, "lipschitz", MappingProxyType(slopes))

    @property
    def is_formula(self) -> bool:
        """Whether the reward is a formula, which can be written to a file."""
        return isinstance(self.source, str)

    @property
    def declarations(self) -> dict[str, Any]:
        """The declarations, by name."""
        stated = {"low": self.low, "high": self.high}
        declared: dict[str, Any] = {k: v for k, v in stated.items() if v is not None}
        declared |= {"monotone": dict(self.monotone)} if self.monotone else {}
        declared |= {"lipschitz": dict(self.lipschitz)} if self.lipschitz else {}
        return declared

    def __reduce__(self) -> Any:
        """Pickle the reward by its constructor arguments."""
        return partial(type(self), self.source, **self.declarations), ()

    def __hash__(self) -> int:
        """Hash the source; equal rewards have equal sources."""
        return hash(self.source)

    def __repr__(self) -> str:
        """Show the reward as it was written."""
        stated = "".join(f", {name}={value!r}" for name, value in self.declarations.items())
        return f"Reward({self.source!r}{stated})"


@dataclass(frozen=True, slots=True)
class Fixed:
    """What is known of attributes: the values of one arm's, and the words that each may have.

    >>> Fixed({"price": 0.2}).values
    {'price': 0.2}
    """

    values: Mapping[str, float] = field(default_factory=dict)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def slack(low: Any, high: Any) -> Any:
    """Return the difference up to which rewards between low and high count as equal.

    Both are numbers or arrays.  It is a share of the range, plus the rounding error of the
    largest of them.  An end that is infinite does not count.  Half the width cannot overflow.

    >>> slack(0.0, 4.0) < 5e-9, slack(1.7e9 - 12.0, 1.7e9) < 1e-5, slack(-math.inf, 4.0) < 5e-9
    (True, True, True)
    """
    if isinstance(low, float) and isinstance(high, float):
        if math.isinf(high - low):
            low, high = (0.0 if math.isinf(end) else end for end in (low, high))
        return 2e-9 * abs(0.5 * high - 0.5 * low) + REWARD_ROUNDING * max(abs(low), abs(high))
    low, high = (np.where(np.isinf(end), 0.0, end) for end in (low, high))
    return 2e-9 * np.abs(0.5 * high - 0.5 * low) + REWARD_ROUNDING * np.maximum(abs(low), abs(high))


def _finite(what: str, value: Any) -> float:
    try:
        number = real(value)
    except TypeError:
        raise ProblemError(f"{what} must be a number or a formula, given {shown(value)}") from None
    if not math.isfinite(number):
        raise ProblemError(f"{what} must be finite, given {shown(value)}")
    return number
