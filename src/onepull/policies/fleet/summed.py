"""A fleet of policies for which the order of observations does not matter."""

from __future__ import annotations

from typing import Any, Self

import msgspec

from onepull.policies.fleet.fleet import Fleet, fit
from onepull.policies.fleet.updates import START, contribution_digest
from onepull.policies.pull_counts import PullCounts
from onepull.policies.sharing.knowledge import Knowledge
from onepull.problem import Problem


class SummedFleet(Fleet):
    """Contributions that are added: the order of observations does not matter."""

    def __init__(self, name: str, blank: Knowledge) -> None:
        super().__init__(name, blank)
        self.own = blank.copy()

    def learn(self, whole: Knowledge, arm: int, *told: Any) -> None:
        """Learn one observation, in `whole` and in the contribution of this member."""
        whole.learn_for(self.own, arm, *told)
        self.version += 1

    def rebuilt(self, whole: Knowledge) -> Knowledge:
        """Return what all contributions tell together; `whole` is what was known before."""
        found = self.blank.copy()
        parts = {name: member.learned for name, member in self.members.items()}
        for _, part in sorted({**parts, self.name: self.own}.items()):
            fitting = part.copy()
            fit(fitting, found.problem)
            there = {arm: j for j, arm in enumerate(fitting.problem.arms)}
            found.merge(fitting, [there[arm] for arm in found.problem.arms])
        found.take_local(whole)
        return found

    def _own(self) -> Any:
        return self.own

    def _clear(self) -> None:
        self.own = self.blank.copy()

    def change_arms(self, problem: Problem) -> None:
        """Change to the arms of a problem."""
        super().change_arms(problem)
        fit(self.own, problem)

    def _written(self, learned: Any) -> Any:
        return msgspec.to_builtins(learned.state())

    def _read(self, problem: Problem, learned: Any) -> Any:
        empty = self.blank.copy()
        fit(empty, problem, in_order=True)
        empty.restore(learned)
        return empty

    def _continue(self, learned: Any) -> None:
        self.own = learned

    def start_with(self, whole: Knowledge, counts: PullCounts) -> None:
        """Keep what was learned before joining under a name made of its contents.

        So it counts once if several members start from the same file.
        """
        start = self._before(whole, counts)
        self.members[f"{START}{contribution_digest(self._out(start))}"] = start

    def copy(self) -> Self:
        """Return a copy that does not change with this one."""
        twin = type(self)(self.name, self.blank.copy())
        twin.version, twin.members, twin.own = self.version, dict(self.members), self.own.copy()
        return twin
