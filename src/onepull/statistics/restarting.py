"""Statistics that start an arm afresh when it has changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from onepull.errors import SaveFileError
from onepull.payoff import Features
from onepull.statistics.arm_statistics import StatisticsState
from onepull.statistics.change_detector import ChangeDetector, DetectorState
from onepull.statistics.forgetting import Forgetting


class RestartingState(msgspec.Struct, forbid_unknown_fields=True):
    """The saved form: lasting statistics, and for every arm when it was what, and its detector."""

    kept: StatisticsState
    seen: list[int]
    restarts: list[int]
    detectors: list[DetectorState]


class Restarting(Forgetting):
    """Lasting statistics with a change detector for every arm, which forget an arm that changed.

    Parameters
    ----------
    lows, highs
        Between what every feature is.
    failure
        The probability that an arm is ever forgotten although nothing changed.
    together
        Whether all arms are forgotten when one has changed.

    Attributes
    ----------
    bounds
        `lows` and `highs`.
    seen
        The trial at which each arm was last observed.
    restarts
        The trial at which each arm was last forgotten, 0 if never.

    Examples
    --------
    >>> statistics = Restarting(1, 1, lows=[0.0], highs=[1.0], failure=0.01)
    >>> for value in [0.0] * 100 + [1.0] * 50:
    ...     statistics.update(0, [value])
    >>> statistics.restarts, statistics.pulls, statistics.means[0]
    ([112], [38], [1.0])
    """

    __slots__ = ("_detectors", "bounds", "failure", "restarts", "seen", "together")
    State = RestartingState

    def __init__(  # noqa: PLR0913 - a full statement
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
        self._detectors = [self._detector() for _ in range(arms)]
        self.seen = [0] * arms
        self.restarts = [0] * arms

    def _detector(self) -> ChangeDetector:
        return ChangeDetector(*self.bounds, failure=self.failure)

    @property
    def storage(self) -> int:
        """The number of numbers kept."""
        watched = sum(detector.storage for detector in self._detectors)
        return super().storage + 2 * len(self.seen) + watched

    def storage_after(self, trials: int) -> int:
        """Return the most numbers that may be kept after so many trials."""
        each = self._detectors[0].storage_after(trials)
        return super().storage + len(self.seen) * (2 + each)

    def update(self, arm: int, features: Features) -> None:
        """Take in one observation of an arm; forget the arm if it shows a change."""
        self._kept.update(arm, features)
        self.trials += 1
        self.seen[arm] = self.trials
        if self._detectors[arm].take(features):
            for changed in range(len(self.seen)) if self.together else (arm,):
                self._forget(changed)
                self._detectors[changed].forget()
                self.restarts[changed] = self.trials

    def add_arm(self) -> None:
        """Append an arm that was never pulled."""
        super().add_arm()
        self._detectors.append(self._detector())
        self.seen.append(self.trials)
        self.restarts.append(0)

    def remove_arm(self, arm: int) -> None:
        """Forget one arm; the trials it took stay counted."""
        super().remove_arm(arm)
        del self._detectors[arm], self.seen[arm], self.restarts[arm]

    def state(self) -> Any:
        """Return everything learned as plain values."""
        detectors = [detector.state() for detector in self._detectors]
        return RestartingState(self._kept.state(), list(self.seen), list(self.restarts), detectors)

    def restore(self, state: Any) -> None:
        """Take on a saved state; one that cannot be is refused."""
        arms = len(self.seen)
        if not len(state.seen) == len(state.restarts) == len(state.detectors) == arms:
            raise SaveFileError(f"statistics of {len(state.seen)} arms do not fit {arms} arms")
        if not all(0 <= trial <= state.kept.trials for trial in [*state.seen, *state.restarts]):
            raise SaveFileError("an arm was seen or restarted at a trial that was not yet")
        self._kept.restore(state.kept)
        for detector, saved in zip(self._detectors, state.detectors, strict=True):
            detector.restore(saved)
        self.trials, self.seen, self.restarts = (
            state.kept.trials,
            list(state.seen),
            list(state.restarts),
        )
