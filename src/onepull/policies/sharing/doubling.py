"""Phases: knowledge without a known horizon, on grids that get finer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import msgspec

from onepull.errors import MergeError, SaveFileError
from onepull.factor import Cells
from onepull.policies.sharing.in_flight import View
from onepull.policies.sharing.joint import Joint
from onepull.policies.sharing.sharing import Sharing
from onepull.problem import Problem
from onepull.statistics import ArmStatistics, StatisticsState


class Doubling(Sharing):
    """A fresh start after 2, 4, 8, … trials, each on a grid fine enough for its length.

    This is how the paper runs CCB without knowing the horizon: phase k has 2^k trials, and a
    grid `tuned(problem, 2^k)` starts it.  What earlier phases learned is given up, or, with
    `carry`, interpolated from their grid to the next.
    """

    def __init__(
        self, problem: Problem, tuned: Callable[[Problem, int], Cells], *, carry: bool = False
    ) -> None:
        self.problem = problem
        self.tuned = tuned
        self.carry = carry
        self._enter(1)

    def _enter(self, phase: int) -> None:
        self.phase = phase
        self.grid = self.tuned(self.problem, 2**phase)
        self.current = Joint(self.grid)

    @property
    def books(self) -> Mapping[str, ArmStatistics]:
        """The book of the current phase."""
        return {str(self.phase): self.current.statistics}

    def book(self, key: str) -> ArmStatistics:
        """Return the book of the current phase."""
        if key != str(self.phase):
            raise SaveFileError(f"statistics of phase {key!r} do not fit phase {self.phase}")
        return self.current.statistics

    @property
    def is_fresh(self) -> bool:
        """Whether nothing has been observed yet, in this phase or before."""
        return self.phase == 1 and super().is_fresh

    def storage_after(self, trials: int) -> int:
        """Return the numbers kept in the phase that so many trials lead to, the largest so far."""
        phase = max(1, (trials + 2).bit_length() - 1)
        return Joint(self.tuned(self.problem, 2**phase)).storage

    def view(self, context: Mapping[str, Any]) -> View:
        """Return statistics, estimates and reward bounds of the current phase."""
        return self.current.view(context)

    def expect(self, arm: int, fields: Mapping[str, Any], pulls: int) -> None:
        """Count pulls in flight in the current phase; the next one forgets them."""
        self.current.expect(arm, fields, pulls)

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Take in one observation and begin the next phase when this one is over."""
        self.current.learn(arm, fields, reward)
        self._move_on()

    def _move_on(self) -> None:
        if not self.carry:
            if self.current.statistics.trials >= 2**self.phase:
                self._enter(self.phase + 1)
            return
        while self.current.statistics.trials >= 2 ** (self.phase + 1) - 2:
            before, grid = self.current.statistics, self.grid
            self._enter(self.phase + 1)
            means = [
                self.grid.inherit(grid, before.column(j)).tolist() if pulls else []
                for j, pulls in enumerate(before.pulls)
            ]
            learned = StatisticsState(before.trials, list(before.pulls), means)
            self.current.statistics.restore(learned)

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Take on a problem with one arm more at the end, or one removed."""
        self.current.change_arms(problem, removed)
        self.problem = problem

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add what `other` has learned in the same phase."""
        if other.phase != self.phase:
            raise MergeError(
                f"phases {self.phase} and {other.phase} learn on different grids; "
                "policies that restart can be merged within one phase only"
            )
        self.current.merge(other.current, arms)
        self._move_on()

    def state(self) -> Any:
        """Return the phase and what was learned in it."""
        return {"phase": self.phase, "learned": self.current.state()}

    def restore(self, state: Any) -> None:
        """Take on a saved state; one that cannot be is refused."""
        try:
            saved = msgspec.convert(state, _PhaseState)
        except msgspec.ValidationError as error:
            raise SaveFileError(f"not learned statistics: {error}") from None
        if not 1 <= saved.phase <= 62:
            raise SaveFileError(f"phase {saved.phase} is not between 1 and 62")
        self._enter(saved.phase)
        self.current.restore(saved.learned)

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.current = self.current.copy()
        return twin


class _PhaseState(msgspec.Struct, forbid_unknown_fields=True):
    phase: int
    learned: dict[str, Any]
