"""Statistics that forget an arm when a change detector finds that it changed.

`restart` is a plain function: `Restarting` runs it and the simulator compiles it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.checks import Count
from onepull.errors import SaveFileError
from onepull.payoff import Features
from onepull.statistics.arm_statistics import StatisticsState, forget_arm
from onepull.statistics.change_detector import (
    ChangeDetector,
    DetectorState,
    reset_detector,
)
from onepull.statistics.forgetting import Forgetting


def restart(  # noqa: PLR0913, PLR0917 - the parts of a memory, which a kernel has apart
    kept: Any,
    detectors: Any,
    restarts: Any,
    trial: int,
    arm: int,
    together: bool,  # noqa: FBT001 - a part too
) -> None:
    """Forget an arm that changed, or all arms together."""
    for changed in range(len(restarts)):
        if together or changed == arm:
            forget_arm(kept, changed)
            reset_detector(detectors, changed)
            restarts[changed] = trial


class RestartingState(msgspec.Struct, forbid_unknown_fields=True):
    """The saved form: statistics, and each arm's last trial, last restart and detector."""

    kept: StatisticsState
    seen: list[Count]
    restarts: list[Count]
    detectors: list[DetectorState]


class Restarting(Forgetting):
    """Statistics with a change detector for each arm; an arm that changed is forgotten.

    Parameters
    ----------
    lows, highs
        Each feature's bounds.
    failure
        The probability that an arm is ever forgotten although it did not change.
    together
        Whether all arms are forgotten when one changed.

    Attributes
    ----------
    bounds
        `lows` and `highs`.
    seen
        The trial at which each arm was last observed.
    restarts
        The trial at which each arm was last forgotten, 0 if never.
    detectors
        The change detector of each arm.

    Examples
    --------
    >>> statistics = Restarting(1, 1, lows=[0.0], highs=[1.0], failure=0.01)
    >>> for value in [0.0] * 100 + [1.0] * 50:
    ...     statistics.update(0, [value])
    >>> statistics.restarts, statistics.pulls, statistics.means[0]
    ([112], [38], [1.0])
    """

    depends_on_bounds = True  # whether other bounds of the features would have learned otherwise
    __slots__ = ("bounds", "detectors", "failure", "restarts", "seen", "together")
    State = RestartingState

    def __init__(  # noqa: PLR0913 - all are independent settings
        self,
        arms: int,
        features: int,
        *,
        lows: Sequence[float],
        highs: Sequence[float],
        failure: float,
        together: bool = False,
    ) -> None:
        super().__init__(arms, features)
        self.bounds, self.failure, self.together = (list(lows), list(highs)), failure, together
        self.detectors = [self._detector() for _ in range(arms)]
        self.seen = [0] * arms
        self.restarts = [0] * arms

    def _detector(self) -> ChangeDetector:
        return ChangeDetector(*self.bounds, failure=self.failure)

    @property
    def storage(self) -> int:
        """The number of numbers kept."""
        watched = sum(detector.storage for detector in self.detectors)
        return super().storage + 2 * len(self.seen) + watched

    def storage_after(self, trials: int) -> int:
        """Return the largest number of numbers that may be kept after so many trials."""
        each = self.detectors[0].storage_after(trials)
        return super().storage + len(self.seen) * (2 + each)

    def update(self, arm: int, features: Features) -> None:
        """Add one observation of an arm; forget the arm if it shows a change."""
        self.trials += 1
        self.kept.update(arm, features)
        self.seen[arm] = self.trials
        if self.detectors[arm].take(features):
            restart(self.kept, self.detectors, self.restarts, self.trials, arm, self.together)

    def add_arm(self) -> None:
        """Add an arm without observations at the end."""
        super().add_arm()
        self.detectors.append(self._detector())
        self.seen.append(self.trials)
        self.restarts.append(0)

    def remove_arm(self, arm: int) -> None:
        """Remove one arm; its observations stay in `trials`."""
        super().remove_arm(arm)
        del self.detectors[arm], self.seen[arm], self.restarts[arm]

    def rows(self) -> Array:
        """Return every mean and every observation that is kept, one row of features each."""
        recent = [row for detector in self.detectors for row in detector.rows]
        ring = np.array(recent, np.float64).reshape(len(recent), self.features)
        return np.concatenate([super().rows(), ring])

    def state(self) -> Any:
        """Return everything learned as plain values."""
        detectors = [detector.state() for detector in self.detectors]
        return RestartingState(self.kept.state(), list(self.seen), list(self.restarts), detectors)

    def restore(self, state: Any) -> None:
        """Restore a saved state; raises SaveFileError if it is invalid."""
        arms = len(self.seen)
        if not len(state.seen) == len(state.restarts) == len(state.detectors) == arms:
            raise SaveFileError(f"saved restarts are of {len(state.seen)} arms; expected {arms}")
        if max([*state.seen, *state.restarts]) > state.kept.trials:
            raise SaveFileError(
                "an arm was seen or restarted at a trial outside the saved "
                f"{state.kept.trials} trials"
            )
        self.kept.restore(state.kept)
        for detector, saved, pulls in zip(
            self.detectors, state.detectors, state.kept.pulls, strict=True
        ):
            if sum(saved.sizes) + len(saved.filling) != pulls:
                raise SaveFileError(
                    f"a saved change detector has {sum(saved.sizes) + len(saved.filling)} "
                    f"observations of an arm with {pulls} pulls"
                )
            detector.restore(saved)
        self.trials, self.seen, self.restarts = (
            state.kept.trials,
            list(state.seen),
            list(state.restarts),
        )
