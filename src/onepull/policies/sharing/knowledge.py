"""The interface of what a policy has learned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

import msgspec

from onepull.errors import ParameterError
from onepull.payoff import State
from onepull.policies.sharing.in_flight import Counted
from onepull.policies.sharing.inherited import changed_fields, names_in_sentence
from onepull.policies.sharing.observation import observed_outcome
from onepull.problem import Problem


class Knowledge(ABC):
    """Everything that a policy has learned.  It can be updated, merged, saved and restored.

    A policy of your own that is no rule on a sharing subclasses this and defines `learn`, `seen`,
    `trials`, `storage`, `change_arms`, `merge`, `state`, `restore` and `copy`, in terms of the
    positions of arms; see the how-to page on policies of your own.  Every sharing is one, too.

    Attributes
    ----------
    problem
        The problem that it is about.
    counts_in_flight
        Whether pulls count before they are observed.
    learns
        Whether more than the number of pulls is stored.
    in_units_of_range
        Whether rewards are stored in units of the reward's range.
    adds_up
        Whether what two have learned can be added, whatever came first.

    Examples
    --------
    >>> from onepull import Finite, Interval, shared
    >>> known = shared(Problem(
    ...     arms=["a", "b"], context={"y": Finite([1, 2])}, state={"x": Interval(0, 3)},
    ...     reward="x * y",
    ... ), "joint", None)
    >>> isinstance(known, Knowledge)
    True
    >>> known.learn(0, {"x": 2.5}, None)
    >>> known.learn(0, {"y": 2}, 3.0)  # x was 1.5
    >>> known.seen({"y": 1}), known.trials, known.storage
    (([2, 0], 2), 2, 6)
    """

    problem: Problem
    counts_in_flight = False
    learns = True
    in_units_of_range = False
    adds_up = True

    @property
    def kind(self) -> str:
        """What is learned, in a word."""
        return type(self).__name__

    def __repr__(self) -> str:
        """Return what is learned, of how many arms, from how many observations.

        >>> from onepull import Finite, Interval
        >>> from onepull.policies import shared
        >>> shared(Problem(
        ...     arms=["a"], context={"y": Finite([1, 2])}, state={"x": Interval(0, 3)}, reward="x*y"
        ... ), "joint", None)
        <Joint(ContextTable) of 1 arm after 0 trials, 3 numbers>
        """
        arms = len(self.problem.arms)
        told = f"of {arms} arm{'s' * (arms > 1)} after {self.trials:,} trials"
        return f"<{self.kind} {told}, {self.storage:,} numbers>"

    @abstractmethod
    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Learn from one observation; changes nothing if it raises an exception."""

    def read_outcome(self, arm: int, fields: Mapping[str, Any], reward: Any) -> State:
        """Return what `learn` is told as one outcome, which `problem.payoff` values in a context.

        It is the state, with the attributes of the arm before it and whether the pull failed after
        it, where the problem has those.  It is derived from the reward if that is told instead.

        >>> from onepull import Interval, shared
        >>> known = shared(Problem(
        ...     arms={"a": {"price": 1}, "b": {"price": 2}}, context={"y": Interval(0, 4)},
        ...     state={"x": Interval(0, 3)}, reward="x - price * y",
        ... ), "sketch", None)
        >>> known.read_outcome(1, {"x": 2.5}, None), known.read_outcome(1, {"y": 1}, 0.5)
        ((2.0, 2.5), (2.0, 2.5))
        """
        return observed_outcome(self.problem, arm, fields, reward)

    def check(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Raise what `learn` would raise, and change nothing."""
        self.copy().learn(arm, fields, reward)

    def learn_for(self, own: Self, arm: int, *told: Any) -> None:
        """Learn one observation here and in `own`, which has those of one process alone."""
        self.learn(arm, *told)
        own.learn(arm, *told)

    def take_local(self, old: Self) -> None:  # noqa: B027 - most have nothing of this kind
        """Take over what is of this process alone, such as pulls in flight."""

    def expect(self, arm: int, fields: Mapping[str, Any], pulls: int) -> None:
        """Add `pulls` (or subtract, if negative) to the pulls in flight; ignored by default."""
        del arm, pulls
        if fields:
            self.problem.context.exactly(fields)

    @abstractmethod
    def seen(self, context: Mapping[str, Any]) -> tuple[Sequence[int], int]:
        """Return each arm's number of pulls that count in a context, and their number of trials."""

    def in_flight_in(self, context: Mapping[str, Any]) -> Sequence[int] | None:
        """Return how many of the pulls that `seen` counts are in flight; None if all in flight."""
        del context
        return None if self.counts_in_flight else [0] * len(self.problem.arms)

    def unanswered(self, context: Mapping[str, Any]) -> Collection[int]:
        """Return the arms with pulls in flight in a context and no observation there."""
        del context
        return ()

    def counted(self, context: Mapping[str, Any]) -> Counted:
        """Return the pulls that count in a context: `seen`, `in_flight_in` and `unanswered`."""
        return Counted(*self.seen(context), self.in_flight_in(context), self.unanswered(context))

    def mean_state(self, arm: int) -> dict[str, float] | None:
        """Return the mean of each number of an arm's state, None if states are not learned."""
        del arm
        return None

    def blurred_fields(self, arm: int) -> Collection[str]:
        """Return the fields of which `mean_state` is approximate, since states were merged."""
        blurred = getattr(self, "blurred", None)  # of those that merge states
        if blurred is None:
            return ()
        return [name for name, is_so in zip(self.problem.shown, blurred[arm], strict=True) if is_so]

    @property
    @abstractmethod
    def trials(self) -> int:
        """The number of observations behind the current estimates."""

    @property
    @abstractmethod
    def storage(self) -> int:
        """How many numbers are stored."""

    def storage_after(self, trials: int) -> int:
        """Return how many numbers are stored after a number of trials."""
        del trials
        return self.storage

    @property
    def is_fresh(self) -> bool:
        """Whether nothing has been observed yet."""
        return self.trials == 0

    @abstractmethod
    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Switch to a problem with one more arm at the end, or without arm `removed`."""

    def add_arms(self, problem: Problem) -> None:
        """Switch to a problem with more arms at the end; one by one, unless redefined."""
        for count in range(len(self.problem.arms) + 1, len(problem.arms)):
            self.change_arms(problem.with_arms(problem.arms[:count]))
        self.change_arms(problem)

    def remove_arms(self, problem: Problem, removed: Sequence[int]) -> None:
        """Switch to a problem without some arms, given in order; one by one, unless redefined."""
        *most, first = reversed(removed)
        for gone in most:
            arms = self.problem.arms
            self.change_arms(self.problem.with_arms([*arms[:gone], *arms[gone + 1 :]]), gone)
        self.change_arms(problem, first)

    def set_attributes(self, problem: Problem, accepted: float | None = None) -> None:
        """Switch to a problem with other attributes of its arms; changes nothing if it raises.

        If estimates cannot be computed again exactly, they may be off by up to `accepted`.
        """
        del problem, accepted
        raise ParameterError(
            "attributes can change only where states are stored, since the mean of old rewards "
            "does not tell what they would have been; use a policy that keeps states, such as "
            "recommended(problem)"
        )

    @abstractmethod
    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add what `other` has learned; its arm `arms[j]` is arm j here."""

    @abstractmethod
    def state(self) -> Any:
        """Return everything learned as plain values."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Restore a saved state; raises SaveFileError if it is invalid."""

    def inherit(self, old: Self, accepted: float = 0.0) -> float:
        """Take over what was learned for a problem with narrower spaces.

        Returns a bound on the error of estimates that this causes, 0 if the result is what this
        one would have learned from the same observations.  Raises ParameterError with the reason
        if the error would be larger than accepted.
        """
        del accepted
        grown = changed_fields(self.problem.context, old.problem.context)
        if grown:
            raise ParameterError(
                f"what is stored depends on the values of {names_in_sentence(grown)}"
            )
        ranges = [each.problem.payoff.whole_range for each in (old, self)]
        if ranges[0] != ranges[1]:
            (low, high), (least, most) = ranges
            raise ParameterError(
                "rewards are stored as shares of their range, which was "
                f"{low:.12g} to {high:.12g} and is {least:.12g} to {most:.12g}"
            )
        self.restore(msgspec.to_builtins(old.state()))
        return 0.0

    @abstractmethod
    def copy(self) -> Self:
        """Return an independent copy."""
