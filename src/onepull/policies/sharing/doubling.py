"""Learning in phases of doubling length, on grids that get finer, for an unknown horizon."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Self

import msgspec

from onepull.checks import restored
from onepull.errors import MergeError, SaveFileError
from onepull.factor import Cells
from onepull.policies.sharing.in_flight import View
from onepull.policies.sharing.joint import Joint
from onepull.policies.sharing.sharing import Sharing
from onepull.problem import Problem
from onepull.statistics import ArmStatistics, StatisticsState


class Doubling(Sharing):
    """Phases of 2, 4, 8, … trials, each on a grid that fits its length.

    This is how the paper runs CCB with an unknown horizon.  Phase k has 2^k trials on the grid
    `tuned(problem, 2^k)`.  What earlier phases learned is discarded or, with `carry`,
    interpolated to the next grid.
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
        self.current.extrapolates = self.carry  # at the ends of a coarser grid

    @property
    def all_statistics(self) -> Mapping[str, ArmStatistics]:
        """The statistics of the current phase."""
        return {str(self.phase): self.current.statistics}

    def statistics_for(self, key: str) -> ArmStatistics:
        """Return the statistics of the current phase."""
        if key != str(self.phase):
            raise SaveFileError(f"expected statistics of phase {self.phase}, given phase {key!r}")
        return self.current.statistics

    adds_up = False  # phases begin and end with observations

    def take_local(self, old: Self) -> None:
        """Take over the pulls in flight if the phase is the same."""
        if old.phase == self.phase:
            super().take_local(old)

    @property
    def is_fresh(self) -> bool:
        """Whether nothing has been observed yet, in this phase or before."""
        return self.phase == 1 and super().is_fresh

    def storage_after(self, trials: int) -> int:
        """Return how many numbers the phase stores that is reached after a number of trials."""
        phase = max(1, (trials + 2).bit_length() - 1)
        return Joint(self.tuned(self.problem, 2**phase)).storage

    def view(self, context: Mapping[str, Any]) -> View:
        """Return statistics, estimates and reward bounds of the current phase."""
        return self.current.view(context)

    def expect(self, arm: int, fields: Mapping[str, Any], pulls: int) -> None:
        """Count pulls in flight in the current phase; the next phase does not count them."""
        self.current.expect(arm, fields, pulls)

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Learn from one observation, and begin the next phase if this one is over."""
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
        """Switch to a problem with one more arm at the end, or without arm `removed`."""
        self.current.change_arms(problem, removed)
        self.problem = problem

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add what `other` has learned in the same phase."""
        if other.phase != self.phase:
            raise MergeError(
                f"phases {self.phase} and {other.phase} use different grids; only policies in the "
                "same phase can be merged"
            )
        self.current.merge(other.current, arms)
        self._move_on()

    def inherit(self, old: Self, accepted: float = 0.0) -> float:
        """Take over what was learned for a problem with narrower spaces, if that is exact."""
        self._enter(old.phase)
        return self.current.inherit(old.current, accepted)

    def state(self) -> Any:
        """Return the phase and what was learned in it."""
        return {"phase": self.phase, "learned": self.current.state()}

    def restore(self, state: Any) -> None:
        """Restore a saved state; raises SaveFileError if it is invalid."""
        saved = restored(_PhaseState, state, "statistics")
        self._enter(saved.phase)
        self.current.restore(saved.learned)
        most = 2 ** (saved.phase + 1) - 2 if self.carry else 2**saved.phase
        if self.current.statistics.trials >= most:
            raise SaveFileError(
                f"phase {saved.phase} ends after {most} trials, given "
                f"{self.current.statistics.trials}"
            )

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.current = self.current.copy()
        return twin


class _PhaseState(msgspec.Struct, forbid_unknown_fields=True):
    phase: Annotated[int, msgspec.Meta(ge=1, le=52)]
    learned: dict[str, Any]
