"""The newest requests, outcomes and changes of a problem, from the log."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from onepull.errors import OnepullError
from onepull.problem import Problem
from onepull.store import Control, Decided, Defined, Expired, Failed, Observed

KEPT = 400  # outcomes of each arm, and requests
CHANGES = 100


class Seen(NamedTuple):
    """One outcome: its context, and its state; None if the pull failed."""

    context: tuple[float, ...]
    state: tuple[float, ...] | None


class Newest:
    """What happened last.

    Attributes
    ----------
    requests
        The newest decisions.
    changes
        The newest changes that operators made.

    Examples
    --------
    >>> from onepull import Interval
    >>> problem = Problem(arms=["a"], state={"x": Interval(0, 1)}, reward="x", failure=-1)
    >>> newest = Newest()
    >>> newest.fold(problem, Observed(id="1", arm="a", state={"x": 0.5}))
    >>> newest.fold(problem, Failed(id="2", arm="a"))
    >>> newest.outcomes(problem, "a")
    [(0.5, 0.0), (0.0, 1.0)]
    """

    def __init__(self) -> None:
        self.requests: deque[Decided] = deque(maxlen=KEPT)
        self.changes: deque[Any] = deque(maxlen=CHANGES)
        self._seen: dict[str, deque[Seen]] = {}

    def fold(self, problem: Problem, event: Any) -> None:
        """Keep an event that tells something."""
        if isinstance(event, Decided):
            self.requests.append(event)
        elif isinstance(event, Control | Defined):
            self.changes.append(event)
        elif isinstance(event, Observed | Failed | Expired):
            self._see(problem, event)

    def _see(self, problem: Problem, event: Any) -> None:
        failed = isinstance(event, Failed) or getattr(event, "failed", False)
        told = None if failed else getattr(event, "state", None)
        if not (failed or told) or not getattr(event, "counts", True):
            return
        try:
            context = problem.context.read(event.context)
            state = None if failed else problem.state.read(told or {})
        except OnepullError:  # of another problem, before it was changed
            return
        self._seen.setdefault(event.arm, deque(maxlen=KEPT)).append(Seen(context, state))

    def seen(self, arm: str) -> list[Seen]:
        """Return the newest outcomes of an arm with their contexts."""
        return list(self._seen.get(arm, ()))

    def outcomes(self, problem: Problem, arm: str) -> list[tuple[float, ...]]:
        """Return the newest outcomes of an arm, as a reward takes them."""
        j = problem.arms.index(arm)
        return [
            problem.failed_outcome_of(j)
            if seen.state is None
            else problem.outcome_of(j, seen.state)
            for seen in self._seen.get(arm, ())
            if seen.state is not None or problem.failure is not None
        ]
