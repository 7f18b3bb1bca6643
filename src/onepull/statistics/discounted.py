"""Discounted statistics: at every trial all earlier observations lose some weight.

The steps are plain functions: `Discounted` runs them and the simulator compiles them.
"""

from __future__ import annotations

from math import ceil, log
from typing import Annotated, Any

import msgspec

from onepull.checks import Count, FiniteNumber
from onepull.errors import SaveFileError
from onepull.index.rules import MeanRule
from onepull.payoff import Features
from onepull.statistics.arm_statistics import (
    ArmStatistics,
    forget_arm,
    inverse_root,
    move_means,
    update_root,
)
from onepull.statistics.forgetting import Forgetting

LEAST_SCALE = 1e-100  # when the common scale falls below, all weights are multiplied by it
BELOW_ROUNDING = 1e-18  # a weight beside one of 1
LEAST_WEIGHT = 1e-200  # an arm with less weight is treated as never pulled


def fade(kept: Any, scale: float, discount: float, arm: int, features: Any) -> float:
    """Add one observation and discount all others; return the new common scale.

    The pulls of `kept` are weights: a discounted number of pulls is the weight times the scale.

    >>> kept = ArmStatistics.empty(arms=2, features=1)
    >>> scale = fade(kept, 1.0, 0.5, 0, [4.0])
    >>> scale = fade(kept, scale, 0.5, 1, [7.0])
    >>> [weight * scale for weight in kept.pulls]
    [0.5, 1.0]
    """
    scale *= discount
    if scale < LEAST_SCALE:
        rescale(kept, scale)
        scale = 1.0
    unit = 1.0 / scale
    weight = kept.pulls[arm] + unit
    kept.pulls[arm] = weight
    update_root(kept, arm, scale)
    move_means(kept, arm, features, unit / weight)
    return scale


def rescale(kept: Any, scale: float) -> None:
    """Multiply all weights by the scale, and forget arms that have next to no weight.

    >>> kept = ArmStatistics.empty(arms=1, features=1)
    >>> _ = fade(kept, 1.0, 0.5, 0, [4.0])
    >>> rescale(kept, 0.125)
    >>> kept.pulls, kept.roots
    ([0.25], [2.0])
    """
    weights = kept.pulls
    for arm in range(len(weights)):
        weight = weights[arm] * scale
        if weight < LEAST_WEIGHT:
            forget_arm(kept, arm)
        else:
            weights[arm] = weight
            update_root(kept, arm, 1.0)


class DiscountedState(msgspec.Struct, forbid_unknown_fields=True):
    """The saved form: the common scale, and each arm's weight and means."""

    trials: Count
    scale: Annotated[float, msgspec.Meta(ge=LEAST_SCALE, le=1.0)]
    weights: list[Annotated[float, msgspec.Meta(ge=0.0, le=1.0 / LEAST_WEIGHT)]]
    means: list[list[FiniteNumber]]


class Discounted(Forgetting):
    """Statistics in which an observation of k trials ago has weight γ^k (Garivier, Moulines 2011).

    An arm's pulls are m = Σ γ^(t-s) over its observations at trials s, and its means have the
    same weights.  The means of an arm do not change while it is not pulled, and all pulls shrink
    by the same factor.  So one common scale is multiplied by γ, and an observation costs as much
    as without discounting.

    Examples
    --------
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
    def pulls(self) -> list[float]:  # type: ignore[override]  # read-only here
        """The discounted number of observations of each arm."""
        return [weight * self._scale for weight in self.kept.pulls]

    @property
    def roots(self) -> Any:
        """1/√m of each arm, and 0 if no observation of it is remembered."""
        swell = inverse_root(self._scale)
        return [root * swell for root in self.kept.roots]

    @property
    def remembers(self) -> int | None:
        """How many of the last observations matter: the weight of the others is below rounding."""
        return max(1, ceil(log(BELOW_ROUNDING) / log(self.discount))) if self.discount < 1 else None

    @property
    def storage(self) -> int:
        """The number of numbers kept."""
        return super().storage + 1

    def update(self, arm: int, features: Features) -> None:
        """Add one observation of an arm; all others lose some weight."""
        self.trials += 1
        kept = self.kept
        if kept.waiting:
            kept.expect(arm, -1)
        self._scale = fade(kept, self._scale, self.discount, arm, features)

    def expect(self, arm: int, pulls: int) -> None:
        """Add pulls in flight, with the weight of an observation made now."""
        self.kept.expect(arm, pulls)
        update_root(self.kept, arm, self._scale)

    def score(self, rule: MeanRule, estimates: Any, aim: Any) -> Any:
        """Return the index of every arm, given the estimates."""
        return ArmStatistics.score(self, rule, estimates, aim)

    def leader(self, rule: MeanRule, estimates: Any, aim: Any) -> int:
        """Return the position of the arm that a rule plays, given the estimates."""
        return ArmStatistics.leader(self, rule, estimates, aim)

    def state(self) -> Any:
        """Return everything learned as plain values."""
        kept = self.kept.state()
        weights = [float(weight) for weight in kept.pulls]
        return DiscountedState(self.trials, self._scale, weights, kept.means)

    def restore(self, state: Any) -> None:
        """Restore a saved state; raises SaveFileError if it is invalid."""
        if any(0.0 < weight < LEAST_WEIGHT for weight in state.weights):
            raise SaveFileError(
                f"a saved weight is below {LEAST_WEIGHT} and not 0, given {state.weights}"
            )
        if sum(state.weights) * state.scale > state.trials * (1 + 1e-9):
            raise SaveFileError(
                f"the sum of the saved discounted pulls exceeds the {state.trials} trials"
            )
        self.kept.take_on(state.weights, state.means)
        self.trials, self._scale = state.trials, state.scale
