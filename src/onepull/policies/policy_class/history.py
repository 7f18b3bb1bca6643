"""All pulls with their probabilities, for estimates by inverse probability weighting."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Self

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.checks import Count, FiniteNumber, Share, restored
from onepull.errors import InputError, SaveFileError
from onepull.factor import partition
from onepull.payoff import State
from onepull.policies.policy_class.policy_class import GivenPolicies, PolicyClass
from onepull.policies.sharing.knowledge import Knowledge
from onepull.policies.sharing.observation import check_reward, rewarded_context
from onepull.problem import Problem

RAREST = 1e-9  # an arm with a smaller probability is never pulled


class WeighedPull(NamedTuple):
    """One pull: its context, its arm, its reward in [0, 1] and the probability of the arm.

    The arm is None if it has been removed; the context still counts as seen.
    """

    context: State
    arm: int | None
    reward: float
    probability: float


class HistoryState(msgspec.Struct, forbid_unknown_fields=True):
    """The saved form: one column per field of a pull."""

    contexts: list[list[FiniteNumber]]
    arms: list[Count | None]
    rewards: list[Share]
    probabilities: list[Annotated[float, msgspec.Meta(ge=RAREST, le=1.0 + 1e-9)]]


class History(Knowledge):
    """All pulls, and the class of policies that is evaluated on them.

    Rewards are scaled to [0, 1] by the range of the reward.  The probability of a pull is the
    one that its arm has when the pull is observed, with all arms eligible.  So feedback should
    come in order and for all pulls, and a pull with fewer eligible arms counts as if all had been
    eligible.

    Attributes
    ----------
    sums
        `sums[cell, arm]`, the sum of reward/probability over the pulls.
    counts
        `counts[cell, arm]`, the number of pulls.
    visits
        The number of pulls in each cell, including those of removed arms.
    """

    in_units_of_range = True

    def __init__(
        self, problem: Problem, policies: GivenPolicies, delta: float | Mapping[str, float] | None
    ) -> None:
        self.problem = problem
        self.cells = partition(problem, delta)
        self.policies = PolicyClass(self.cells, problem.arms, policies)
        self.low, high = problem.payoff.whole_range
        self.width = high - self.low
        self._lows, self._highs = self.cells.cell_bounds()
        self._begin()

    def _begin(self) -> None:
        shape = (self.cells.features, len(self.problem.arms))
        self.pulls: list[WeighedPull] = []
        self.sums: Array = np.zeros(shape)
        self.counts = np.zeros(shape, np.int64)
        self.visits = np.zeros(shape[0], np.int64)

    @abstractmethod
    def chances(self, cell: int) -> Sequence[float]:
        """Return the probability of each arm in a cell at the next trial."""

    def place(self, context: State) -> int:
        """Return the cell of a context."""
        return self.cells.locate(self.problem.context.fields(context))

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Learn from one reward in its context."""
        context, value = rewarded_context(self.problem, arm, fields, reward)
        cell = self.place(context)
        if reward is not None:
            check_reward(value, self._lows[cell], self._highs[cell])
        share = (value - self.low) / self.width if self.width else 0.0
        pull = WeighedPull(context, arm, min(max(share, 0.0), 1.0), float(self.chances(cell)[arm]))
        self._take_in(cell, pull)

    def learn_for(self, own: Self, arm: int, *told: Any) -> None:
        """Learn one reward here and in `own`, with the probability that the pull has here."""
        before = len(self.pulls)
        self.learn(arm, *told)
        for pull in self.pulls[before:]:
            History._take_in(own, self.place(pull.context), pull)

    def _take_in(self, cell: int, pull: WeighedPull) -> None:
        """Store a pull."""
        self.pulls.append(pull)
        self.visits[cell] += 1
        if pull.arm is not None:
            self.counts[cell, pull.arm] += 1
            self.sums[cell, pull.arm] += pull.reward / pull.probability

    def estimates(self, cell: int) -> Array:
        """Return each arm's mean reward in a cell, weighted by inverse probability."""
        means: Array = self.low + self.width * (self.sums[cell] / max(1, self.visits[cell]))
        return means

    @property
    def gains(self) -> Array:
        """`gains[cell, arm]`, the contribution of playing the arm there to a policy's estimate."""
        return self.sums / max(1, len(self.pulls))

    @property
    def frequencies(self) -> Array:
        """The share of the pulls in each cell."""
        return self.visits / max(1, len(self.pulls))

    def seen(self, context: Mapping[str, Any]) -> tuple[Sequence[int], int]:
        """Return each arm's number of pulls in the cell of a context, and the number of trials."""
        return self.counts[self.cells.locate(context)].tolist(), self.trials

    @property
    def trials(self) -> int:
        """The number of observations behind the current estimates."""
        return len(self.pulls)

    @property
    def storage(self) -> int:
        """How many numbers the stored pulls have; what is derived from them is not counted."""
        return len(self.pulls) * self._each

    def storage_after(self, trials: int) -> int:
        """Return how many numbers are stored after a number of trials: all pulls are stored."""
        return trials * self._each

    @property
    def _each(self) -> int:
        return len(self.problem.context) + 3

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Switch to a problem with one more arm at the end, or without arm `removed`."""
        self.policies.keeps(problem.arms)
        self.policies = PolicyClass(self.cells, problem.arms, self.policies.kind)
        self.problem = problem
        if removed is None:
            self.sums = np.pad(self.sums, ((0, 0), (0, 1)))
            self.counts = np.pad(self.counts, ((0, 0), (0, 1)))
        else:
            self.sums = np.delete(self.sums, removed, axis=1)
            self.counts = np.delete(self.counts, removed, axis=1)
            self.pulls = [_without(pull, removed) for pull in self.pulls]

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add the pulls of `other` after those here; its arm `arms[j]` is arm j here."""
        here = {theirs: mine for mine, theirs in enumerate(arms)}
        for pull in other.pulls:
            arm = None if pull.arm is None else here[pull.arm]
            History._take_in(self, self.place(pull.context), pull._replace(arm=arm))

    def state(self) -> Any:
        """Return the pulls as plain values."""
        return HistoryState(
            [list(pull.context) for pull in self.pulls],
            [pull.arm for pull in self.pulls],
            [pull.reward for pull in self.pulls],
            [pull.probability for pull in self.pulls],
        )

    def restore(self, state: Any) -> None:
        """Restore saved pulls; raises SaveFileError if they are invalid."""
        saved = restored(HistoryState, state, "pulls")
        columns = (saved.contexts, saved.arms, saved.rewards, saved.probabilities)
        if len({len(column) for column in columns}) > 1:
            raise SaveFileError("the columns of the saved history differ in length")
        pulls = [
            WeighedPull(tuple(map(float, c)), a, float(r), float(p))
            for c, a, r, p in zip(*columns, strict=True)
        ]
        try:
            places = [self.place(pull.context) for pull in pulls]
        except (InputError, ValueError) as error:
            raise SaveFileError(f"a context of the saved history is invalid: {error}") from None
        for pull in pulls:
            if pull.arm is not None and pull.arm >= len(self.problem.arms):
                raise SaveFileError(f"the saved history has an unknown arm number {pull.arm}")
        self._begin()
        for cell, pull in zip(places, pulls, strict=True):
            History._take_in(self, cell, pull)

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.pulls = self.pulls.copy()
        twin.sums, twin.counts = self.sums.copy(), self.counts.copy()
        twin.visits = self.visits.copy()
        return twin


def _without(pull: WeighedPull, removed: int) -> WeighedPull:
    if pull.arm is None or pull.arm < removed:
        return pull
    if pull.arm > removed:
        return pull._replace(arm=pull.arm - 1)
    return WeighedPull(pull.context, None, 0.0, 1.0)
