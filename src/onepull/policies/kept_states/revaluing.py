"""Learning kept states again: for another reward, with those of others, in wider spaces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np

from onepull.errors import ParameterError
from onepull.payoff.reward import NARROWEST
from onepull.policies.kept_states.keeping import Keeping
from onepull.policies.kept_states.merging import RECENT, merging_errors
from onepull.problem import Problem


class Revaluing(Keeping):
    """The part of the memory that learns its states again."""

    def set_attributes(self, problem: Problem, accepted: float | None = None) -> None:
        """Switch to a problem with other attributes of its arms, and revalue what was seen."""
        fresh = self._relearned(self._everything(), problem)
        pairs = zip(self.problem.known, problem.known, strict=True)
        fresh.check_merging(accepted, [arm for arm, (old, new) in enumerate(pairs) if old != new])
        self.__dict__.update(fresh.__dict__)

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add the states that `other` has seen; its arm `arms[j]` is arm j here."""
        place = {theirs: mine for mine, theirs in enumerate(arms)}
        theirs = [one._replace(arm=place[one.arm]) for one in other._everything()]
        self._relearn([*self._everything(), *theirs])

    def inherit(self, old: Self, accepted: float = 0.0) -> float:
        """Take over the states seen in a problem with narrower spaces, exactly."""
        del accepted
        before, now = old.problem.shown, self.problem.shown
        seen = [
            one._replace(shown=list(now.read(before.fields(one.shown))))
            for one in old._everything()
        ]
        self.merges, self.clock = old.merges, old.clock
        self._relearn(seen)
        return 0.0

    def _everything(self) -> list[_Seen]:
        """Return all kept states in the order of their trials."""
        return [
            _Seen(int(self.seen_at[j, i]), j, self.columns[:, j, i].tolist(), stands_for)
            for j, count in enumerate(self.kept)
            for i, stands_for in enumerate(self.stands_for[j, :count].tolist())
        ]

    def _relearn(self, seen: Sequence[_Seen]) -> None:
        """Forget everything but these states, and learn them again."""
        self.__dict__.update(self._relearned(seen, self.problem).__dict__)

    def _relearned(self, seen: Sequence[_Seen], problem: Problem) -> Self:
        """Return a memory that has learned only these states, maybe for another problem."""
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
        return fresh

    def check_merging(self, accepted: float | None, arms: Iterable[int]) -> None:
        """Raise ParameterError if merging puts estimates of some arms off by more than accepted.

        If nothing is said, what chance makes is accepted.
        """
        off, chance = self.merging_error(arms)
        if off > (chance if accepted is None else accepted):
            raise ParameterError(
                f"estimates may be off by {off:.6g}, where chance makes them off by "
                f"{chance:.6g}, since states that were alike for the present reward were merged.  "
                f"Pass error={off:.6g} to accept that, or keep more states "
                f"(kept={self.asked} now)"
            )

    def merging_error(self, arms: Iterable[int]) -> tuple[float, float]:
        """Return how far merging may put an estimate off in 95 % of cases, and how far chance does.

        They are those of the arm and the context where merging does most beside chance.
        """
        worst, errors = 0.0, (0.0, 0.0)
        for arm in arms:
            count = self.kept[arm]
            weights = self.stands_for[arm, :count]
            states = self.columns[:, arm, :count]
            # Equal states are merged first, so where few are left that differ, no others were.
            few = (self.capacity - min(RECENT, self.capacity // 2)) // 2
            if count == self.pulls[arm] or len(np.unique(states, axis=1).T) <= few:
                continue
            merging, chance = merging_errors(states, self._compared(arm, states), weights)
            shares = merging / np.maximum(chance, NARROWEST)
            place = int(np.argmax(shares))
            if shares[place] > worst:
                worst = float(shares[place])
                errors = 1.96 * float(merging[place]), 1.96 * float(chance[place])
        return errors


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
