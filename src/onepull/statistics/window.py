"""Statistics of a sliding window: the last W observations, and nothing before."""

from __future__ import annotations

from typing import Any

import msgspec

from onepull.errors import SaveFileError
from onepull.payoff import Features
from onepull.statistics.arm_statistics import ArmStatistics, StatisticsState
from onepull.statistics.forgetting import Forgetting

GONE = -1  # the arm of an observation whose arm was removed


class WindowState(msgspec.Struct, forbid_unknown_fields=True):
    """The saved form: what the window holds, and the statistics of it as they are."""

    kept: StatisticsState
    arms: list[int]
    rows: list[list[float]]


class Window(Forgetting):
    """Statistics of the last W observations, whichever arms they were of.

    The window is a ring.  When an observation is overwritten, its arm's means move away from
    it again, which leaves a little rounding behind.  So a second book takes in all that came
    since the ring last began anew: when it is full, that book holds the same observations
    without anything taken out, and takes over.

    >>> statistics = Window(2, 1, window=3)
    >>> for arm, value in [(0, 4.0), (0, 1.0), (1, 7.0), (0, 3.0)]:
    ...     statistics.update(arm, [value])
    >>> statistics.pulls, statistics.means[0]
    ([2, 1], [2.0, 7.0])
    """

    __slots__ = ("_arms", "_next", "_rows", "window")
    State = WindowState

    def __init__(self, arms: int, features: int, *, window: int) -> None:
        super().__init__(arms, features)
        self.window = window
        self._next = ArmStatistics.empty(arms=arms, features=features)
        self._arms: list[int] = []
        self._rows: list[list[float]] = []

    @property
    def storage(self) -> int:
        """The number of numbers kept once the window is full."""
        return 2 * super().storage + self.window * (self.features + 1)

    def update(self, arm: int, features: Features) -> None:
        """Take in one observation of an arm, and let go of the oldest if the window is full."""
        place = self.trials % self.window
        row = [float(feature) for feature in features]
        self.trials += 1
        if len(self._arms) < self.window:
            self._arms.append(arm)
            self._rows.append(row)
        else:
            self._let_go(self._arms[place], self._rows[place])
            self._arms[place], self._rows[place] = arm, row
        self._kept.update(arm, row)
        self._next.update(arm, row)
        if place == self.window - 1:
            before, self._kept = self._kept, self._next
            self._next = self._empty()
            for j, pulls in enumerate(before.in_flight):
                self.expect(j, pulls)

    def _empty(self) -> ArmStatistics:
        return ArmStatistics.empty(arms=len(self._kept.pulls), features=self.features)

    def _let_go(self, arm: int, row: list[float]) -> None:
        if arm == GONE:
            return
        pulls = self._kept.pulls[arm] - 1
        if pulls == 0:
            self._forget(arm)
            return
        self._kept.pulls[arm] = pulls
        self._narrow(arm)
        self._move(arm, row, -1.0 / pulls)

    def add_arm(self) -> None:
        """Append an arm that was never pulled."""
        super().add_arm()
        self._next.add_arm()

    def remove_arm(self, arm: int) -> None:
        """Forget one arm; its observations keep their places in the window."""
        super().remove_arm(arm)
        self._next.remove_arm(arm)
        self._arms = [GONE if j == arm else j - (j > arm) for j in self._arms]

    def state(self) -> Any:
        """Return everything learned as plain values."""
        kept = self._kept.state()
        kept.trials = self.trials
        return WindowState(kept, list(self._arms), list(self._rows))

    def restore(self, state: Any) -> None:
        """Take on a saved state; one that cannot be is refused."""
        count, trials = len(self._kept.pulls), state.kept.trials
        if not len(state.arms) == len(state.rows) == min(trials, self.window):
            raise SaveFileError(
                f"a window of {self.window} does not hold {len(state.arms)} observations "
                f"after {trials} trials"
            )
        if any(len(row) != self.features for row in state.rows):
            raise SaveFileError(f"an observation in the window has not {self.features} features")
        if state.kept.pulls != [state.arms.count(arm) for arm in range(count)] or any(
            not GONE <= arm < count for arm in state.arms
        ):
            raise SaveFileError("the pulls do not fit the observations in the window")
        self._kept.restore(state.kept)
        self.trials, self._arms = trials, list(state.arms)
        self._rows = [[float(value) for value in row] for row in state.rows]
        self._next = self._empty()
        for arm, row in zip(self._arms[: self.trials % self.window], self._rows, strict=False):
            if arm != GONE:
                self._next.update(arm, row)
