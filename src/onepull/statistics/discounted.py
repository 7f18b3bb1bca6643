"""Discounted statistics: every trial makes all that came before count a little less."""

from __future__ import annotations

from typing import Any

import msgspec

from onepull.errors import SaveFileError
from onepull.index.rules import MeanRule
from onepull.payoff import Features
from onepull.statistics.arm_statistics import ArmStatistics, inverse_root
from onepull.statistics.forgetting import Forgetting

FAINT = 1e-100  # how far the common scale may fall before the weights are worked into it
NOTHING = 1e-200  # an arm that weighs less is as one that was never pulled


class DiscountedState(msgspec.Struct, forbid_unknown_fields=True):
    """The saved form: the common scale, and every arm's weight in it and its means."""

    trials: int
    scale: float
    weights: list[float]
    means: list[list[float]]


class Discounted(Forgetting):
    """Statistics in which an observation made k trials ago counts γ^k (Garivier, Moulines 2011).

    An arm's pulls are m = Σ γ^(t-s) over its observations at trials s, and its means are
    weighed likewise.  Means stay what they are while an arm is not pulled, and all pulls
    shrink alike, so one common scale shrinks for them: an observation costs as much as in
    lasting statistics, and one number more is kept.

    >>> statistics = Discounted(2, 1, discount=0.5)
    >>> for arm, value in [(0, 4.0), (0, 1.0), (1, 7.0)]:
    ...     statistics.update(arm, [value])
    >>> statistics.pulls, statistics.means[0]    # arm 0: (4/4 + 1/2) / (1/4 + 1/2)
    ([0.75, 1.0], [2.0, 7.0])
    """

    __slots__ = ("_scale", "discount")
    State = DiscountedState

    def __init__(self, arms: int, features: int, *, discount: float) -> None:
        super().__init__(arms, features)
        self._scale = 1.0
        self.discount = discount

    @property
    def pulls(self) -> list[float]:  # type: ignore[override]  # nobody writes from outside
        """The discounted number of observations of each arm."""
        return [weight * self._scale for weight in self._kept.pulls]

    @property
    def roots(self) -> Any:
        """1/√m of each arm, and 0 where nothing is remembered."""
        swell = inverse_root(self._scale)
        return [root * swell for root in self._kept.roots]

    @property
    def storage(self) -> int:
        """The number of numbers kept."""
        return super().storage + 1

    def update(self, arm: int, features: Features) -> None:
        """Take in one observation of an arm; all others count a little less."""
        self.trials += 1
        self._scale *= self.discount
        if self._scale < FAINT:
            self._rescale()
        kept, unit = self._kept, 1.0 / self._scale
        if kept.waiting:
            kept.expect(arm, -1)
        weight = kept.pulls[arm] = kept.pulls[arm] + unit  # type: ignore[call-overload]  # weights
        self._narrow(arm)
        self._move(arm, features, unit / weight)

    def expect(self, arm: int, pulls: int) -> None:
        """Count pulls whose feedback is under way, or fewer; they count as if they came now."""
        super().expect(arm, pulls)
        self._narrow(arm)

    def _narrow(self, arm: int) -> None:
        kept = self._kept
        weight = kept.pulls[arm] + kept.in_flight[arm] / self._scale
        kept.roots[arm] = inverse_root(weight) if weight else 0.0

    def _rescale(self) -> None:
        weights, self._scale = self.pulls, 1.0
        for arm, weight in enumerate(weights):
            if weight < NOTHING:
                self._forget(arm)
            else:
                self._kept.pulls[arm] = weight  # type: ignore[call-overload]  # a weight
                self._narrow(arm)

    def score(self, rule: MeanRule, estimates: Any, aim: Any) -> Any:
        """Return the index of every arm, given its estimate."""
        return ArmStatistics.score(self, rule, estimates, aim)

    def leader(self, rule: MeanRule, estimates: Any, aim: Any) -> int:
        """Return the position of the arm that a rule plays, given every arm's estimate."""
        return ArmStatistics.leader(self, rule, estimates, aim)

    def state(self) -> Any:
        """Return everything learned as plain values."""
        kept = self._kept.state()
        weights = [float(weight) for weight in kept.pulls]
        return DiscountedState(self.trials, self._scale, weights, kept.means)

    def restore(self, state: Any) -> None:
        """Take on a saved state; one that cannot be is refused."""
        lowest = min(state.weights, default=0.0)
        if not (FAINT <= state.scale <= 1.0 and lowest >= 0.0 and max(state.weights) < 1e200):
            raise SaveFileError("discounted pulls are negative or out of scale")
        if sum(state.weights) * state.scale > state.trials * (1 + 1e-9):
            raise SaveFileError("discounted pulls exceed the number of trials")
        self._kept.take_on(state.weights, state.means)
        self.trials, self._scale = state.trials, state.scale
