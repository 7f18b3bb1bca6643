"""What an operator can ask of a router while it runs; each is an event in the log."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import msgspec

from onepull.checks import flag, number, pinned, shown
from onepull.errors import OnepullError, ParameterError, StoreError
from onepull.policies.policy import Policy
from onepull.problem import Problem
from onepull.router.definition.defining import Defining
from onepull.router.definition.definition import policy_for
from onepull.router.state.plain_values import python_number, text
from onepull.store import events as e


class Controlling(Defining):
    """The part of a router that operators control."""

    def control(self, changes: Iterable[e.Control]) -> None:
        """Make changes that are given as events of `onepull.store`: all of them, or none.

        >>> from onepull import Interval, Problem, Router
        >>> from onepull.store import ModeSet, Paused
        >>> problem = Problem(arms=["a", "b"], state={"x": Interval(0, 1)}, reward="x")
        >>> with Router(problem, fallback="a") as router:
        ...     router.control([Paused(arm="b"), ModeSet(mode="shadow")])
        ...     router.mode
        'shadow'
        """
        self._check()
        now = time.time()
        asked = []
        for event in changes:
            if not isinstance(event, e.Control):
                raise ParameterError(f"control takes changes such as Paused, given {shown(event)}")
            if event.by:
                text("by", event.by)
            asked.append(msgspec.structs.replace(event, seq=0, problem=self.name, time=now))
        self.sync()
        trial = self._at_present()
        for event in asked:
            if (error := trial.apply(event)) is not None:
                raise _with_hint(error, event)
        self._store.append(asked)
        with suppress(StoreError):  # they are in the log, and will be folded later
            self.sync()

    def _control(self, event: e.Control) -> None:
        """Try a control, write it to the log, and apply it."""
        self.control([event])

    @property
    def mode(self) -> str:
        """Whether the policy's arm is returned: "live", "shadow" or "off"."""
        return self._fold.mode

    def set_mode(self, mode: str, *, by: str = "") -> None:
        """Change the mode to "live", "shadow" or "off"; `by` says in the log who asked for it."""
        self._control(e.ModeSet(mode=mode, by=by))

    def set_fallback(self, arm: str | None, *, by: str = "") -> None:
        """Return this arm where the policy's is not returned."""
        self._control(e.FallbackSet(arm=arm, by=by))

    def pin(self, arm: str | msgspec.UnsetType | None = msgspec.UNSET, *, by: str = "") -> None:
        """Choose this arm for every request, until `pin(None)`."""
        self._control(e.Pinned(arm=pinned(arm), by=by))

    def pause(self, arm: str, *, by: str = "") -> None:
        """Do not choose an arm until `resume`."""
        self._control(e.Paused(arm=arm, by=by))

    def drain(self, arm: str, *, by: str = "") -> None:
        """Choose an arm only for keys that are on it already, until `resume`."""
        self._control(e.Drained(arm=arm, by=by))

    def resume(self, arm: str, *, by: str = "") -> None:
        """Choose a paused or drained arm again."""
        self._control(e.Resumed(arm=arm, by=by))

    def share(self, arm: str, *, least: float = 0.0, most: float = 1.0, by: str = "") -> None:
        """Give an arm at least and at most these shares of the pulls."""
        self._control(
            e.ShareSet(arm=arm, least=python_number(least), most=python_number(most), by=by)
        )

    def set_attributes(
        self, arm: str, /, *, by: str = "", error: float | None = None, **known: float | str
    ) -> None:
        """Change known attributes of an arm, such as its price; what was learned is revalued.

        See `Policy.set_attributes` for `error`.
        """
        accepted = _error(error)
        self._control(e.AttributesSet(arm=arm, attributes=_plain(known), error=accepted, by=by))

    def add_arm(self, arm: str, /, *, by: str = "", **known: float | str) -> None:
        """Add an arm, with its attributes if arms have any."""
        self._control(e.ArmAdded(arm=arm, attributes=_plain(known), by=by))

    def remove_arm(self, arm: str, /, *, by: str = "") -> None:
        """Remove an arm and what was learned about it; the log keeps its events."""
        self._control(e.ArmRemoved(arm=arm, by=by))

    def set_reward(
        self,
        reward: str,
        *,
        failure: float | str | None = None,
        error: float | None = None,
        relearn: bool = False,
        by: str = "",
    ) -> None:
        """Use another formula from now on, without forgetting what was learned.

        Parameters
        ----------
        reward
            The other formula.
        failure
            The other reward of a failure; the present one by default.
        error
            Accept estimates that are off by up to this much, where states were merged or sketched.
        relearn
            Learn all outcomes of the log again with this formula, from the first on.  That is exact
            for every policy, and takes as long as observing them.  Decisions go on meanwhile.
        by
            Who asked for it, for the log.
        """
        told = None if failure is None else python_number(failure)
        if flag("relearn", relearn):
            if error is not None:
                raise ParameterError("learning again is exact; pass relearn or error, not both")
            self._learn_again(reward, told, by)
            return
        self._control(e.RewardSet(reward=reward, failure=told, error=_error(error), by=by))

    def _learn_again(self, reward: str, failure: float | str | None, by: str) -> None:
        self._check()
        if by:
            text("by", by)
        self.sync()
        problem = self._fold.policy.problem
        if failure is not None and problem.failure is None:
            raise ParameterError(
                f"failure={shown(failure)} was given, but pulls of this problem do not fail"
            )
        other = problem.with_reward(reward, failure=failure)
        self._relearn(other, self._new_policy(other), reward, by)
        with suppress(StoreError):  # it is in the log, and will be folded later
            self.sync()

    def _new_policy(self, problem: Problem) -> Policy:
        """Return a policy for another problem, as it was asked for."""
        asked, present = self._fold.asked["policy"], self._fold.policy
        if asked["name"] == type(present).__name__:  # which may be a class of the caller's own
            return present.fresh(problem)
        return policy_for(problem, asked)[0]


def _with_hint(error: OnepullError, event: e.Control) -> OnepullError:
    """Return the error of a change, with a hint at the alternative if there is one."""
    if isinstance(event, e.RewardSet) and isinstance(error, ParameterError):
        hint = "or pass relearn=True to learn all outcomes of the log again"
        return ParameterError(f"{error}; {hint}")
    return error


def _error(error: Any) -> float | None:
    return None if error is None else number("error", error, above=0.0, at_least=True)


def _plain(known: dict[str, float | str]) -> dict[str, e.FieldValue]:
    return {name: python_number(value) for name, value in known.items()}
