"""Properties of a reward, each with its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Fact(Generic[Value]):
    """A property of the reward with its source.

    `how` is 'derived' (proved from the formula), 'enumerated' (by trying every value),
    'declared' (by the user, and consistent with the samples tried), 'estimated' (from samples;
    the true value may be larger) or 'unknown'.

    >>> print(Fact(1.0, "derived"))
    1.0 (derived)
    """

    value: Value
    how: str

    def __str__(self) -> str:
        """Show the value with its source."""
        return f"{self.value} ({self.how})"
