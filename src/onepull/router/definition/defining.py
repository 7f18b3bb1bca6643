"""How a router opens a log: it writes its definition, and finds what has changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec.structs import replace

from onepull.errors import OnepullError, ParameterError, StoreError
from onepull.policies.policy import Policy
from onepull.problem import Problem
from onepull.router.definition.definition import needs_relearning, with_changes
from onepull.router.definition.redefinition import Redefinition, outcomes_of, redefined
from onepull.router.following.background import Background
from onepull.router.following.tending import Tending
from onepull.router.state.fold import Fold
from onepull.store import events as e

ATTEMPTS = 100  # to define a router, while others do so, too


class Wanted(NamedTuple):
    """What a router is opened for."""

    problem: Problem
    build: Callable[[Problem], Policy]
    asked: dict[str, Any]  # the problem, the policy and the settings in plain values
    redefine: bool
    error: float | None  # accepted if estimates change


class Defining(Tending):
    """The part of a router that writes its definition to the log."""

    def _start(self, wanted: Wanted) -> None:
        """Continue from the log, write the definition to it if it is new, and follow the log."""
        self._continue()
        self._define(wanted)
        self._store.follow(self.name, self._after_commit)
        self._background = Background(self, self._poll)
        self._follow_forks()

    def _define(self, wanted: Wanted) -> None:
        """Write the definition to the log if it has none or another one."""
        asked = wanted.asked
        for _ in range(ATTEMPTS):
            if self._fold.asked == asked:
                return
            event, change = self._planned(wanted)
            if self._store.append([event])[0].before is None:  # else another process was faster
                self.redefinition = change
            self.sync()
        if self._fold.asked != asked:
            why = self._fold.last_error or "are there two policies of that name?"
            raise StoreError(
                f"the log of {self.name!r} does not take the definition of "
                f"{asked['policy']['name']}: {why}"
            )

    def _planned(self, wanted: Wanted) -> tuple[e.Defined, Redefinition | None]:
        """Return the definition to write, and what it changes; raises if that is not allowed."""
        problem, build, asked, redefine, accepted = wanted
        text, base = build(problem).to_bytes(), 0
        id_ = str(self._fold.number + 1)
        change = None
        if self._fold.is_defined and (what := needs_relearning(self._fold.asked, asked)):
            present = self._with_changes(wanted)
            if not redefine:
                self._refuse_incomplete(what)
            base = self._fold.sequence
            twin = self._relearned(problem, build(present), base)
            change = redefined(self._fold, twin, asked)
            text = twin.policy.to_bytes()
        elif self._fold.is_defined:
            twin = self._at_present()
            trial = e.Defined(id=id_, policy=b"", asked=asked, error=accepted)
            if (error := twin.apply(trial)) is not None:
                raise error
            change = redefined(self._fold, twin, asked)
        if change is not None and not redefine:
            change.refuse_loss(self.name)
        event = e.Defined(
            id=id_, policy=text, asked=asked, base=base, error=accepted, problem=self.name,
            time=time.time(),
        )  # fmt: skip
        return event, change if change and change.changed else None

    def _with_changes(self, wanted: Wanted) -> Problem:
        """Return a problem with its changes at run time; `redefine` drops what does not fit."""
        problem, present = wanted.problem, self._fold.policy.problem
        try:
            return with_changes(problem, self._fold.asked, wanted.asked, present)
        except OnepullError as error:
            if wanted.redefine:
                return problem
            raise ParameterError(
                f"what was changed at run time in the log of {self.name!r} does not fit the new "
                f"problem: {error}; undo that change first, or `redefine` to drop all of them"
            ) from error

    def _refuse_incomplete(self, what: str) -> None:
        """Raise ParameterError if the first events, which must be learned again, are deleted."""
        if self._store.first_sequence(self.name):
            raise ParameterError(
                f"{what} has changed since the log of {self.name!r} began, and its first events "
                "are deleted, so it cannot be learned again; use another name or another store, or "
                "`redefine` to learn from the events that are left"
            )

    def _relearn(self, problem: Problem, policy: Policy, reward: str, by: str) -> None:
        """Learn all outcomes again with another reward, and write that to the log."""
        if self._store.first_sequence(self.name):
            raise ParameterError(
                f"the first events of the log of {self.name!r} are deleted, so its outcomes cannot "
                "be learned again; pass `error` to revalue what was learned"
            )
        with self._lock:
            base, number, asked = self._fold.sequence, self._fold.number, self._fold.asked
            learned = outcomes_of(self._fold)
        twin = self._relearned(problem, policy, base, with_rewards=False)
        if (kept := outcomes_of(twin)) < learned:
            raise ParameterError(
                f"only {kept:,} of {learned:,} outcomes can be learned again with this reward; one "
                "observed as a reward, without its state, tells nothing about another reward"
            )
        event = e.Defined(
            id=str(number + 1), policy=twin.policy.to_bytes(), asked=asked, base=base,
            reward=reward, by=by, problem=self.name, time=time.time(),
        )  # fmt: skip
        if self._store.append([event])[0].before is not None:
            raise StoreError("another process has changed the problem meanwhile; try again")

    def _relearned(
        self, problem: Problem, policy: Policy, until: int, *, with_rewards: bool = True
    ) -> Fold:
        """Return a new policy after the events up to a number.

        Its reward and its attributes are the present ones from the beginning, so those of the
        past are left out, and so are rewards without a state unless `with_rewards`.
        """
        fold = Fold(problem, self._fold.flights.expires, self._fold.reader)
        fold.policy, known = policy, policy.problem.attributes
        for event in self._store.events(self.name, until=until):
            if isinstance(event, e.ArmAdded):
                fold.apply(replace(event, attributes=known.get(event.arm, event.attributes)))
            elif isinstance(event, e.Observed) and event.state is None and not with_rewards:
                continue
            elif not isinstance(event, (e.Defined, e.Decided, e.AttributesSet, e.RewardSet)):
                fold.apply(event)
        return fold
