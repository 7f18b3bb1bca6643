"""Who learns from a pull: nobody but the arm, its context, or every context.

How knowledge is shared and how it is used are two independent choices: any of these goes
with any rule of exploration.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import msgspec

from onepull.errors import ParameterError, SaveFileError
from onepull.factor import Cells, Factorisation, Histogram, LowRank, Sketch, partition
from onepull.policies.sharing.in_flight import View, answered
from onepull.policies.sharing.knowledge import Knowledge
from onepull.policies.sharing.observation import (
    check_reward,
    observed_reward,
    observed_state,
    rewarded_context,
)
from onepull.problem import Problem
from onepull.statistics import ArmStatistics


class Sharing(Knowledge):
    """Statistics of the arms, kept in one book or in several."""

    delta: float | dict[str, float] | None = None  # what interval contexts were cut by
    error = 0.0  # how far an estimate may be off for want of features
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


class _OneBook(Sharing):
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


class Joint(_OneBook):
    """Every context learns from every pull, through the known reward."""

    def __init__(self, factor: Factorisation) -> None:
        self.problem = factor.problem
        self.factor = factor
        self.delta = factor.delta if isinstance(factor, Cells) else None
        # The paper's policies serve a cell as its centre and do not widen the bound for it.
        self.error = 0.0 if isinstance(factor, Cells) else factor.error
        self.statistics = ArmStatistics.empty(arms=len(self.problem.arms), features=factor.features)

    def view(self, context: Mapping[str, Any]) -> View:
        """Return statistics, estimates and reward bounds for a context."""
        statistics = self.statistics
        view = statistics, *self.factor.look(statistics.means, context)
        return answered(*view) if statistics.waiting else view

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Take in one state, or the reward and context that tell it."""
        state = observed_state(self.problem, fields, reward)
        self.statistics.update(arm, self.factor.psi(state))


class PullsOnly(_OneBook):
    """Pulls are counted and nothing else is learned."""

    counts_in_flight = False
    learns = False

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.statistics = ArmStatistics.empty(arms=len(problem.arms), features=0)

    def expect(self, arm: int, fields: Mapping[str, Any], pulls: int) -> None:
        """Take no notice: nothing goes by the counts."""
        Knowledge.expect(self, arm, fields, pulls)

    def view(self, context: Mapping[str, Any]) -> View:
        """Return the counts; there are no estimates."""
        self.problem.context.exactly(context)
        return self.statistics, [], *self.problem.payoff.whole_range

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Count a pull, after the same checks that a learner makes."""
        if reward is None:
            observed_state(self.problem, fields, reward)
        else:
            observed_reward(self.problem, fields, reward)
        self.statistics.update(arm, ())


class Blind(_OneBook):
    """An arm learns its own rewards, whatever the context was."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.statistics = ArmStatistics.empty(arms=len(problem.arms), features=1)

    def view(self, context: Mapping[str, Any]) -> View:
        """Return statistics, estimates and reward bounds, the same for every context."""
        self.problem.context.exactly(context)
        statistics = self.statistics
        view = statistics, statistics.means[0], *self.problem.payoff.whole_range
        return answered(*view) if statistics.waiting else view

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Take in one reward, or the context and state that give it."""
        _, value = observed_reward(self.problem, fields, reward)
        self.statistics.update(arm, (value,))


class PerContext(Sharing):
    """Each cell of contexts learns its own rewards, from its own pulls only."""

    def __init__(self, cells: Cells) -> None:
        self.problem = cells.problem
        self.cells, self.delta = cells, cells.delta
        self._lows, self._highs = cells.cell_bounds()
        self._books: dict[int, ArmStatistics] = {}
        self._kind: Callable[..., ArmStatistics] = ArmStatistics.empty
        self._unseen = self._empty()

    def _empty(self) -> ArmStatistics:
        return self._kind(arms=len(self.problem.arms), features=1)

    def keep(self, empty: Callable[..., ArmStatistics]) -> Self:
        """Keep statistics that forget, from now on; return itself."""
        self._kind, self.forgets = empty, True
        self._unseen = self._empty()
        return self

    @property
    def books(self) -> dict[str, ArmStatistics]:
        """One book for each cell that has been seen."""
        return {str(cell): book for cell, book in self._books.items()}

    def book(self, key: str) -> ArmStatistics:
        """Return the book of a cell."""
        cell = int(key) if key.isdecimal() else -1
        if not 0 <= cell < self.cells.features:
            raise SaveFileError(f"context cell {key!r} is not one of {self.cells.features}")
        return self._books.setdefault(cell, self._empty())

    @property
    def storage(self) -> int:
        """The number of numbers kept once every cell has been seen."""
        return self.cells.features * self._unseen.storage

    def storage_after(self, trials: int) -> int:
        """Return the most numbers that may be kept after so many trials."""
        return self.cells.features * self._unseen.storage_after(trials)

    def view(self, context: Mapping[str, Any]) -> View:
        """Return statistics, estimates and reward bounds of a context's own cell."""
        cell = self.cells.locate(context)
        statistics = self._books.get(cell, self._unseen)
        view = statistics, statistics.means[0], self._lows[cell], self._highs[cell]
        return answered(*view) if statistics.waiting else view

    def expect(self, arm: int, fields: Mapping[str, Any], pulls: int) -> None:
        """Count pulls in flight in the cell of their context."""
        self.book(str(self.cells.locate(fields))).expect(arm, pulls)

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Take in one reward in its context."""
        context, value = rewarded_context(self.problem, fields, reward)
        cell = self.cells.locate(dict(zip(self.problem.context, context, strict=True)))
        if reward is not None:
            check_reward(value, self._lows[cell], self._highs[cell])
        self.book(str(cell)).update(arm, (value,))

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Take on a problem with one arm more at the end, or one removed."""
        super().change_arms(problem, removed)
        self._unseen = self._empty()

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._books = {cell: book.copy() for cell, book in self._books.items()}
        return twin


# The ways of sharing that go by name, given δ and what stands in brackets behind the name.
SHARINGS: dict[str, Callable[[Problem, Any, Any], Sharing]] = {
    "joint": lambda problem, delta, _: Joint(partition(problem, delta)),
    "per-context": lambda problem, delta, _: PerContext(partition(problem, delta)),
    "blind": lambda problem, *_: Blind(problem),
    "histogram": lambda problem, *_: Joint(Histogram(problem)),
    "sketch": lambda problem, _, knots: Joint(Sketch(problem, **_given(knots=knots, kind=int))),
    "low-rank": lambda problem, _, tolerance: Joint(
        LowRank(problem, **_given(tolerance=tolerance, kind=float))
    ),
}
_SETTING = {"sketch": "knots", "low-rank": "tolerance"}


def shared(problem: Problem, sharing: Any, delta: float | Mapping[str, float] | None) -> Sharing:
    """Return an empty sharing by its name; δ cuts interval contexts into cells.

    >>> from onepull import Finite, Interval
    >>> problem = Problem(
    ...     arms=["a"], context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x * y"
    ... )
    >>> shared(problem, "sketch(9)", None).storage
    10
    """
    name, bracket, rest = str(sharing).partition("(")
    if name not in SHARINGS or (bracket and (name not in _SETTING or not rest.endswith(")"))):
        known = [f"{name}({_SETTING[name]})" if name in _SETTING else name for name in SHARINGS]
        raise ParameterError(f"sharing must be one of {', '.join(known)}, given {sharing!r}")
    if delta is not None and name not in ("joint", "per-context"):
        raise ParameterError(f"{name} sharing has no cells to cut, given delta={delta!r}")
    return SHARINGS[name](problem, delta, rest[:-1])


def _given(*, kind: Callable[[str], Any], **setting: str) -> dict[str, Any]:
    """Return a setting as a keyword if it was given, read as a number."""
    ((name, text),) = setting.items()
    try:
        return {name: kind(text)} if text else {}
    except ValueError:
        whole = "whole " * (kind is int)
        raise ParameterError(f"{name} must be a {whole}number, given {text!r}") from None
