"""What a pull teaches, and whom.

What is shared and how it is used are two independent choices: any sharing goes with any rule.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import msgspec

from onepull.errors import SaveFileError
from onepull.policies.sharing.in_flight import View
from onepull.policies.sharing.knowledge import Knowledge
from onepull.problem import Problem
from onepull.statistics import ArmStatistics


class Sharing(Knowledge):
    """Statistics of the arms, kept in one book or in several."""

    delta: float | dict[str, float] | None = None  # what interval contexts were cut by
    error = 0.0  # how far an estimate may be off for want of features
    keeps_states = False  # whether the states themselves are kept, so that the reward may change
    counts_in_flight = True
    forgets = False  # whether its statistics let go of the past

    @abstractmethod
    def view(self, context: Mapping[str, Any]) -> View:
        """Return statistics, estimates and reward bounds for a context."""

    @property
    @abstractmethod
    def books(self) -> Mapping[str, ArmStatistics]:
        """All statistics kept, by a key that survives saving."""

    @abstractmethod
    def book(self, key: str) -> ArmStatistics:
        """Return the statistics under a key, opening them if need be."""

    def keep(self, empty: Callable[..., ArmStatistics]) -> Self:
        """Keep `empty(arms=…, features=…)` from now on, statistics that forget; return itself."""
        raise NotImplementedError(f"{type(self).__name__} keeps all it learns, given {empty}")

    def feature_bounds(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return the lower and the upper bounds of what is kept means of.

        >>> from onepull import Finite, Interval
        >>> problem = Problem(
        ...     arms=["a"], context={"y": Finite([1, 2])}, state={"x": Interval(0, 3)}, reward="x*y"
        ... )
        >>> shared(problem, "joint", None).feature_bounds()
        ([0.0, 0.0], [3.0, 6.0])
        """
        low, high = self.problem.payoff.whole_range
        return [low], [high]

    def seen(self, context: Mapping[str, Any]) -> tuple[Sequence[int], int]:
        """Return the pulls of every arm that count in a context, and the trials they are of."""
        statistics = self.view(context)[0]
        return statistics.counts, statistics.trial - 1

    @property
    def trials(self) -> int:
        """The number of observations behind the current estimates."""
        return sum(book.trials for book in self.books.values())

    @property
    def storage(self) -> int:
        """The number of numbers kept."""
        return sum(book.storage for book in self.books.values())

    def storage_after(self, trials: int) -> int:
        """Return the most numbers that may be kept after so many trials."""
        return sum(book.storage_after(trials) for book in self.books.values())

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Take on a problem with one arm more at the end, or one removed."""
        self.problem = problem
        for book in self.books.values():
            if removed is None:
                book.add_arm()
            else:
                book.remove_arm(removed)

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add what `other` has learned; its arm `arms[j]` is arm j here."""
        for key, book in other.books.items():
            self.book(key).merge(book, arms)

    def state(self) -> Any:
        """Return everything learned as plain values."""
        return {key: book.state() for key, book in self.books.items() if book.trials}

    def restore(self, state: Any) -> None:
        """Take on a saved state; one that cannot be is refused."""
        try:
            saved = msgspec.convert(state, dict[str, Any])
            books = [(self.book(key), learned) for key, learned in saved.items()]
            states = [msgspec.convert(learned, book.State) for book, learned in books]
        except msgspec.ValidationError as error:
            raise SaveFileError(f"not learned statistics: {error}") from None
        for (book, _), learned in zip(books, states, strict=True):
            book.restore(learned)


class OneBook(Sharing):
    """Statistics kept in a single book."""

    statistics: ArmStatistics

    @property
    def books(self) -> dict[str, ArmStatistics]:
        """The one book."""
        return {"all": self.statistics}

    def book(self, key: str) -> ArmStatistics:
        """Return the one book."""
        if key != "all":
            raise SaveFileError(f"statistics {key!r} are unknown here; only 'all' are kept")
        return self.statistics

    def keep(self, empty: Callable[..., ArmStatistics]) -> Self:
        """Keep statistics that forget, from now on; return itself."""
        features = self.statistics.features
        self.statistics = empty(arms=len(self.problem.arms), features=features)
        self.forgets = True
        return self

    def expect(self, arm: int, fields: Mapping[str, Any], pulls: int) -> None:
        """Count pulls in flight, whatever their context."""
        super().expect(arm, fields, pulls)
        self.statistics.expect(arm, pulls)

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.statistics = self.statistics.copy()
        return twin
