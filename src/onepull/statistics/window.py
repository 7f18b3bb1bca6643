"""Statistics of a sliding window: of the last W observations."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.checks import LARGEST_COUNT
from onepull.errors import SaveFileError
from onepull.payoff import Features
from onepull.statistics.arm_statistics import (
    ArmStatistics,
    StatisticsState,
    remove_observation,
)
from onepull.statistics.forgetting import Forgetting
from onepull.statistics.packed_rows import (
    Packed,
    SavedRow,
    numbers_in,
    packed,
    restored_row,
    saved_row,
    unpacked,
)

GONE = -1  # in the ring: the arm of this observation was removed


class WindowState(msgspec.Struct, forbid_unknown_fields=True):
    """The saved form: the observations in the window, and their statistics."""

    kept: StatisticsState
    arms: list[Annotated[int, msgspec.Meta(ge=GONE, le=LARGEST_COUNT)]]
    rows: list[SavedRow]


class Window(Forgetting):
    """Statistics of the last W observations of all arms together.

    The observations are in a ring.  When one is overwritten it is removed from the means of its
    arm, which leaves a rounding error.  To keep these errors from adding up, a second set of
    statistics has only the observations since the ring was last at its start.  At the end of the
    ring it has all W observations, with none removed, and replaces the first.

    Attributes
    ----------
    window
        W, the number of observations that are remembered.
    kept, fresh
        The statistics of the window, and of the current round of the ring.
    ring_arms, ring_rows
        The arm and the features of each observation in the ring.

    Examples
    --------
    >>> statistics = Window(2, 1, window=3)
    >>> for arm, value in [(0, 4.0), (0, 1.0), (1, 7.0), (0, 3.0)]:
    ...     statistics.update(arm, [value])
    >>> statistics.pulls, statistics.means[0]
    ([2, 1], [2.0, 7.0])
    """

    __slots__ = ("fresh", "ring_arms", "ring_rows", "window")
    State = WindowState

    def __init__(self, arms: int, features: int, *, window: int) -> None:
        super().__init__(arms, features)
        self.window = window
        self.fresh = ArmStatistics.empty(arms=arms, features=features)
        self.ring_arms: list[int] = []
        self.ring_rows: list[Packed] = []

    @property
    def remembers(self) -> int | None:
        """How many of the last observations matter."""
        return self.window

    @property
    def storage(self) -> int:
        """How many numbers are kept."""
        return 2 * super().storage + sum(1 + numbers_in(row) for row in self.ring_rows)

    def storage_after(self, trials: int) -> int:
        """Return the largest number of numbers that may be kept after so many trials."""
        return 2 * super().storage + min(trials, self.window) * (self.features + 1)

    def update(self, arm: int, features: Features) -> None:
        """Add one observation of an arm, and remove the oldest if the window is full."""
        place = self.trials % self.window
        row = packed(features)
        self.trials += 1
        if len(self.ring_arms) < self.window:
            self.ring_arms.append(arm)
            self.ring_rows.append(row)
        else:
            oldest = self.ring_arms[place]
            if oldest != GONE:
                forgotten = unpacked(self.ring_rows[place], self.features)
                remove_observation(self.kept, oldest, forgotten)
            self.ring_arms[place], self.ring_rows[place] = arm, row
        full = row if isinstance(row, list) else features
        self.kept.update(arm, full)
        self.fresh.update(arm, full)
        if place == self.window - 1:
            before, self.kept = self.kept, self.fresh
            self.fresh = self._empty()
            for j, pulls in enumerate(before.in_flight):
                self.expect(j, pulls)

    def _empty(self) -> ArmStatistics:
        return ArmStatistics.empty(arms=len(self.kept.pulls), features=self.features)

    def add_arm(self) -> None:
        """Add an arm without observations at the end."""
        super().add_arm()
        self.fresh.add_arm()

    def remove_arm(self, arm: int) -> None:
        """Remove one arm; its observations keep their places in the window."""
        super().remove_arm(arm)
        self.fresh.remove_arm(arm)
        self.ring_arms = [GONE if j == arm else j - (j > arm) for j in self.ring_arms]

    def state(self) -> Any:
        """Return everything learned as plain values."""
        kept = self.kept.state()
        kept.trials = self.trials
        return WindowState(kept, list(self.ring_arms), [saved_row(row) for row in self.ring_rows])

    def restore(self, state: Any) -> None:
        """Restore a saved state; raises SaveFileError if it is invalid."""
        count, trials = len(self.kept.pulls), state.kept.trials
        if not len(state.arms) == len(state.rows) == min(trials, self.window):
            raise SaveFileError(
                f"the saved window has {len(state.arms)} arms and {len(state.rows)} rows; "
                f"expected {min(trials, self.window)} after {trials} trials with "
                f"window={self.window}"
            )
        rows = [restored_row(row, self.features) for row in state.rows]
        numbers, last = Counter(state.arms), max(state.arms, default=GONE)
        if state.kept.pulls != [numbers[arm] for arm in range(count)] or last >= count:
            raise SaveFileError(
                "the saved pulls are not the numbers of observations of each arm in the window"
            )
        self.kept.restore(state.kept)
        self.trials, self.ring_arms = trials, list(state.arms)
        self.ring_rows = rows
        self.fresh = self._empty()
        for arm, row in zip(
            self.ring_arms[: self.trials % self.window], self.ring_rows, strict=False
        ):
            if arm != GONE:
                self.fresh.update(arm, unpacked(row, self.features))

    def rows(self) -> Array:
        """Return every mean and every observation of an arm, one row of features each."""
        return np.concatenate([super().rows(), *(self._seen_of(j) for j in self._present())])

    def _present(self) -> list[int]:
        """Return the arms that have observations in the window."""
        return sorted({*self.ring_arms} - {GONE})

    def _seen_of(self, arm: int) -> Array:
        """Return the observations of an arm, one row of features each."""
        pairs = zip(self.ring_arms, self.ring_rows, strict=True)
        full = [unpacked(row, self.features) for j, row in pairs if j == arm]
        return np.array(full, np.float64).reshape(len(full), self.features)

    def misfit(self) -> float:
        """Return how far means are from those of the observations in the window.

        >>> statistics = Window(1, 1, window=3)
        >>> statistics.update(0, [4.0])
        >>> statistics.ring_rows[0] = [5.0]
        >>> statistics.misfit()
        1.0
        """
        if not self.features:
            return 0.0
        apart = (np.abs(self._seen_of(j).mean(axis=0) - self.column(j)) for j in self._present())
        return max((float(each.max()) for each in apart), default=0.0)
