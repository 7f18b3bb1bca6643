"""Learning kept states again: for another reward, with those of others, in wider spaces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.errors import ParameterError
from onepull.policies.kept_states.drift import STEADY
from onepull.policies.kept_states.keeping import Keeping
from onepull.policies.kept_states.merging import merging_errors
from onepull.policies.sharing.exact_changes import check_merged, factor_of_change
from onepull.problem import Problem
from onepull.spaces import FAILED, Interval

LARGEST_FACTOR = 1e50  # of a reward whose filters are multiplied by it, so that none overflows


class Revaluing(Keeping):
    """The part of the memory that learns its states again."""

    def set_attributes(self, problem: Problem, accepted: float | None = None) -> None:
        """Switch to a problem with other attributes of its arms, and revalue what was seen."""
        self.__dict__.update(self.revalued(problem, accepted).__dict__)

    def revalued(self, problem: Problem, accepted: float | None) -> Self:
        """Return a memory of the same states for another reward or other attributes.

        Raises ParameterError if estimates may be off by more than is accepted.  If nothing is
        accepted, they must be exact: no states were merged, or the formula shows that it makes no
        difference.
        """
        self._check_reach(problem)
        everyone = range(len(self.pulls))
        if sum(self.kept) == sum(self.pulls):
            return self._relearned(self._everything(), problem, self.blurred)
        names = [name for name in problem.shown if name != FAILED]
        changes = [factor_of_change(self.problem, problem, arm, names) for arm in everyone]
        factors = np.array([np.nan if each is None else each for each in changes])
        is_proved = not np.isnan(factors).any()
        if is_proved and np.abs(factors).max() <= LARGEST_FACTOR:
            fresh = self._with_factors(problem, factors)
        else:
            fresh = self._relearned(self._everything(), problem, self.blurred)
            fresh._keep_belief(self)  # noqa: SLF001 - of the same class
        # A factor keeps states in their order, so that those are alike that were.
        is_new = np.isnan(factors) | (factors == 0.0)
        fresh.merged_otherwise = self.merged_otherwise | (is_new & self.blurred.any(axis=1))
        if is_proved:
            return fresh
        arms = [arm for arm in everyone if not self._is_exact(problem, arm)]
        if arms:
            check_merged(*self._merging_error(fresh, arms), accepted, self.asked)
        return fresh

    def _check_reach(self, problem: Problem) -> None:
        """Raise ParameterError if a state was kept whose reward would overflow."""
        is_kept = np.arange(self.stands_for.shape[1]) < np.array(self.kept)[:, None]
        for column, (name, space) in zip(self.columns, problem.shown.items(), strict=True):
            if not isinstance(space, Interval) or not is_kept.any():
                continue
            for value in (column[is_kept].min(), column[is_kept].max()):
                if (most := space.too_far(float(value))) is not None:
                    raise ParameterError(
                        f"the reward would be too large to compute with where {name} is "
                        f"{value:.6g}, which was observed; expected at most {most:.6g} in size: "
                        "divide the reward by a constant"
                    )

    def _is_exact(self, problem: Problem, arm: int) -> bool:
        """Whether another reward of an arm is known as well as the present one."""
        pairs = zip(self.problem.shown, self.blurred[arm], strict=True)
        fields = [name for name, is_blurred in pairs if is_blurred]
        return factor_of_change(self.problem, problem, arm, fields) is not None

    def _with_factors(self, problem: Problem, factors: Array) -> Self:
        """Return the memory where each reward is its arm's factor times the old one, plus a number.

        Unlike learning again, this keeps what is believed about change, of which merged states
        tell nothing.
        """
        fresh, unit = self.copy(), self.unit
        before, means = self._means_of_states(), self.means
        fresh.problem = problem
        fresh._bind()  # noqa: SLF001 - of the same class
        scales = factors[:, None] * (fresh.unit / unit)
        shifts = fresh._means_of_states() - scales * before  # noqa: SLF001 - of the same class
        fresh.means = scales * means + shifts
        if fresh.drift is not None:
            fresh.drift.revalue(factors, shifts)
        return fresh

    def _keep_belief(self, old: Self) -> None:
        """Believe about change what another memory of the same states does, unless they tell more.

        States that were merged tell nothing of it any more.
        """
        if self.drift is not None and old.drift is not None:
            self.drift.believe(old.drift)
            self._counts_for = None if self.drift.chosen == STEADY else self._recount()

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add the states that `other` has seen; its arm `arms[j]` is arm j here."""
        place = {theirs: mine for mine, theirs in enumerate(arms)}
        theirs = [one._replace(arm=place[one.arm]) for one in other._everything()]
        otherwise = self.merged_otherwise | other.merged_otherwise[list(arms)]
        self._relearn([*self._everything(), *theirs], self.blurred | other.blurred[list(arms)])
        self.merged_otherwise = otherwise

    def inherit(self, old: Self, accepted: float = 0.0) -> float:
        """Take over the states seen in a problem with narrower spaces, exactly."""
        del accepted
        before, now = old.problem.shown, self.problem.shown
        seen = [
            one._replace(shown=list(now.read(before.fields(one.shown))))
            for one in old._everything()
        ]
        self.merges, self.clock = old.merges, old.clock
        self._relearn(seen, old.blurred)
        self.merged_otherwise = old.merged_otherwise
        return 0.0

    def _everything(self) -> list[_Seen]:
        """Return all kept states in the order of their trials."""
        return [
            _Seen(int(self.seen_at[j, i]), j, self.columns[:, j, i].tolist(), stands_for)
            for j, count in enumerate(self.kept)
            for i, stands_for in enumerate(self.stands_for[j, :count].tolist())
        ]

    def _relearn(self, seen: Sequence[_Seen], blurred: NDArray[np.bool_]) -> None:
        """Forget everything but these states, and learn them again."""
        self.__dict__.update(self._relearned(seen, self.problem, blurred).__dict__)

    def _relearned(
        self, seen: Sequence[_Seen], problem: Problem, blurred: NDArray[np.bool_]
    ) -> Self:
        """Return a memory that has learned only these states, maybe for another problem.

        `blurred` are the fields in which merged states differed.
        """
        fresh = type(self)(problem, capacity=self.asked, adapts=self.adapts)
        fresh.merges = self.merges
        merged, whole = _parted(sorted(seen, key=lambda one: one.trial))
        for states, is_whole in ((merged, False), (whole, True)):
            for each in states:
                fresh._keep(  # noqa: SLF001 - of the same class
                    each.arm,
                    each.shown,
                    each.trial,
                    stands_for=each.stands_for,
                    is_whole=is_whole,
                )
        fresh.clock = max(fresh.clock, self.clock, sum(fresh.pulls))
        fresh.in_flight = self.in_flight
        fresh.blurred |= blurred
        fresh.merged_otherwise = self.merged_otherwise
        return fresh

    def _merging_error(self, other: Self, arms: Iterable[int]) -> tuple[float, float]:
        """Return how far off an estimate of another memory is in 95 % of cases, and by chance.

        They are those of the arm and the context where merging does most.
        """
        found = [(0.0, 0.0)]
        for arm in arms:
            count = self.kept[arm]
            states, weights = self.columns[:, arm, :count], self.stands_for[arm, :count]
            compared, rewards = self._compared(arm, states), other._compared(arm, states)
            if self.merged_otherwise[arm]:
                compared = compared[:0]
            both = merging_errors(states, compared, rewards, weights, self._failed(states))
            found += zip(*((1.96 * each).tolist() for each in both), strict=True)
        return max(found)


class _Seen(NamedTuple):
    trial: int
    arm: int
    shown: list[float]
    stands_for: float


def _parted(seen: Sequence[_Seen]) -> tuple[list[_Seen], list[_Seen]]:
    """Return the states of an arm up to the newest that others were merged into, and the rest.

    Merging leaves more of the rare states, so that what is left of the older ones looks like a
    change.
    """
    newest: dict[int, int] = {}
    for one in seen:
        if one.stands_for > 1.0:
            newest[one.arm] = one.trial
    merged: list[_Seen] = []
    whole: list[_Seen] = []
    for one in seen:
        (merged if one.trial <= newest.get(one.arm, -1) else whole).append(one)
    return merged, whole
