"""What is known about a reward, and how it came to be known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Fact(Generic[Value]):
    """A property of the reward with its source.

    `how` is 'derived' (proved from the formula), 'enumerated' (every state was tried),
    'declared' (by the user, and not contradicted by the checks), 'estimated' (from
    samples: the truth may be larger) or 'unknown'.

    >>> print(Fact(1.0, "derived"))
    1.0 (derived)
    """

    value: Value
    how: str

    def __str__(self) -> str:
        """Show the value with its source."""
        return f"{self.value} ({self.how})"
