"""A router: a problem, a policy and a log."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Never, Self

from onepull.checks import flag, number, some
from onepull.errors import ParameterError, StoreError
from onepull.policies.explanation import Explanation
from onepull.policies.policy import Policy
from onepull.problem import Problem, given_problem
from onepull.router.choosing import Choosing
from onepull.router.controlling import Controlling
from onepull.router.definition.defining import Wanted
from onepull.router.definition.definition import RouterSettings, asked_for, policy_for
from onepull.router.observing import Observing
from onepull.router.pull import RouterPull
from onepull.router.replay.replay import Replay, WhatIf, replayed, what_if
from onepull.router.router_file import read_router_file
from onepull.router.router_stats import IN_MEMORY, RouterStats
from onepull.router.state.expiry import Expiry
from onepull.router.state.fold import Fold, check_mode
from onepull.router.state.plain_values import text
from onepull.store import Store, open_store

DEFAULT_NAME = "default"  # of a problem in a log
CHOOSE_OPTIONS = ("id", "key", "eligible")  # of `choose`


class Router(Choosing, Observing, Controlling):
    """Chooses arms and learns from outcomes, with a log that survives crashes.

    A router can be used by any number of threads, and in asyncio: `choose` never waits for the
    disk, and `observe_async` does not block the loop.  Any number of processes can open the same
    log, and learn together: after the same event all of them are in the same state, bit for bit.

    - **An acknowledged observation counts once.** When `observe` returns, the observation is on
      disk.  Report it again if you are not sure: it is not learned twice.
    - **Decisions are recorded in the background.** A crash may lose the last tenth of a second of
      them.  Their observations can be learned all the same, if they name the arm.
    - **State is what the log says.** A restart, or another process, folds the log and continues.

    Parameters
    ----------
    problem
        The problem.
    policy
        "recommended", the name of a policy, a table such as `{"name": "DCB", "epsilon": 0.01}`,
        or a function that makes a policy for a problem.
    store
        The log: a path of a SQLite file, `postgresql://…`, a `Store`, or None for memory, of which
        nothing is kept after the process ends.
    name
        The name of the problem in the log, which may hold several.  By default it is "default"; if
        the log has only problems with other names, ParameterError names them.
    expires
        After how many seconds a decision without an outcome expires.
    on_expiry
        What that means: "give_up" teaches nothing, "fail" counts as a failure, and a state such
        as `{"seconds": 30}` is learned.  Giving up slow answers biases estimates towards arms that
        are slow, so prefer one of the others where time-outs matter.
    fallback
        The arm to return in the modes "shadow" and "off", and if all eligible arms are paused.
    mode
        "live" returns the policy's arm.  "shadow" returns the fallback and records what the policy
        would have chosen.  "off" returns the fallback and records nothing but observations.
    sticky
        For how many seconds a `key` stays on its arm after its last decision.
    poll
        How often to read what other processes wrote, in seconds.
    snapshot_every
        After how many events to keep a snapshot, so that a start is quick.
    keep
        How many events to keep at least; None keeps all.  Older ones are deleted after a snapshot.
    redefine
        Whether the log may be given to a problem for which nothing that was learned can be kept.
        Without it, that raises ParameterError.
    error
        Accept estimates that are off by up to this much if attributes or the reward are others than
        before.  Without it, what cannot be computed exactly raises ParameterError.

    All arguments but `store`, `name`, `poll`, `redefine` and `error` describe the log.  If one
    process opens it with other ones, all follow, and `redefinition` says what was kept of
    what was learned; it is None if nothing has changed.

    Examples
    --------
    >>> from onepull import Finite, Interval
    >>> problem = Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 4])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... )
    >>> with Router(problem, policy="DCB") as router:
    ...     decision = router.choose(bits=4)
    ...     receipt = router.observe(decision, capacity=3.0)
    ...     again = router.observe(decision, capacity=3.0)
    >>> decision.arm, receipt.learned, again.duplicate
    ('wifi', True, True)
    """

    def __init__(  # noqa: PLR0913 - one for each thing that may be configured
        self,
        problem: Problem,
        *,
        policy: str | Mapping[str, Any] | Callable[[Problem], Policy] = "recommended",
        store: str | os.PathLike[str] | Store | None = None,
        name: str | None = None,
        expires: float = 60.0,
        on_expiry: str | Mapping[str, Any] = "give_up",
        fallback: str | None = None,
        mode: str = "live",
        sticky: float = 300.0,
        poll: float = 0.05,
        snapshot_every: int = 50_000,
        keep: int | None = None,
        redefine: bool = False,
        error: float | None = None,
    ) -> None:
        Expiry.read(on_expiry, given_problem(problem))  # raises if it does not fit
        settings = RouterSettings.checked(
            expires=expires, on_expiry=on_expiry, sticky=sticky, snapshot_every=snapshot_every,
            keep=keep,
        )  # fmt: skip
        pause = number("poll", poll, above=0.0, most=3600.0)
        accepted = None if error is None else number("error", error, above=0.0, at_least=True)
        made, stated = policy_for(problem, policy)
        if taken := [field for field in problem.context if field in CHOOSE_OPTIONS]:
            raise ParameterError(
                f"a router's choose takes {', '.join(CHOOSE_OPTIONS)} itself; call the context "
                f"field {taken[0]!r} something else"
            )
        asked = asked_for(problem, stated, mode, fallback, settings)
        check_mode(made.problem.arms, mode, fallback)
        if name is not None:
            text("name", name)
        opened = open_store(store)
        called = DEFAULT_NAME if name is None else name

        def between(after: int, until: int) -> Iterator[Any]:
            return opened.events(called, after=after, until=until)

        try:
            if name is None:
                _check_default(opened)
            fold = Fold(problem, settings.expires, between)
            super().__init__(
                called, opened, fold, settings, poll=pause, owns_store=opened is not store
            )
            self._start(
                Wanted(
                    problem, lambda one: policy_for(one, policy)[0], asked,
                    redefine=flag("redefine", redefine), error=accepted,
                )
            )  # fmt: skip
        except BaseException:
            if opened is not store:
                opened.close()
            raise

    @classmethod
    def open(cls, path: str | os.PathLike[str], **changed: Any) -> Self:
        """Open the router that a file describes; `changed` are arguments that replace its own.

        The file has the tables `problem`, as `Problem.to_toml` writes it, `policy` with its name
        and parameters, and `router` with the other arguments.  A path of a store is relative to the
        folder of the file.
        """
        stated = read_router_file(path)
        try:
            return cls(**{**stated, **changed})
        except ParameterError as error:
            raise ParameterError(f"{os.fspath(path)}: {error}") from None

    def __repr__(self) -> str:
        """Return its name, its policy and where its log is."""
        policy = type(self._fold.policy).__name__
        where = repr(self._store) if self._store.lasts else IN_MEMORY
        state = "" if self._is_open else ", closed"
        return f"<Router {self.name!r}: {policy}, event {self.sequence:,}, {where}{state}>"

    # Deciding and learning together

    def pull(
        self,
        /,
        *nameless: Never,
        id: str | None = None,  # noqa: A002 - as in choose
        eligible: Collection[str] | None = None,
        key: str | None = None,
        **context: Any,
    ) -> RouterPull:
        """Return a pull for `with`, which chooses, and observes or gives up.

        It takes what `choose` takes.
        """
        if nameless:
            raise self._by_name("pull", nameless)
        return RouterPull(self, {"id": id, "eligible": eligible, "key": key}, context)

    # Reading

    @property
    def problem(self) -> Problem:
        """The problem, as the log says it is now."""
        return self._fold.policy.problem

    @property
    def store(self) -> Store:
        """The log."""
        return self._store

    @property
    def sequence(self) -> int:
        """The number of the last event that this router has folded."""
        return self._fold.sequence

    @property
    def asked(self) -> dict[str, Any]:
        """What the router was last opened with, in plain values."""
        found: dict[str, Any] = self._fold.asked
        return found

    def state(self) -> bytes:
        """Return what the log says up to `sequence`; it is the same bytes in every process."""
        with self._lock:
            return self._fold.state()

    def policy(self) -> Policy:
        """Return a copy of the policy with what it has learned, without pulls in flight."""
        return self._twin().policy

    def explain(
        self, /, *nameless: Never, eligible: Collection[str] | None = None, **context: Any
    ) -> Explanation:
        """Return each arm's estimate, bonus, index and probability, the choice and the reason."""
        if nameless:
            raise self._by_name("explain", nameless)
        self._check()
        with self._lock:
            return self._fold.policy.explain(eligible=eligible, **context)

    def estimates(self, /, *nameless: Never, **context: Any) -> list[float | None]:
        """Return the estimated reward of each arm in a context, None if there is no estimate."""
        if nameless:
            raise self._by_name("estimates", nameless)
        self._check()
        with self._lock:
            return self._fold.policy.estimates(**context)

    @property
    def half_life(self) -> float | None:
        """After how many observations half of a change of an arm is believed to be gone.

        It is infinite if the policy believes that arms do not change, and None if it does not
        learn that.
        """
        with self._lock:
            found: float | None = getattr(self._fold.policy, "half_life", None)
            return found

    def stats(self) -> RouterStats:
        """Return what was decided and learned, the controls, and the health of the log."""
        self._check()
        try:
            last = self._store.last_sequence
        except StoreError:
            last = 0
        with self._lock:
            fold = self._fold
            counts, policy = fold.counts, fold.policy
            source = policy.problem.reward.source
            return RouterStats(
                name=self.name,
                sequence=fold.sequence,
                mode=fold.mode,
                fallback=fold.fallback,
                controls=policy.controls,
                drained=sorted(fold.drained),
                policy=policy.stats(),
                decisions={arm: dict(modes) for arm, modes in counts.decisions.items()},
                outcomes={arm: dict(kinds) for arm, kinds in counts.answers.items()},
                in_flight=len(fold.flights),
                gave_up=counts.gave_up,
                expired=counts.expired,
                late=counts.late,
                clipped=dict(counts.clipped),
                refused=counts.refused,
                lag=max(last - fold.sequence, 0),
                unrecorded=self._store.unrecorded,
                last_observation=counts.last_time or None,
                healthy=self.is_healthy,
                reward=source if isinstance(source, str) else None,
                lasts=self._store.lasts,
            )

    @property
    def is_healthy(self) -> bool:
        """Whether the log can be written and read."""
        return self._is_open and self._store.is_healthy and self._error is None

    def log(self, after: int = 0, limit: int | None = None) -> Iterator[Any]:
        """Yield the events of this problem in order, after a sequence number."""
        self._check()
        left = limit
        while left is None or left > 0:
            batch = self._store.read(self.name, after=after, limit=min(left or 2000, 2000))
            if not batch:
                return
            yield from batch
            after = batch[-1].seq
            left = None if left is None else left - len(batch)

    def replay(
        self,
        *,
        reward: str | None = None,
        policy: str | Mapping[str, Any] | Callable[[Problem], Policy] | None = None,
        since: float | None = None,
        until: float | None = None,
    ) -> Replay:
        """Return what would have been chosen and earned under another formula or policy.

        The states are in the log, so what was pulled is revalued exactly, and no probabilities
        are needed to value what was not.  The policy starts anew, and is shown the logged outcomes
        of the arms that it chooses.  `notes` says what that assumes.  Pins, pauses and shares are
        not replayed.  Nothing changes.

        Parameters
        ----------
        reward
            The other formula; the present one by default.
        policy
            The other policy, as for `Router`; by default the one that the router was asked for.
        since, until
            Replay only decisions and outcomes of these times, in seconds since the epoch.
        """
        self._check()
        problem = self.problem if reward is None else self.problem.with_reward(reward)
        made = self._new_policy(problem) if policy is None else policy_for(problem, policy)[0]
        return replayed(made, self.problem, self._between(since, until))

    def what_if(
        self,
        *,
        reward: str | None = None,
        contexts: Iterable[Mapping[str, Any]] | None = None,
        since: float | None = None,
        until: float | None = None,
    ) -> WhatIf:
        """Return what each arm is worth under another formula, from the states in the log.

        Parameters
        ----------
        reward
            The other formula; the present one by default.
        contexts
            The contexts to look at; those of the logged decisions by default.
        since, until
            Use only events of these times, in seconds since the epoch.
        """
        self._check()
        return what_if(self.problem, reward, self._between(since, until), contexts)

    def _between(self, since: float | None, until: float | None) -> Iterator[Any]:
        low = -math.inf if since is None else number("since", since, above=-math.inf)
        high = math.inf if until is None else number("until", until, above=-math.inf)
        return (event for event in self.log() if low <= event.time <= high)


def _check_default(store: Store) -> None:
    """Raise ParameterError if a log has problems and none with the default name."""
    names = store.problems()
    if names and DEFAULT_NAME not in names:
        raise ParameterError(
            f"the log has no problem {DEFAULT_NAME!r}, but {some(map(repr, names))}; pass "
            f"name={names[0]!r} to go on with that, or name={DEFAULT_NAME!r} to start another one"
        )
