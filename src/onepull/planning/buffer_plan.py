"""What a search for a controller found: the controllers tried, and the one proposed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onepull.control import (
    BufferEnvironment,
)
from onepull.planning.plan_tables import plan_html
from onepull.report import Table
from onepull.report.buffer_tables import buffer_summary
from onepull.simulation.buffered import BufferResult


@dataclass(frozen=True, slots=True)
class BufferPlan:
    """The controllers that were tried, and the one that is proposed.

    Attributes
    ----------
    environment
        What they were tried on.
    result
        What was measured.
    calls
        The Python call that builds each controller, by name, the simplest first.
    judged
        What they are compared by: `reward`, or `cost per bit`.
    proposed
        The name of the controller to use; None if none is within the limits.
    reason
        Why, in one sentence; or which controller comes closest.
    best
        The highest reward that is possible if everything is known; None if that is not known.
    notes
        How to read the numbers.
    """

    environment: BufferEnvironment
    result: BufferResult
    calls: dict[str, str]
    judged: str
    proposed: str | None
    reason: str
    best: float | None
    notes: list[str]

    def table(self) -> Table:
        """Return the table of all controllers."""
        counted = self.environment.buffer.counted
        extra = [] if self.judged == counted else [self.judged]
        return buffer_summary(
            self.result,
            counted,
            best=self.best,
            beside=[*extra, "level", "lost"],
            notes=self.notes,
        )

    def proposal(self) -> str:
        """Return the proposed call and the reason; or which controller comes closest."""
        sentence = f"{self.reason[0].upper()}{self.reason[1:]}."
        return sentence if self.proposed is None else f"Proposed: {self.call}\n{sentence}"

    def __str__(self) -> str:
        """Return all controllers and the proposal as text."""
        return f"{self.table()}\n\n{self.proposal()}"

    def _repr_html_(self) -> str:
        """Return the table and the proposal for a notebook; the proposed row is highlighted."""
        return plan_html([self.table()], self.proposed, self.proposal())

    @property
    def call(self) -> str | None:
        """The Python call that builds the proposed controller."""
        return None if self.proposed is None else self.calls[self.proposed]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values."""
        return {
            "slots": self.result.horizon,
            "replications": self.result.replications,
            "proposed": self.proposed and {"name": self.proposed, "call": self.call},
            "reason": self.reason,
            "best": self.best,
            "options": [
                {"name": row.pop("controller"), "call": call, **row}
                for row, call in zip(self.result.rows(), self.calls.values(), strict=True)
            ],
            "notes": self.notes,
        }
