"""What a policy learns when a decision expires."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from onepull.checks import shown
from onepull.errors import OnepullError, ParameterError
from onepull.problem import Problem
from onepull.store.events import Decided, Expired, FieldValue


class Expiry(msgspec.Struct, frozen=True):
    """What a policy learns from an expired decision: nothing, a failure, or a state.

    >>> Expiry(failed=True).event(Decided(id="one", arm="a"), "default", 12.0).teaches
    True
    """

    failed: bool = False
    state: dict[str, FieldValue] | None = None

    @classmethod
    def read(cls, given: Any, problem: Problem) -> Expiry:
        """Return what `on_expiry` says; raises ParameterError if it does not fit the problem."""
        if isinstance(given, Mapping):
            try:
                problem.state.exactly(given)
                return msgspec.convert(cls(state=dict(given)), cls)
            except (OnepullError, msgspec.ValidationError) as error:
                raise ParameterError(f"on_expiry: {error}") from None
        if given == "give_up":
            return cls()
        if given != "fail":
            raise ParameterError(
                f"on_expiry must be give_up, fail or a state, given {shown(given)}"
            )
        if problem.failure is None:
            raise ParameterError(
                "on_expiry='fail' needs to know the reward of a failure: give failure=… to the "
                "problem"
            )
        return cls(failed=True)

    def event(self, flight: Decided, problem: str, now: float) -> Expired:
        """Return the event for a decision that has expired."""
        return Expired(
            problem=problem,
            time=now,
            id=flight.id,
            arm=flight.arm,
            context=flight.context,
            failed=self.failed,
            state=self.state,
        )
