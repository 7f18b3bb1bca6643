"""What is known of each arm's states where rewards tell only that they lay beyond a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import msgspec

from onepull.errors import SaveFileError
from onepull.index.empirical_likelihood import likely_share
from onepull.policies.hidden_states.levels import Levels
from onepull.policies.sharing.observation import observed_state, rewarded_context
from onepull.policies.sharing.pull_counts import Counted
from onepull.problem import Problem


def limited_mean(  # noqa: PLR0913, PLR0917 - one arm's counts one by one, for a compiler
    values: Any,
    count: int,
    exact: Any,
    beyond: Any,
    pulls: int,
    budget: float,
    rises: bool,  # noqa: FBT001 - compiled functions take no keywords
) -> float:
    """Return the mean reward under the product-limit law, or with a budget a bound on it.

    The share of states past level k, of those that reach it, is told by the pulls at risk
    there: all but those that were seen before it and those of which no more is known than that
    they reach some level up to k.  The law is the product of these shares (Kaplan and Meier
    1958); where none is at risk, the rest of it is counted there.  With a budget f each share
    is taken to where its divergence is f/(pulls at risk), upwards where rewards rise along the
    levels and downwards where they fall, and what was never told is as good as can be.

    >>> seen, at_least = [1, 1, 0], [0, 2, 0]   # 0, 1, and twice "1 or more"
    >>> limited_mean([0.0, 1.0, 2.0], 3, seen, at_least, 4, 0.0, True)
    0.75
    """
    at_risk = pulls
    alive = 1.0
    mean: float = values[0]
    for k in range(count - 1):
        at_risk -= beyond[k]
        if at_risk > 0:
            share = exact[k] / at_risk
            if rises:
                alive *= likely_share(1.0 - share, budget / at_risk)
            else:
                alive *= 1.0 - likely_share(share, budget / at_risk)
        elif budget <= 0.0 or not rises:
            break
        at_risk -= exact[k]
        mean += alive * (values[k + 1] - values[k])
    return mean


class Survival(Counted):
    """Counts by arm and level: states that were seen, and states that were there or beyond.

    They are sums, so they merge without loss and may come in any order, from states and from
    rewards.  If `naive`, a state that was somewhere beyond a level is taken to be at it.
    """

    def __init__(self, levels: Levels, *, naive: bool = False) -> None:
        super().__init__(levels.problem)
        self.levels = levels
        self.naive = naive
        arms = len(self.problem.arms)
        self.exact = [[0] * levels.count for _ in range(arms)]
        self.beyond = [[0] * levels.count for _ in range(arms)]

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Take in one state, or what a reward in its context tells of it."""
        if reward is None:
            (state,) = observed_state(self.problem, fields, None)
            level, is_beyond = self.levels.level(state), False
        else:
            level, is_beyond = self.levels.told(*rewarded_context(self.problem, fields, reward))
        counts = self.beyond if is_beyond and not self.naive else self.exact
        counts[arm][level] += 1
        self._count(arm)

    @property
    def storage(self) -> int:
        """The number of numbers kept."""
        return 2 * self.levels.count * len(self.pulls)

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Take on a problem with one arm more at the end, or one removed."""
        super().change_arms(problem, removed)
        if removed is None:
            self.exact.append([0] * self.levels.count)
            self.beyond.append([0] * self.levels.count)
        else:
            del self.exact[removed], self.beyond[removed]

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add what `other` has learned; its arm `arms[j]` is arm j here."""
        super().merge(other, arms)
        for j, theirs in enumerate(arms):
            for mine, more in ((self.exact, other.exact), (self.beyond, other.beyond)):
                mine[j] = [a + b for a, b in zip(mine[j], more[theirs], strict=True)]

    def state(self) -> Any:
        """Return everything learned as plain values."""
        return _SurvivalState(self._trials, self.exact, self.beyond)

    def restore(self, state: Any) -> None:
        """Take on a saved state; one that cannot be is refused."""
        try:
            saved = msgspec.convert(state, _SurvivalState)
        except msgspec.ValidationError as error:
            raise SaveFileError(f"not learned counts of levels: {error}") from None
        for counts in (saved.exact, saved.beyond):
            if len(counts) != len(self.pulls) or {len(row) for row in counts} != {
                self.levels.count
            }:
                raise SaveFileError(
                    f"counts do not fit {len(self.pulls)} arms and {self.levels.count} levels"
                )
        pulls = [sum(a) + sum(b) for a, b in zip(saved.exact, saved.beyond, strict=True)]
        every = [*saved.exact, *saved.beyond]
        if min(map(min, every)) < 0 or saved.trials < sum(pulls):
            raise SaveFileError("counts are negative or exceed the number of trials")
        self.exact, self.beyond, self.pulls = saved.exact, saved.beyond, pulls
        self._trials = saved.trials

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = super().copy()
        twin.exact = [list(row) for row in self.exact]
        twin.beyond = [list(row) for row in self.beyond]
        return twin


class _SurvivalState(msgspec.Struct, forbid_unknown_fields=True):
    trials: int
    exact: list[list[int]]
    beyond: list[list[int]]
