"""Learning per context: nothing is shared across contexts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import msgspec

from onepull.errors import SaveFileError
from onepull.factor import Cells
from onepull.policies.sharing.in_flight import View, answered_view
from onepull.policies.sharing.inherited import cells_of, check_cells, check_scale
from onepull.policies.sharing.observation import (
    check_reward,
    rewarded_context,
)
from onepull.policies.sharing.sharing import Sharing
from onepull.problem import Problem
from onepull.statistics import ArmStatistics


class PerContext(Sharing):
    """Learns the mean rewards of each context, or cell of contexts, from its own pulls only.

    `ranges` holds the lowest and the highest rewards in each cell, of each arm if arms have
    attributes.
    """

    def __init__(self, cells: Cells) -> None:
        self.problem = cells.problem
        self.cells, self.delta = cells, cells.delta
        self._lows, self._highs = cells.cell_bounds()
        self.ranges = cells.arm_bounds()
        self._statistics: dict[int, ArmStatistics] = {}
        self._kind: Callable[..., ArmStatistics] = ArmStatistics.empty
        self._unseen = self._empty()

    def _empty(self) -> ArmStatistics:
        return self._kind(arms=len(self.problem.arms), features=1)

    @property
    def kind(self) -> str:
        """What is learned, and how contexts are divided."""
        return f"{type(self).__name__}({type(self.cells).__name__})"

    def keep(self, empty: Callable[..., ArmStatistics]) -> Self:
        """Use statistics that forget from now on; return itself."""
        self._kind, self.forgets = empty, True
        self._unseen = self._empty()
        return self

    @property
    def all_statistics(self) -> dict[str, ArmStatistics]:
        """The statistics of each cell that has been seen."""
        return {str(cell): statistics for cell, statistics in self._statistics.items()}

    def kinds_of_statistics(self) -> set[type[ArmStatistics]]:
        """Return the classes of the statistics that are stored, or will be."""
        return super().kinds_of_statistics() | {type(self._unseen), type(self._empty())}

    def statistics_for(self, key: str) -> ArmStatistics:
        """Return the statistics of a cell, created if needed."""
        cell = int(key) if key.isdecimal() else -1
        if not 0 <= cell < self.cells.features:
            raise SaveFileError(
                f"context cell {key!r} does not exist; expected 0 to {self.cells.features - 1}"
            )
        return self._statistics.setdefault(cell, self._empty())

    def bounds_for(self, key: str) -> tuple[Sequence[float], Sequence[float]]:
        """Return the bounds of the rewards in a cell."""
        return [self._lows[int(key)]], [self._highs[int(key)]]

    @property
    def storage(self) -> int:
        """How many numbers are stored once every cell has been seen."""
        return self.cells.features * self._unseen.storage

    def storage_after(self, trials: int) -> int:
        """Return the largest possible number of stored numbers after a number of trials."""
        return self.cells.features * self._unseen.storage_after(trials)

    def view(self, context: Mapping[str, Any]) -> View:
        """Return statistics, estimates and reward bounds of the cell of a context."""
        cell = self.cells.locate(context)
        statistics = self._statistics.get(cell, self._unseen)
        lows, highs = self.ranges
        view = statistics, statistics.means[0], lows[cell], highs[cell]
        return answered_view(*view) if statistics.waiting else view

    def expect(self, arm: int, fields: Mapping[str, Any], pulls: int) -> None:
        """Count pulls in flight in the cell of their context."""
        self.statistics_for(str(self.cells.locate(fields))).expect(arm, pulls)

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Learn from one reward in its context."""
        cell, value = self._told(arm, fields, reward)
        self.statistics_for(str(cell)).update(arm, (value,))

    def check(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Raise what `learn` would raise, and change nothing."""
        self._told(arm, fields, reward)

    def _told(self, arm: int, fields: Mapping[str, Any], reward: Any) -> tuple[int, float]:
        """Return the cell of an observation's context, and its reward."""
        context, value = rewarded_context(self.problem, arm, fields, reward)
        cell = self.cells.locate(self.problem.context.fields(context))
        if reward is not None:
            check_reward(value, self._lows[cell], self._highs[cell])
        return cell, value

    def inherit(self, old: Self, accepted: float = 0.0) -> float:
        """Take over what was learned for a problem with narrower spaces, if that is exact."""
        del accepted
        check_cells(self.problem, old.problem)
        check_scale(self._unseen, self.feature_bounds() == old.feature_bounds())
        cells = cells_of(old.cells, self.cells)
        learned = msgspec.to_builtins(old.state())
        self.restore({str(cells[int(key)]): state for key, state in learned.items()})
        return 0.0

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Switch to a problem with one more arm at the end, or without arm `removed`."""
        self.cells = self.cells.on(problem)  # type: ignore[assignment]  # cells again
        self._lows, self._highs = self.cells.cell_bounds()
        self.ranges = self.cells.arm_bounds()
        super().change_arms(problem, removed)
        self._unseen = self._empty()

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._statistics = {
            cell: statistics.copy() for cell, statistics in self._statistics.items()
        }
        return twin
