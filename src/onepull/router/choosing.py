"""How a router chooses."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from typing import Any, Never

from onepull.checks import by_name, plain_text, shown
from onepull.errors import ConflictError, ContextError, InputError
from onepull.policies.choice import Choice
from onepull.router.decision import Decision
from onepull.router.following.following import Following
from onepull.router.state.draws import Draw
from onepull.router.state.plain_values import is_plain, python_number, text
from onepull.store import events as e


class Choosing(Following):
    """The part of a router that chooses; it never waits for the disk."""

    def _by_name(self, method: str, given: Iterable[Any]) -> ContextError:
        """Return the error of a context without names."""
        fields = self._fold.policy.problem.context
        return by_name(method, given, fields if fields.has_fields else ())

    def choose(
        self,
        /,
        *nameless: Never,
        id: str | None = None,  # noqa: A002 - the word that callers know
        eligible: Collection[str] | None = None,
        key: str | None = None,
        **context: Any,
    ) -> Decision:
        """Return the arm to pull for a context.

        Parameters
        ----------
        id
            An id of your own for this decision.  If it was used before for the same request, the
            same decision is returned, with `replayed`; for another request, ConflictError is
            raised.
        eligible
            The arms that may be pulled for this request; all arms by default.
        key
            Requests with the same key stay on the same arm, for the sake of its caches.
        context
            All context fields by name.
        """
        self._check()
        if nameless:
            raise self._by_name("choose", nameless)
        for value in context.values():
            if not is_plain(value):
                context = {name: python_number(value) for name, value in context.items()}
                break
        if eligible is not None:
            eligible = _arms(eligible)
        if key is not None:
            text("key", key)
        stored = None if id is None else self._stored(text("id", id))
        now = time.time()
        with self._lock:
            fold = self._fold
            if id is None:
                id = self._ids.next()  # noqa: A001 - the same
            elif (before := stored or fold.flights.get(id)) is not None:
                return _replayed(before, context, eligible, key)
            choice, arm, mode = self._chosen(id, context, eligible, key, now)
            event = e.Decided(
                problem=self.name,
                time=now,
                id=id,
                arm=arm,
                context=context,
                mode=mode,
                chance=choice.chance,
                estimate=choice.estimate,
                reason=choice.reason,
                expires_at=now + fold.flights.expires,
                eligible=eligible,
                key=key,
                choice=None if choice.arm == arm else choice.arm,
            )
            if not fold.flights.was_answered(id):
                fold.policy.pulled(arm, **context)
                fold.flights.add(event, time.monotonic() + fold.flights.expires)
            if mode != "off":
                self._store.record(event)  # before anybody can observe it
        return Decision(
            id, arm, mode, choice.chance, choice.estimate, choice.reason, event.expires_at
        )

    def _chosen(
        self,
        id_: str,
        context: dict[str, Any],
        eligible: tuple[str, ...] | None,
        key: str | None,
        now: float,
    ) -> tuple[Choice, str, str]:
        """Return the policy's choice, the arm to return, and the mode."""
        fold = self._fold
        policy = fold.policy
        if fold.mode != "live":
            return self._beside(id_, context, eligible)
        if key is not None and (arm := self._kept(key, eligible, now)) is not None:
            policy.problem.context.exactly(context)
            return Choice(arm, 1.0, None, "the arm of this key"), arm, "live"
        generator = Draw(id_) if policy.draws else None
        try:
            choice = policy.decide(context, eligible=eligible, generator=generator)
        except InputError:
            if not self._are_all_paused(eligible):
                raise
            arm = self._fallback(eligible)
            return Choice(arm, 1.0, None, "fallback, since all arms are paused"), arm, "live"
        if key is not None:
            self._sticky.put(key, choice.arm, now)
        return choice, choice.arm, "live"

    def _beside(
        self, id_: str, context: dict[str, Any], eligible: tuple[str, ...] | None
    ) -> tuple[Choice, str, str]:
        """Return the fallback, and in shadow mode what the policy would have chosen."""
        fold = self._fold
        arm = self._fallback(eligible)
        if fold.mode == "shadow" and not self._are_all_paused(eligible):
            generator = Draw(id_) if fold.policy.draws else None
            choice = fold.policy.decide(context, eligible=eligible, generator=generator)
            return choice, arm, "shadow"
        fold.policy.problem.context.exactly(context)
        return Choice(arm, 1.0, None, "fallback"), arm, fold.mode

    def _fallback(self, eligible: tuple[str, ...] | None) -> str:
        """Return the fallback; raises InputError if there is none, or if it is not eligible."""
        arm = self._fold.fallback
        if arm is None:
            raise InputError("all arms that may be chosen are paused, and there is no fallback")
        if eligible is not None and arm not in eligible:
            raise InputError(f"the fallback {arm!r} is not among the eligible arms")
        return arm

    def _are_all_paused(self, eligible: tuple[str, ...] | None) -> bool:
        policy = self._fold.policy
        arms = policy.problem.arms if eligible is None else eligible
        paused = policy.controls.paused
        return all(arm in paused for arm in arms) and all(a in policy.problem.arms for a in arms)

    def _kept(self, key: str, eligible: tuple[str, ...] | None, now: float) -> str | None:
        """Return the arm of a key, if it may still be chosen."""
        arm = self._sticky.get(key, now)
        if arm is None or (eligible is not None and arm not in eligible):
            return None
        policy = self._fold.policy
        controls = policy.controls
        is_open = arm not in controls.paused or arm in self._fold.drained
        is_pinned_elsewhere = controls.pinned not in (None, arm)
        return arm if arm in policy.problem.arms and is_open and not is_pinned_elsewhere else None

    def _stored(self, id_: str) -> e.Decided | None:
        """Return the decision that an id had before and that is not in flight here, if any."""
        with self._lock:
            if self._fold.flights.get(id_) is not None:
                return None
        return self._store.decision(self.name, id_)  # type: ignore[no-any-return]  # of its slot


def _replayed(
    before: e.Decided, context: dict[str, Any], eligible: tuple[str, ...] | None, key: str | None
) -> Decision:
    """Return the stored decision; raises ConflictError if it was for another request."""
    if (before.context, before.eligible, before.key) != (context, eligible, key):
        raise ConflictError(
            f"id {shown(before.id)} was used before for another request ({_told(before)}); "
            "use a new id"
        )
    return Decision(
        before.id,
        before.arm,
        before.mode,
        before.chance,
        before.estimate,
        before.reason,
        before.expires_at,
        replayed=True,
    )


def _arms(eligible: Any) -> tuple[str, ...]:
    if isinstance(eligible, str):
        raise InputError(f"eligible takes a list of arms, given the text {shown(eligible)}")
    try:
        return tuple(plain_text(a) if isinstance(a, str) else a for a in eligible)
    except TypeError:
        raise InputError(f"eligible takes a list of arms, given {shown(eligible)}") from None


def _told(before: e.Decided) -> str:
    fields = ", ".join(f"{name}={shown(value)}" for name, value in before.context.items())
    return fields or "no context"
