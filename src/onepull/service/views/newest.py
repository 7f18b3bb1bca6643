"""The newest requests, outcomes and changes of a problem, from the log."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from onepull.arrays import Array
from onepull.errors import OnepullError
from onepull.problem import Problem
from onepull.store import Control, Decided, Defined, Expired, Failed, Observed

MOST_NEWEST = 400  # outcomes of each arm, and requests
MOST_CHANGES = 100
OUTCOME_EVENTS = (Observed, Failed, Expired)


class SeenOutcome(NamedTuple):
    """One outcome: its context and its state, if they are known, and its number.

    The context is None if the observation came without it, the state if the pull failed.
    """

    context: tuple[float, ...] | None
    state: tuple[float, ...] | None
    number: int = 0


class Outcomes(NamedTuple):
    """Outcomes of an arm, as a reward takes them, and how many of all arms came after each."""

    rows: list[tuple[float, ...]]
    ages: list[int]

    def newest(self, count: int) -> Outcomes:
        """Return the newest ones."""
        return Outcomes(self.rows[-count:], self.ages[-count:])

    def weights(self, half_life: float | None) -> Array:
        """Return what each counts for, if half of a change is gone after so many outcomes.

        >>> Outcomes([(1.0,), (2.0,)], [4, 0]).weights(4.0)
        array([0.5, 1. ])
        """
        if half_life is None or not math.isfinite(half_life):
            return np.ones(len(self.rows))
        return np.asarray(0.5 ** (np.array(self.ages, dtype=float) / half_life))


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
    >>> newest.fold(Observed(id="1", arm="a", state={"x": 0.5}))
    >>> newest.fold(Failed(id="2", arm="a"))
    >>> newest.outcomes(problem, "a")
    Outcomes(rows=[(0.5, 0.0), (0.0, 1.0)], ages=[1, 0])
    """

    def __init__(self) -> None:
        self.requests: deque[Decided] = deque(maxlen=MOST_NEWEST)
        self.changes: deque[Any] = deque(maxlen=MOST_CHANGES)
        self._outcomes: dict[str, deque[tuple[int, Any]]] = {}  # each with its number
        self._count = 0  # of all outcomes

    def fold(self, event: Any) -> None:
        """Keep an event that tells something."""
        if isinstance(event, Decided):
            self.requests.append(event)
        elif isinstance(event, OUTCOME_EVENTS):
            if not (_failed(event) or getattr(event, "state", None)):
                return
            if not getattr(event, "counts", True):
                return
            self._count += 1
            if (kept := self._outcomes.get(event.arm)) is None:
                kept = self._outcomes[event.arm] = deque(maxlen=MOST_NEWEST)
            kept.append((self._count, event))
        elif isinstance(event, (Control, Defined)):
            self.changes.append(event)

    def keep(self, arms: Collection[str]) -> None:
        """Forget the outcomes of other arms, which were removed."""
        for arm in [arm for arm in self._outcomes if arm not in arms]:
            del self._outcomes[arm]

    def seen(self, problem: Problem, arm: str) -> list[SeenOutcome]:
        """Return the newest outcomes of an arm, with their contexts, that a problem allows."""
        found = []
        for number, event in self._outcomes.get(arm, ()):
            try:
                context = problem.context.read(event.context) if event.context else None
                state = None if _failed(event) else problem.state.read(event.state)
            except OnepullError:  # of another problem, before it was changed
                continue
            found.append(SeenOutcome(context, state, number))
        return found

    def outcomes(self, problem: Problem, arm: str) -> Outcomes:
        """Return the newest outcomes of an arm."""
        j = problem.arms.index(arm)
        rows, ages = [], []
        for seen in self.seen(problem, arm):
            if seen.state is not None:
                rows.append(problem.outcome_of(j, seen.state))
            elif problem.failure is not None:
                rows.append(problem.failed_outcome_of(j))
            else:
                continue
            ages.append(self._count - seen.number)
        return Outcomes(rows, ages)


def _failed(event: Any) -> bool:
    return isinstance(event, Failed) or getattr(event, "failed", False)
