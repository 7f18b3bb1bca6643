"""A fleet of policies for which the order of observations matters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import msgspec
import numpy as np

from onepull.checks import Count, restored, shown
from onepull.errors import MergeError, SaveFileError
from onepull.policies.fleet.fleet import Fleet, Member, fit
from onepull.policies.fleet.updates import Contribution
from onepull.policies.pull_counts import PullCounts
from onepull.policies.sharing.knowledge import Knowledge
from onepull.problem import Problem


class LoggedObservation(msgspec.Struct, forbid_unknown_fields=True, array_like=True):
    """One observation: its number, its arm, and what was told of it."""

    number: Count
    arm: str
    told: list[Any]


class LoggedFleet(Fleet):
    """Contributions that are lists of observations: their order matters.

    Parameters
    ----------
    remembers
        How many of the last observations matter; None if all may.
    """

    def __init__(self, name: str, blank: Knowledge, remembers: int | None) -> None:
        super().__init__(name, blank)
        self.remembers = remembers
        self.is_in_order = remembers is None
        self.own: list[LoggedObservation] = []
        self.number = 0  # the highest one seen
        self._start: Member | None = None

    @property
    def start(self) -> Member | None:
        """What was learned before joining, if anything."""
        return self._start

    def learn(self, whole: Knowledge, arm: int, *told: Any) -> None:
        """Learn one observation, and note it in the contribution of this member."""
        whole.learn(arm, *told)
        self.number += 1
        self.version += 1
        self.own.append(
            LoggedObservation(self.number, self.blank.problem.arms[arm], without_numpy(list(told)))
        )
        if self.remembers is not None and len(self.own) >= 2 * self.remembers:
            del self.own[: -self.remembers]

    def rebuilt(self, whole: Knowledge) -> Knowledge:
        """Return what all observations tell in the order of their numbers."""
        for member in self.members.values():
            _check_attributes(member.learned, member.problem, self.blank.problem)
        logs = {name: member.learned for name, member in self.members.items()}
        here = {arm: j for j, arm in enumerate(self.blank.problem.arms)}
        everything = sorted(
            (event.number, name, here[event.arm], event.told)
            for name, log in {**logs, self.name: self.own}.items()
            for event in log
            if event.arm in here
        )
        self.number = max(self.number, *(row[0] for row in everything[-1:]), 0)
        found = self.blank.copy()
        if self._start is not None:
            found = self._start.learned.copy()
            fit(found, self.blank.problem, in_order=True)
        for _, _, arm, told in everything[-(self.remembers or len(everything)) :]:
            found.learn(arm, *told)
        found.take_local(whole)
        return found

    def _own(self) -> Any:
        return self.own[-(self.remembers or len(self.own)) :]

    def _clear(self) -> None:
        self.own = []

    def change_arms(self, problem: Problem) -> None:
        """Change to the arms of a problem; observations of removed arms are dropped."""
        _check_attributes(self.own, self.blank.problem, problem)
        super().change_arms(problem)
        self.own = [event for event in self.own if event.arm in problem.arms]

    def _written(self, learned: Any) -> Any:
        if isinstance(learned, Knowledge):  # what was learned before joining
            return msgspec.to_builtins(learned.state())
        return msgspec.to_builtins(learned)

    def _read(self, problem: Problem, learned: Any) -> Any:
        events = restored(list[LoggedObservation], learned, "observations of a member")
        numbers = [event.number for event in events]
        if any(a >= b for a, b in pairwise(numbers)):
            raise SaveFileError("the numbers of a member's observations do not increase")
        known = set(problem.arms)
        for event in events:
            if event.arm not in known:
                raise SaveFileError(f"an observation is of an unknown arm {shown(event.arm)}")
        return events

    def _continue(self, learned: Any) -> None:
        self.own = list(learned)
        logs = [self.own, *(member.learned for member in self.members.values())]
        self.number = max((log[-1].number for log in logs if log), default=0)

    def start_with(self, whole: Knowledge, counts: PullCounts) -> None:
        """Keep what was learned before joining, which is learned first."""
        self._start = self._before(whole, counts)

    def _restore_start(self, start: Contribution) -> None:
        problem = self.blank.problem.with_arms(start.arms)
        learned = self.blank.copy()
        fit(learned, problem, in_order=True)
        learned.restore(start.learned)
        counts = PullCounts(len(problem.arms))
        counts.restore(start.counts)
        self._start = Member(problem, 1, learned, counts)

    def copy(self) -> Self:
        """Return a copy that does not change with this one."""
        twin = type(self)(self.name, self.blank.copy(), self.remembers)
        twin.version, twin.members, twin.own = self.version, dict(self.members), list(self.own)
        twin.number, twin._start = self.number, self._start  # noqa: SLF001 - of the same class
        return twin


def without_numpy(value: Any) -> Any:
    """Return a value without types of numpy, as it comes back from a file.

    >>> without_numpy([np.float64(0.5), {"x": np.int64(3)}])
    [0.5, {'x': 3}]
    """
    if isinstance(value, dict):
        return {name: without_numpy(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_numpy(inner) for inner in value]
    return value.item() if isinstance(value, np.generic) else value


def _check_attributes(events: Sequence[LoggedObservation], then: Problem, now: Problem) -> None:
    """Raise MergeError if an arm had other attributes when its reward was observed.

    The reward of an observed state can be computed again, but not that of an observed reward.
    """
    for event in events:
        arm, reward = event.arm, event.told[1:]
        known = now.attributes.get(arm)
        if known is not None and reward != [None] and then.attributes.get(arm) != known:
            raise MergeError(
                f"rewards of arm {shown(arm)} were observed when it had other attributes, and "
                "their states are not known"
            )
