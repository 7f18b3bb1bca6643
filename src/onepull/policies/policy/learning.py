"""How a policy learns from pulls."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Never, cast

import numpy as np

from onepull.checks import shown, state_by_name, whole_number
from onepull.errors import InputError
from onepull.policies.batches import columns_of, rows
from onepull.policies.policy.deciding import Deciding
from onepull.policies.pull import Pull
from onepull.spaces import FAILED

if TYPE_CHECKING:
    from onepull.policies.policy.policy import Policy

MOST_STORAGE_TRIALS = 10**12  # for which storage is computed


class Learning(Deciding):
    """The part of a policy that learns."""

    def pull(
        self, /, *nameless: Never, eligible: Collection[str] | None = None, **context: Any
    ) -> Pull:
        """Return a pull for `with`, which chooses, counts in flight, and observes or gives up.

        >>> from onepull import DCB, Finite, Interval, Problem
        >>> policy = DCB(Problem(
        ...     arms=["a", "b"], context={"y": Finite([1])}, state={"x": Interval(0, 1)},
        ...     reward="x * y",
        ... ))
        >>> with policy.pull(y=1) as pull:
        ...     pull.observe(x=0.5)
        >>> policy.estimates(y=1)
        [0.5, inf]
        """
        if nameless:
            raise self._by_name("pull", nameless)
        return Pull(cast("Policy", self), eligible, context)

    def pulled(self, arm: str, **context: Any) -> None:
        """Report that `arm` was pulled for a context and its feedback is still to come.

        Until `observe` or `gave_up` is called for it, the pull counts in the arm's number of
        pulls but not in its estimate.  Policies with `counts_in_flight` False ignore it.
        """
        position = self._find(arm)
        self._knowledge.expect(position, context, 1)
        self._counts.expect(position, 1)

    def gave_up(self, arm: str, **context: Any) -> None:
        """Report that the feedback of a pull in flight will not come.

        Nothing is learned from it.  But an arm whose pulls were all given up so far is chosen
        ever more rarely, about ln n times in n trials, until it answers.

        It is ignored if no pull is in flight.
        """
        # Not an error: a late answer to a pull given up earlier may have been counted instead.
        position = self._find(arm)
        if self._counts.in_flight[position]:
            self._give_up(position)
        self.withdraw(arm, **context)

    def withdraw(self, arm: str, **context: Any) -> None:
        """Count a pull in flight no longer, as if `pulled` had not reported it.

        >>> from onepull import DCB, Finite, Problem
        >>> policy = DCB(Problem(arms=["a", "b"], state={"x": Finite([0, 1])}, reward="x"))
        >>> policy.pulled("a")
        >>> policy.withdraw("a")
        >>> policy.is_in_flight("a"), policy.stats().arms[0].given_up
        (False, 0)
        """
        position = self._find(arm)
        self._knowledge.expect(position, context, -1)
        self._counts.expect(position, -1)

    def is_in_flight(self, arm: str) -> bool:
        """Return whether a pull of an arm is in flight; False if there is no such arm.

        >>> from onepull import DCB, Finite, Problem
        >>> policy = DCB(Problem(arms=["a", "b"], state={"x": Finite([0, 1])}, reward="x"))
        >>> policy.pulled("a")
        >>> policy.is_in_flight("a"), policy.is_in_flight("b"), policy.is_in_flight("c")
        (True, False, False)
        """
        position = self._position.get(arm)
        return position is not None and self._counts.in_flight[position] > 0

    def note_given_up(self, arm: str) -> None:
        """Count that a pull of an arm was given up, although no process here may have reported it.

        Unlike `gave_up`, this does not end a pull in flight.  An unknown arm is ignored.

        >>> from onepull import DCB, Finite, Problem
        >>> policy = DCB(Problem(arms=["a", "b"], state={"x": Finite([0, 1])}, reward="x"))
        >>> policy.note_given_up("a")
        >>> policy.stats().arms[0].given_up
        1
        """
        position = self._position.get(arm)
        if position is not None:
            self._give_up(position)

    def _give_up(self, position: int) -> None:
        self._counts.give_up(position)
        self._narrows = True

    def observe(
        self,
        arm: str,
        *nameless: Never,
        reward: float | None = None,
        failed: bool | float = False,
        **fields: Any,
    ) -> None:
        """Learn from a pull of `arm`.

        Pass the state fields by name.  You may also pass the context fields; policies that
        learn from rewards require them.  If you did not see the state, pass the context fields
        and the `reward`.  A policy that learns from states then needs a reward that determines
        the state.  If the pull failed, pass `failed=True` and no state.
        """
        if nameless:
            raise state_by_name(shown(arm), nameless, self.problem.state)
        has_failed = failed is not False and _truth(failed)
        if has_failed:
            fields[FAILED] = True
        try:
            position = self._position[arm]
        except (KeyError, TypeError):
            position = self._find(arm)  # raises the error
        if self._fleet is None:
            self._knowledge.learn(position, fields, reward)
        else:
            self._fleet.learn(self._knowledge, position, fields, reward)
        self._counts.observe(position)
        if has_failed:
            self._counts.fail(position)
        elif self._clips and any(n in fields and s.clips_off(fields[n]) for n, s in self._clips):
            self._counts.clip(position)

    def check_observation(
        self,
        arm: str,
        fields: Mapping[str, Any],
        *,
        reward: float | None = None,
        failed: bool = False,
    ) -> None:
        """Raise what `observe` would raise, and change nothing.

        >>> from onepull import DCB, Finite, Problem
        >>> policy = DCB(Problem(arms=["a", "b"], state={"x": Finite([0, 1])}, reward="x"))
        >>> policy.check_observation("c", {"x": 1})
        Traceback (most recent call last):
        onepull.errors.UnknownArm: unknown arm 'c'; the arms are a, b
        """
        if FAILED in fields:
            raise InputError("failed is told by failed=True")
        told = {**fields, FAILED: True} if failed else fields
        self._knowledge.check(self._find(arm), told, reward)

    def clipped_fields(self, state: Mapping[str, Any]) -> list[str]:
        """Return the fields of a state whose values are outside their interval and are clipped.

        >>> from onepull import DCB, Interval, Problem
        >>> policy = DCB(Problem(
        ...     arms=["a"], state={"delay": Interval(0, 9, outside="clip")}, reward="-delay"
        ... ))
        >>> policy.clipped_fields({"delay": 12.5}), policy.clipped_fields({"delay": 2.5})
        (['delay'], [])
        """
        return [n for n, space in self._clips if n in state and space.clips_off(state[n])]

    def observe_many(
        self,
        arms: Iterable[str],
        *,
        reward: Iterable[float] | None = None,
        **fields: Iterable[Any],
    ) -> None:
        """Learn from many pulls at once: one column for the arms and one for each field.

        The result is the same as observing them one after the other.  If one of them is
        invalid, none is learned.  Where the column `failed` is true, those of the state hold None
        or NaN.
        """
        rewards = {} if reward is None else {"reward": reward}
        columns = columns_of({"arms": arms, **rewards, **fields})
        before = self._knowledge.copy(), self._counts.copy(), self._fleet and self._fleet.copy()
        row = 0
        try:
            for row, record in enumerate(rows(columns)):  # noqa: B007 - named in the error
                self.observe(record.pop("arms"), **self._shown_in(record))
        except BaseException as error:
            self._knowledge, self._counts, self._fleet = before
            if isinstance(error, InputError):
                raise type(error)(f"row {row}: {error}") from None
            raise

    def _shown_in(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return a row of columns without the empty state of a failed pull."""
        if not record.get(FAILED, False):
            return record
        empty = [n for n in self.problem.state if n in record and _is_empty(record[n])]
        return {name: value for name, value in record.items() if name not in empty}

    @property
    def is_fresh(self) -> bool:
        """Whether nothing has been observed yet."""
        return self._knowledge.is_fresh

    @property
    def learns(self) -> bool:
        """Whether observations change what is chosen."""
        return self._knowledge.learns

    @property
    def counts_in_flight(self) -> bool:
        """Whether a pull counts as soon as `pulled` reports it."""
        return self._knowledge.counts_in_flight

    @property
    def trials(self) -> int:
        """The number of observations behind the current estimates."""
        return self._knowledge.trials

    @property
    def storage(self) -> int:
        """How many numbers the policy stores."""
        return self._knowledge.storage

    def storage_after(self, trials: int) -> int:
        """Return how many numbers the policy stores after a number of trials."""
        return self._knowledge.storage_after(
            whole_number("trials", trials, least=0, most=MOST_STORAGE_TRIALS)
        )


def _truth(failed: Any) -> bool:
    if isinstance(failed, (bool, np.bool_)) or failed in (0, 1):
        return bool(failed)
    raise InputError(f"failed must be True or False, given {shown(failed)}")


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
