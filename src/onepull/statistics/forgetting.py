"""The common part of all statistics that forget."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from onepull.arrays import Array
from onepull.errors import MergeError
from onepull.index.rules import MeanRule
from onepull.payoff import Features
from onepull.statistics.arm_statistics import ArmStatistics


class Forgetting(ArmStatistics):
    """Statistics of the observations that are remembered.

    Pulls, roots and means are of these observations only.  They are in `kept`, statistics that do
    not forget by themselves.  An arm without a remembered observation is treated as one that was
    never pulled.  `trials` counts all observations.

    Examples
    --------
    >>> from onepull.statistics import Window
    >>> statistics = Window(2, 1, window=2)
    >>> for arm, value in [(0, 3.0), (1, 5.0), (1, 6.0)]:
    ...     statistics.update(arm, [value])
    >>> statistics.pulls, statistics.means[0], statistics.trials
    ([0, 2], [inf, 5.5], 3)
    """

    __slots__ = ("kept",)

    def __init__(self, arms: int, features: int) -> None:
        self.kept = ArmStatistics.empty(arms=arms, features=features)
        self.trials = 0

    def __getstate__(self) -> Any:
        """Return the attributes to copy; the inherited ones are read from `kept`."""
        kinds = [kind for kind in type(self).__mro__ if issubclass(kind, Forgetting)]
        names = ["trials", *(name for kind in kinds for name in kind.__slots__)]
        return None, {name: getattr(self, name) for name in names}

    @property
    def remembers(self) -> int | None:
        """How many of the last observations matter; None if all may."""
        return None

    @property
    def means(self) -> Any:
        """`means[feature][arm]` of the remembered observations."""
        return self.kept.means

    @property
    def pulls(self) -> list[Any]:  # type: ignore[override]  # read-only here
        """The number of remembered observations of each arm."""
        return self.kept.pulls

    @property
    def roots(self) -> Any:
        """1/√m of each arm, and 0 if no observation of it is remembered."""
        return self.kept.roots

    @property
    def in_flight(self) -> list[int]:  # type: ignore[override]  # read-only here
        """The pulls of each arm whose feedback has not arrived."""
        return self.kept.in_flight

    @property
    def waiting(self) -> int:  # type: ignore[override]  # read-only here
        """The number of all pulls whose feedback has not arrived."""
        return self.kept.waiting

    def expect(self, arm: int, pulls: int) -> None:
        """Add pulls in flight; a negative number removes them, down to none."""
        self.kept.expect(arm, pulls)

    @abstractmethod
    def update(self, arm: int, features: Features) -> None:
        """Add one observation of an arm, and forget what is too old."""

    def score(self, rule: MeanRule, estimates: Any, aim: Any) -> Any:
        """Return the index of every arm, given the estimates."""
        return self.kept.score(rule, estimates, aim)

    def leader(self, rule: MeanRule, estimates: Any, aim: Any) -> int:
        """Return the position of the arm that a rule plays, given the estimates."""
        return self.kept.leader(rule, estimates, aim)

    def column(self, arm: int) -> Array:
        """Return the means of one arm."""
        return self.kept.column(arm)

    def merge(self, other: ArmStatistics, arms: Sequence[int]) -> None:
        """Raise MergeError: the order of the observations of two statistics is not known."""
        del other, arms
        raise MergeError(
            "statistics that forget cannot be merged: what they forget depends on the order of "
            "observations, which is not known across two policies"
        )

    def add_arm(self) -> None:
        """Add an arm without observations at the end."""
        self.kept.add_arm()

    def remove_arm(self, arm: int) -> None:
        """Remove one arm; its observations stay in `trials`."""
        self.kept.remove_arm(arm)

    def move(self, arm: int, features: Any, weight: float) -> None:
        """Move all means of one arm towards an observation."""
        self.kept.move(arm, features, weight)
