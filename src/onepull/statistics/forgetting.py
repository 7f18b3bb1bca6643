"""What all statistics that forget have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from onepull.arrays import Array
from onepull.errors import MergeError
from onepull.index.rules import MeanRule
from onepull.payoff import Features
from onepull.statistics.arm_statistics import UNPULLED, ArmStatistics


class Forgetting(ArmStatistics):
    """Statistics of what is remembered, kept in a book of the lasting kind.

    It has the same pulls, roots and means, but of what is remembered only.  An arm of which
    nothing is left is as one that was never pulled.  `trials` counts all observations ever.

    >>> from onepull.statistics import Window
    >>> statistics = Window(2, 1, window=2)
    >>> for arm, value in [(0, 3.0), (1, 5.0), (1, 6.0)]:
    ...     statistics.update(arm, [value])
    >>> statistics.pulls, statistics.means[0], statistics.trials
    ([0, 2], [inf, 5.5], 3)
    """

    __slots__ = ("_kept",)

    def __init__(self, arms: int, features: int) -> None:
        self._kept = ArmStatistics.empty(arms=arms, features=features)
        self.trials = 0

    def __getstate__(self) -> Any:
        """Copy what is kept; all else is a view of it."""
        kinds = [kind for kind in type(self).__mro__ if issubclass(kind, Forgetting)]
        names = ["trials", *(name for kind in kinds for name in kind.__slots__)]
        return None, {name: getattr(self, name) for name in names}

    @property
    def means(self) -> Any:
        """`means[feature][arm]` of what is remembered."""
        return self._kept.means

    @property
    def pulls(self) -> list[Any]:  # type: ignore[override]  # nobody writes from outside
        """How many observations of each arm are remembered."""
        return self._kept.pulls

    @property
    def roots(self) -> Any:
        """1/√m of each arm, and 0 where nothing is remembered."""
        return self._kept.roots

    @property
    def in_flight(self) -> list[int]:  # type: ignore[override]  # nobody writes from outside
        """The pulls of each arm whose feedback is under way."""
        return self._kept.in_flight

    @property
    def waiting(self) -> int:  # type: ignore[override]  # nobody writes from outside
        """The pulls of all arms whose feedback is under way."""
        return self._kept.waiting

    def expect(self, arm: int, pulls: int) -> None:
        """Count pulls whose feedback is under way, or fewer of them, down to none."""
        self._kept.expect(arm, pulls)

    def _narrow(self, arm: int) -> None:
        self._kept._narrow(arm)  # noqa: SLF001 - its own book

    @abstractmethod
    def update(self, arm: int, features: Features) -> None:
        """Take in one observation of an arm, and let go of what is past."""

    def score(self, rule: MeanRule, estimates: Any, aim: Any) -> Any:
        """Return the index of every arm, given its estimate."""
        return self._kept.score(rule, estimates, aim)

    def leader(self, rule: MeanRule, estimates: Any, aim: Any) -> int:
        """Return the position of the arm that a rule plays, given every arm's estimate."""
        return self._kept.leader(rule, estimates, aim)

    def column(self, arm: int) -> Array:
        """Return the means of one arm."""
        return self._kept.column(arm)

    def merge(self, other: ArmStatistics, arms: Sequence[int]) -> None:
        """Refuse: which of two was the later observation, nobody can tell."""
        del other, arms
        raise MergeError(
            "what is forgotten goes by the order of observations, so what two policies learned "
            "side by side cannot be added"
        )

    def add_arm(self) -> None:
        """Append an arm that was never pulled."""
        self._kept.add_arm()

    def remove_arm(self, arm: int) -> None:
        """Forget one arm; the trials it took stay counted."""
        self._kept.remove_arm(arm)

    def _move(self, arm: int, features: Any, weight: float) -> None:
        self._kept._move(arm, features, weight)  # noqa: SLF001 - its own book

    def _forget(self, arm: int) -> None:
        """Make an arm as if it had never been pulled."""
        self._kept.pulls[arm] = 0
        self._narrow(arm)
        self._move(arm, [UNPULLED] * self.features, 1.0)
