"""The base class of all policies."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, ClassVar, Self

import msgspec
import numpy as np

from onepull.arms import arm_names
from onepull.atomic_files import path_of, write
from onepull.checks import number, restored, shown, some, whole_number
from onepull.errors import InputError, MergeError, ParameterError, SaveFileError, UnknownArm
from onepull.html import block, names, printable, table
from onepull.policies import savefile
from onepull.policies.batches import columns_of, rows
from onepull.policies.controls import Controls, Narrowed, narrowed, saved_controls
from onepull.policies.explanation import ArmExplanation, Explanation, bonus_of, tie_of
from onepull.policies.fleet.fleet import Fleet
from onepull.policies.fleet.joining import fleet_for
from onepull.policies.fleet.updates import (
    Absorbed,
    FleetState,
    Identity,
    Updates,
    check_identity,
    checked_name,
    checked_versions,
)
from onepull.policies.loaded import Loaded, changes
from onepull.policies.pull import Pull
from onepull.policies.pull_counts import PullCounts
from onepull.policies.request import Request
from onepull.policies.saved_names import kind_saved_as, saved_name
from onepull.policies.sharing.knowledge import Knowledge
from onepull.policies.stats import Stats, stats_of
from onepull.policies.ties import best_of, drawn, even, foremost
from onepull.policies.traits import Traits
from onepull.problem import Problem
from onepull.spaces import FAILED, Interval
from onepull.statistics import UNPULLED

MOST_TRIALS = 10**12  # for which storage is computed


class Policy(ABC):
    """Chooses an arm for each request and learns from the feedback of pulls.

    A policy gives each arm an index and chooses the arm with the highest one.  A tie goes to
    the first arm, or to one drawn at random if the policy has a seed.  Policies whose index is
    capped at the highest reward tie often; they prefer the arm with the fewest pulls.  A
    randomised policy draws its arm.

    A caller can rely on this:

    - `choose` and `explain` do not change what was learned.  You can call them any number of
      times, and a pull does not have to be observed.
    - `observe` may come late, in any order, in batches, or never.  If it comes late, use
      `pull`, or `pulled` and `gave_up`, to report pulls in flight.  These are not saved and
      not merged.
    - A call that raises an exception changes nothing.
    - `save` and `load` restore the same policy bit for bit.  `merge` adds the observations of
      two policies, as if one policy had made them all.  Members of a fleet (`join`) exchange
      `updates`, in any order and any number of times, and no pull counts twice.
    - `pause`, `pin` and `share` change which arms may be chosen, and nothing that was learned.
    - Call a policy from one thread at a time.  It holds no locks, files or threads.

    To write your own policy, pass the `Knowledge` that it learns to `__init__`, and define
    `_indices` and `parameters`.  Or subclass `MeanPolicy`, `StatePolicy` or `TurnPolicy` and
    pass a rule, which the simulator compiles.  Declare unusual properties in `traits`, and run
    the checks of `onepull.testing` on it.

    Attributes
    ----------
    traits
        How the policy differs from a usual one.
    guarantee
        What is known about its regret, in one sentence.
    """

    traits: ClassVar[Traits] = Traits()
    guarantee: ClassVar[str] = "no bound is known"
    _unseen: ClassVar[str] = "never pulled"  # the reason given for an infinite index

    def __init__(
        self, knowledge: Knowledge, *, seed: int | np.random.Generator | None = None
    ) -> None:
        low = knowledge.problem.payoff.whole_range[0]
        if math.isinf(low) and not self.traits.needs_no_lowest_reward:
            raise ParameterError(
                f"{type(self).__name__} needs a lowest reward, and this one has none: bound the "
                "states, for example with Interval(0, 30, outside='clip'), or use "
                "recommended(problem)"
            )
        self._knowledge = knowledge
        self._counts = PullCounts(len(knowledge.problem.arms))
        self._controls: Controls | None = None  # None if none is set, which is quick to test
        self._fleet: Fleet | None = None
        self._loaded: Loaded | None = None
        self._generator = savefile.seeded(seed)
        if self.traits.randomised and self._generator is None:
            raise ParameterError(
                f"{type(self).__name__} is randomised and needs a seed or a generator, given None"
            )
        self._set_problem(knowledge.problem)

    def _set_problem(self, problem: Problem) -> None:
        for _ in range(len(problem.arms) - len(self._counts.observed)):
            self._counts.add_arm()
        self.problem = problem
        self._arms = problem.arms
        self._everyone = range(len(problem.arms))
        self._position = {arm: j for j, arm in enumerate(problem.arms)}
        self._clips = [
            (name, space)
            for name, space in problem.state.items()
            if isinstance(space, Interval) and space.clips
        ]

    def _switch(self, problem: Problem, change: Callable[[Knowledge], None]) -> None:
        """Switch to a problem with other arms or attributes; `change` tells what is known."""
        if self._fleet is None:
            change(self._knowledge)
        else:  # On copies, since what other members told may not fit.
            knowledge, fleet = self._knowledge.copy(), self._fleet.copy()
            change(knowledge)
            fleet.change_arms(problem)
            self._knowledge, self._fleet = fleet.rebuilt(knowledge), fleet

    # Defined by each policy

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The keyword arguments that recreate this policy, as plain values."""

    def _written(self) -> dict[str, Any]:
        """Return the parameters in the form that a save file stores."""
        return self.parameters

    def _look(self, context: Mapping[str, Any]) -> Any:
        """Return what the decision is made from; raises InputError if the context is invalid."""
        self.problem.context.exactly(context)

    @abstractmethod
    def _indices(self, request: Request) -> Any:
        """Return the index of each arm, as a list or an array."""

    def _leader(self, request: Request) -> int:
        """Return the position of the allowed arm with the highest index."""
        return self._foremost(request, self._indices(request))[0]

    def _estimates(self, request: Request) -> Sequence[float | None]:
        """Return the estimated reward of each arm, None if the policy has no estimate."""
        del request
        return [None] * len(self._arms)

    def _chances(self, request: Request) -> Sequence[float] | None:
        """Return the probability of choosing each allowed arm, or None if it is unknown."""
        best = self._foremost(request, self._indices(request))
        return even(best if self._generator is not None else best[:1], request.allowed)

    def _draw(self, request: Request) -> int:
        """Return the position of an allowed arm, drawn with the probabilities of `_chances`."""
        chances = self._chances(request)
        if chances is None:
            raise NotImplementedError(f"{type(self).__name__} must define _draw or _chances")
        return drawn(request.allowed, chances, self._generator)

    def _draw_with_chance(self, request: Request) -> tuple[int, float | None]:
        """Return what `_draw` returns, and its probability; None if that is not known."""
        arm = self._draw(request)
        chances = self._chances(request)
        return arm, None if chances is None else float(chances[request.allowed.index(arm)])

    def _estimate(self, request: Request, arm: int) -> float | None:
        """Return the estimated reward of one arm, None if the policy has no estimate."""
        return self._told(request)[arm]

    def _why(self) -> str:
        """Return the usual reason for a choice, such as "highest index"."""
        return "highest index"

    # Choosing

    def _narrowed(self, eligible: Collection[str] | None) -> Narrowed:
        """Return the arms that may be chosen: those eligible, as far as the controls leave them."""
        allowed = self._everyone if eligible is None else self._positions(eligible)
        if self._controls is None:
            return Narrowed(allowed, {}, "")
        counts = self._counts
        since = zip(counts.shared or (), counts.in_flight, strict=False)
        return narrowed(self._controls, self._position, allowed, [m + w for m, w in since])

    def choose(self, /, *, eligible: Collection[str] | None = None, **context: Any) -> str:
        """Return the arm to pull for a context.

        Parameters
        ----------
        eligible
            The arms that may be pulled for this request; all arms by default.
        context
            All context fields by name.
        """
        if eligible is None and self._controls is None:  # as `_narrowed` returns it
            allowed: Sequence[int] = self._everyone
        else:
            allowed = self._narrowed(eligible).allowed
        request = tuple.__new__(Request, (context, self._look(context), allowed))  # quicker
        if self._generator is None:
            return self._arms[self._leader(request)]
        return self._arms[self._draw(request)]

    def explain(self, /, *, eligible: Collection[str] | None = None, **context: Any) -> Explanation:
        """Return each arm's estimate, bonus, index and probability, the choice and the reason."""
        left = self._narrowed(eligible)
        request = Request(context, self._look(context), left.allowed)
        indices = [float(index) for index in self._indices(request)]
        all_pulls, trials = self._knowledge.seen(request.context)
        known = [1.0] if len(left.allowed) == 1 else self._chances(request)
        chances = dict(zip(request.allowed, known, strict=True)) if known else {}
        allowed = set(request.allowed)
        some = self._knowledge.in_flight_in(context)
        in_flight = self._counts.in_flight if some is None else some
        columns = (all_pulls, in_flight, self._told(request), indices)
        rows = [
            ArmExplanation(
                arm=arm,
                pulls=pulls,
                estimate=estimate if estimate is None or math.isfinite(estimate) else None,
                bonus=bonus_of(index, estimate),
                index=index,
                eligible=j in allowed,
                chance=chances.get(j, 0.0) if known else None,
                in_flight=waiting,
                control=left.by_arm.get(j, ""),
            )
            for j, (arm, pulls, waiting, estimate, index) in enumerate(
                zip(self._arms, *columns, strict=True)
            )
        ]
        return Explanation(
            policy=type(self).__name__,
            context=self.problem.context.fields(self.problem.context.read(context)),
            trial=trials + 1,
            arms=rows,
            arm=next((row.arm for row in rows if row.chance == 1.0), None),
            reason=left.reason or f"{self._reason(request, indices)}{left.note(self._arms)}",
        )

    def estimates(self, /, **context: Any) -> list[float | None]:
        """Return the estimated reward of each arm in a context, None if there is no estimate."""
        return list(self._told(Request(context, self._look(context), self._everyone)))

    def indices(self, /, **context: Any) -> list[float]:
        """Return the index of each arm in a context; infinite for an arm that must go first."""
        request = Request(context, self._look(context), self._everyone)
        return [float(index) for index in self._indices(request)]

    def _told(self, request: Request) -> Sequence[float | None]:
        """Return the estimates without what is assumed of arms that have not answered yet."""
        estimates = self._estimates(request)
        unanswered = self._knowledge.unanswered(request.context)
        return [UNPULLED if j in unanswered else estimate for j, estimate in enumerate(estimates)]

    def _reason(self, request: Request, indices: list[float]) -> str:
        """Return why the arm is chosen."""
        best = best_of(indices, request.allowed)
        some = len(request.allowed) < len(self._arms)
        among = ", among those eligible" if some else ""
        why = self._unseen if indices[best[0]] == UNPULLED else f"{self._why()}{among}"
        if len(best) == 1:
            return why
        left = len(self._foremost(request, indices))
        return f"{why}, {tie_of([self._arms[j] for j in best], left, draws=self.draws)}"

    def _foremost(self, request: Request, indices: Any) -> list[int]:
        """Return the allowed arms that tie for the highest index, after breaking ties by pulls."""
        by_pulls = self.traits.breaks_ties_by_pulls
        pulls = self._knowledge.seen(request.context)[0] if by_pulls else None
        return foremost(indices, request.allowed, pulls)

    def _positions(self, eligible: Collection[str]) -> Sequence[int]:
        if isinstance(eligible, str):
            raise InputError(f"eligible takes a list of arms, given the text {shown(eligible)}")
        try:
            arms = iter(eligible)
        except TypeError:
            raise InputError(f"eligible takes a list of arms, given {shown(eligible)}") from None
        positions = sorted({self._find(arm) for arm in arms})
        if not positions:
            raise InputError("eligible needs at least one arm, given none")
        return positions

    def _find(self, arm: Any) -> int:
        try:
            return self._position[arm]
        except (KeyError, TypeError):
            raise UnknownArm(f"unknown arm {shown(arm)}; the arms are {some(self._arms)}") from None

    # Learning

    def pull(self, /, *, eligible: Collection[str] | None = None, **context: Any) -> Pull:
        """Return a pull for `with`, which chooses, counts in flight, and observes or gives up.

        >>> from onepull import DCB, Finite, Interval
        >>> policy = DCB(Problem(
        ...     arms=["a", "b"], context={"y": Finite([1])}, state={"x": Interval(0, 1)},
        ...     reward="x * y",
        ... ))
        >>> with policy.pull(y=1) as pull:
        ...     pull.observe(x=0.5)
        >>> policy.estimates(y=1)
        [0.5, inf]
        """
        return Pull(self, eligible, context)

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

        It is ignored if no pull is in flight.
        """
        # Not an error: a late answer to a pull given up earlier may have been counted instead.
        position = self._find(arm)
        self._knowledge.expect(position, context, -1)
        self._counts.expect(position, -1)

    def observe(
        self, arm: str, *, reward: float | None = None, failed: bool | float = False, **fields: Any
    ) -> None:
        """Learn from a pull of `arm`.

        Pass the state fields by name.  You may also pass the context fields; policies that
        learn from rewards require them.  If you did not see the state, pass the context fields
        and the `reward`.  A policy that learns from states then needs a reward that determines
        the state.  If the pull failed, pass `failed=True` and no state.
        """
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

    # Operating

    @property
    def controls(self) -> Controls:
        """What was asked with `pause`, `pin` and `share`."""
        set_ = self._controls or Controls()
        return Controls(set_.paused, set_.pinned, dict(set_.shares))

    def pause(self, arm: str) -> None:
        """Do not choose an arm until `resume`; what was learned is kept, and it still learns."""
        name = self._arms[self._find(arm)]
        self._control(self.controls.with_paused(name, self._arms, paused=True))

    def resume(self, arm: str) -> None:
        """Choose a paused arm again; ignored if it is not paused."""
        name = self._arms[self._find(arm)]
        self._control(self.controls.with_paused(name, self._arms, paused=False))

    def pin(self, arm: str | None) -> None:
        """Choose this arm for every request, until `pin(None)`; see `Controls`."""
        name = None if arm is None else self._arms[self._find(arm)]
        asked = self.controls
        self._control(Controls(asked.paused, name, asked.shares))

    def share(self, arm: str, *, least: float = 0.0, most: float = 1.0) -> None:
        """Give an arm at least and at most these shares of the pulls; see `Controls`.

        Shares of 0 and 1, the defaults, remove the limits.

        >>> from onepull import DCB, Finite, Interval
        >>> policy = DCB(Problem(
        ...     arms=["a", "b"], context={"y": Finite([1])}, state={"x": Interval(0, 1)},
        ...     reward="x * y",
        ... ))
        >>> policy.observe_many(["a"] * 50 + ["b"] * 50, x=[0.9] * 50 + [0.1] * 50)
        >>> policy.share("b", least=0.2)
        >>> arms = []
        >>> for _ in range(10):
        ...     arms.append(policy.choose(y=1))
        ...     policy.observe(arms[-1], x=0.5)
        >>> "".join(arms)
        'aaaabaaaab'
        """
        name = self._arms[self._find(arm)]
        self._control(self.controls.with_share(name, least, most))

    def stats(self) -> Stats:
        """Return how often each arm was pulled, what became of it, and its mean state."""
        states = [self._knowledge.mean_state(j) for j in self._everyone]
        return stats_of(type(self).__name__, self._arms, self._all_counts, states)

    @property
    def _all_counts(self) -> PullCounts:
        """The counts of all members of a fleet together."""
        return self._counts if self._fleet is None else self._fleet.counted(self._counts)

    @property
    def clock(self) -> Callable[[], float] | None:
        """Tells the time of observations for `stats`, such as `time.time`; None by default.

        Times are not saved, so that a save file depends on the observations alone.
        """
        return self._counts.clock

    @clock.setter
    def clock(self, clock: Callable[[], float] | None) -> None:
        if clock is not None and not callable(clock):
            raise ParameterError(
                f"clock must be a function such as time.time, or None, given {shown(clock)}"
            )
        self._counts.keep_times(clock)

    def _control(self, asked: Controls) -> None:
        """Use other controls; shares are counted anew."""
        if asked != self.controls:
            self._controls = asked or None
            self._counts.share(anew=bool(asked.shares))

    # Adding and removing arms

    def add_arm(self, arm: str, **attributes: float | str) -> None:
        """Add an arm that has never been pulled; the other arms keep what was learned.

        If arms have attributes, pass those of the new arm by name.
        """
        if isinstance(arm, str) and arm in self._position:  # type: ignore[redundant-expr]
            raise InputError(f"arm {arm!r} already exists; the arms are {some(self._arms)}")
        arms: Any = arm_names([*self._arms, arm])
        if self.problem.attributes or attributes:
            arms = {name: self.problem.attributes.get(name, {}) for name in arms}
            arms[arm] = attributes
        problem = self.problem.with_arms(arms)
        self._check_range(problem)
        self._switch(problem, lambda knowledge: knowledge.change_arms(problem))
        self._set_problem(problem)

    def set_attributes(self, arm: str, **attributes: float | str) -> None:
        """Change attributes of an arm, such as its price; what was learned of it stays.

        This works for policies that store states.  They compute the rewards of old states anew.

        >>> from onepull import IMED, Finite
        >>> policy = IMED(Problem(
        ...     arms={"a": {"price": 1}, "b": {"price": 2}},
        ...     state={"x": Finite([0, 5])},
        ...     reward="x - price",
        ... ))
        >>> policy.observe_many(["a", "b"], x=[5, 5])
        >>> policy.set_attributes("b", price=0)
        >>> policy.estimates()
        [4.0, 5.0]
        """
        self._find(arm)
        known: Any = {name: dict(given) for name, given in self.problem.attributes.items()}
        names = set(known.get(arm, {}))
        if stray := set(attributes) - names:
            raise InputError(
                f"unknown attribute {some(sorted(stray))} of arm {arm!r}; "
                f"it has {some(sorted(names)) or 'none'}"
            )
        problem = self.problem.with_arms({**known, arm: {**known[arm], **attributes}})
        self._check_range(problem)
        self._switch(problem, lambda knowledge: knowledge.set_attributes(problem))
        self._set_problem(problem)

    def _check_range(self, problem: Problem) -> None:
        """Raise InputError if another range of the reward would change what was learned."""
        old, new = self.problem.payoff.whole_range, problem.payoff.whole_range
        if self._knowledge.in_units_of_range and old != new:
            raise InputError(
                f"{type(self).__name__} stores rewards in units of their range, which would "
                f"change from {old[0]:g} to {old[1]:g} into {new[0]:g} to {new[1]:g}; start a new "
                "policy"
            )

    def remove_arm(self, arm: str) -> None:
        """Remove an arm and what was learned about it; the other arms keep theirs."""
        gone = self._find(arm)
        name = self._arms[gone]
        if len(self._arms) == 1:
            raise InputError(f"arm {arm!r} is the only one left and cannot be removed")
        problem = self.problem.with_arms([a for a in self._arms if a != arm])
        self._check_range(problem)
        self._switch(problem, lambda knowledge: knowledge.change_arms(problem, gone))
        self._counts.remove_arm(gone)
        self._set_problem(problem)
        self._control(self.controls.without(name))

    # Merging, saving and loading

    def merge(self, other: Policy) -> None:
        """Add what another policy of the same class, problem and parameters has learned.

        The two must have learned from different pulls; a shared pull would count twice.
        """
        if not isinstance(other, Policy):
            raise MergeError(f"only a policy can be merged, given {shown(other)}")
        if type(other) is not type(self):
            raise MergeError(
                f"{type(other).__name__} cannot be merged into {type(self).__name__}, "
                "only the same policy"
            )
        if other is self:
            raise MergeError("a policy cannot be merged with itself")
        mine, theirs = self.problem, other.problem
        if set(mine.arms) != set(theirs.arms):
            raise MergeError(
                f"the arms differ: {some(sorted(set(mine.arms) ^ set(theirs.arms)))} "
                "on one side only"
            )
        if mine.with_arms(theirs.arms) != theirs:
            raise MergeError("the problems differ in context, state, reward or attributes of arms")
        if self.parameters != other.parameters:
            raise MergeError(f"the parameters differ: {self.parameters} and {other.parameters}")
        if self._fleet is not None or other._fleet is not None:
            raise MergeError(
                "the members of a fleet exchange updates instead: "
                "one.absorb(other.updates(since=one.versions))"
            )
        positions = [other._position[arm] for arm in mine.arms]
        self._knowledge.merge(other._knowledge, positions)
        self._counts.merge(other._counts, positions)

    # Learning from a fleet

    def join(self, name: str) -> None:
        """Join a fleet: processes that each run this policy and learn from each other's pulls.

        Give every process a name of its own each time it starts, such as its host and start
        time.  What was learned before is kept, and counts once even if several members start
        from the same file.  Exchange `updates` as often as you like:

        >>> from onepull import DCB, Finite, Interval
        >>> problem = Problem(
        ...     arms=["a", "b"], context={"y": Finite([1])}, state={"x": Interval(0, 1)},
        ...     reward="x * y",
        ... )
        >>> one, two = DCB(problem), DCB(problem)
        >>> one.join("host-1")
        >>> two.join("host-2")
        >>> one.observe("a", x=0.5)
        >>> two.observe("b", x=1.0)
        >>> one.absorb(two.updates(since=one.versions))
        Absorbed(versions={'host-2': 1}, unused_arms=())
        >>> one.absorb(two.updates())  # nothing counts twice
        Absorbed(versions={}, unused_arms=())
        >>> one.estimates(y=1), one.versions
        ([0.5, 1.0], {'host-1': 1, 'host-2': 1})
        """
        if self._fleet is None:
            # Not a copy of what is known, which may have pulls in flight.
            empty = self._rebuilt(self.problem, self._written())
            fleet = fleet_for(name, empty._knowledge)  # noqa: SLF001 - of the same class
            if not self.is_fresh:
                fleet.start_with(self._knowledge, self._counts)
            self._fleet = fleet
        elif checked_name(name) != self._fleet.name:
            self._fleet.rename(name, self._counts)

    @property
    def versions(self) -> dict[str, int]:
        """The version of every member's contribution that this policy has learned from."""
        return {} if self._fleet is None else self._fleet.versions()

    def updates(self, since: Mapping[str, int] | None = None) -> bytes:
        """Return what this member of a fleet can tell others, of all members that it knows.

        Parameters
        ----------
        since
            The `versions` of the one who will absorb it, to leave out what it knows; everything
            by default.
        """
        told = self._in_fleet().told(self._counts, checked_versions(since))
        return savefile.encode(Updates(self._identity(), told), savefile.UPDATES)

    def absorb(self, updates: bytes) -> Absorbed:
        """Learn from the updates of another member of the fleet; return what was new.

        They may come in any order and any number of times.
        """
        fleet = self._in_fleet()
        told = savefile.decode(updates, "updates", Updates, savefile.UPDATES)
        check_identity(savefile.plain(self._identity()), told.identity)
        self._fleet, self._knowledge, new = fleet.absorbed(told.told, self._counts, self._knowledge)
        return new

    def _in_fleet(self) -> Fleet:
        if self._fleet is None:
            raise MergeError('this policy is not in a fleet; call policy.join("a name") first')
        return self._fleet

    def _identity(self) -> Identity:
        """Return what must be the same in all members of a fleet: all but what is said of arms."""
        of_arms = ("arms", "words")
        problem = {name: part for name, part in self._problem_out().items() if name not in of_arms}
        return Identity(saved_name(type(self)), self._written(), problem)

    def _problem_out(self) -> dict[str, Any]:
        """Return the problem as plain values, without a reward that is a Python callable."""
        problem = self.problem
        return problem.to_dict() if problem.reward.is_formula else problem.outline()

    @property
    def is_fresh(self) -> bool:
        """Whether nothing has been observed yet."""
        return self._knowledge.is_fresh

    @property
    def learns(self) -> bool:
        """Whether observations change what is chosen."""
        return self._knowledge.learns

    @property
    def draws(self) -> bool:
        """Whether the policy draws at random, even if only to break ties."""
        return self._generator is not None

    @property
    def counts_in_flight(self) -> bool:
        """Whether a pull counts as soon as `pulled` reports it."""
        return self._knowledge.counts_in_flight

    def reseed(self, seed: int | np.random.Generator) -> None:
        """Use another random generator from now on."""
        self._generator = savefile.seeded(seed)

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
            whole_number("trials", trials, least=0, most=MOST_TRIALS)
        )

    def to_bytes(self) -> bytes:
        """Return the policy as the contents of a save file."""
        return savefile.encode(
            savefile.Saved(
                policy=saved_name(type(self)),
                parameters=self._written(),
                problem=self._problem_out(),
                learned=self._knowledge.state(),
                generator=savefile.generator_state(self._generator),
                counts=self._counts.state(),
                controls=self._controls,
                fleet=None if self._fleet is None else self._fleet.state(self._counts),
            )
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a JSON file, atomically."""
        write(path, self.to_bytes())

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, problem: Problem | None = None, error: float = 0.0
    ) -> Self:
        """Read a policy from a file; see `from_bytes`."""
        text = path_of(path).read_bytes()
        return cls.from_bytes(text, problem=problem, error=error, where=str(path))

    @classmethod
    def from_bytes(
        cls,
        text: bytes,
        *,
        problem: Problem | None = None,
        error: float = 0.0,
        where: str = "saved policy",
    ) -> Self:
        """Build a policy from the contents of a save file.

        `Policy.load` reads any policy, `DCB.load` only a DCB.  Import the module of a class of your
        own first: the file names it, so that two classes of one name are told apart.  If the
        reward is a Python callable, it is not in the file: pass the problem.

        The problem may have more arms, more contexts and wider bounds than the saved one, if
        what was learned stays exact; `loaded` then says what changed.  Otherwise SaveFileError
        says why not.  Pass an `error` to accept estimates that are off by up to this much, where
        bounds have grown between which states are sketched.
        """
        accepted = number("error", error, above=0.0, at_least=True)
        saved = savefile.decode(text, where)
        try:
            kind = kind_saved_as(saved.policy, cls, Policy)
            before, given = savefile.problems_of(saved, problem)
            policy: Self = kind._rebuilt(before, saved.parameters)  # noqa: SLF001 - a subclass's own
            if saved.fleet is not None:
                named = restored(FleetState, saved.fleet, "members of the fleet").name
                policy._fleet = fleet_for(named, policy._knowledge.copy())
            policy._knowledge.restore(saved.learned)
            if saved.counts is not None:
                policy._counts.restore(saved.counts)
            if saved.controls is not None:
                policy._controls = saved_controls(saved.controls, policy._arms) or None
            policy._check_loop()
            if policy._fleet is not None:
                policy._fleet.restore(saved.fleet, policy._counts)
            if saved.generator is not None:
                policy._generator = savefile.generator_from(saved.generator)
            policy = policy._moved_to(given, accepted)
        except (
            AttributeError,
            KeyError,
            TypeError,
            ValueError,
        ) as reason:  # onepull's errors are ValueErrors
            told = printable(str(reason), keep="\n")
            raise SaveFileError(f"{where}: {told}") from reason
        return policy

    def _moved_to(self, problem: Problem, accepted: float) -> Self:
        """Return the policy for a problem with wider spaces or other arms, and say what changed."""
        clipped = sum(self._counts.clipped)
        account = changes(self.problem, problem, self.trials, clipped)
        if not account:
            return self
        twin = self
        if account.spaces:
            if self._fleet is not None:
                raise SaveFileError("a member of a fleet cannot be loaded into another problem")
            own: Any = self.problem.attributes or self._arms
            twin = self._rebuilt(problem.with_arms(own), self._written())
            try:
                inherit = twin._knowledge.inherit  # noqa: SLF001 - of the same class
                error = inherit(self._knowledge, accepted)
            except ParameterError as reason:
                raise SaveFileError(
                    "what was learned cannot be kept exactly in the given problem: "
                    f"{reason} ({account.all_spaces})"
                ) from reason
            account = msgspec.structs.replace(account, error=error)
            twin._continue(self)  # noqa: SLF001 - of the same class
        for arm in account.changed:
            twin.set_attributes(arm, **problem.attributes[arm])
        for arm in account.added:
            twin.add_arm(arm, **problem.attributes.get(arm, {}))
        twin._loaded = account  # noqa: SLF001 - of the same class
        return twin

    @property
    def loaded(self) -> Loaded | None:
        """What changed if the policy was loaded into another problem than it was saved for."""
        return self._loaded

    def _check_loop(self) -> None:
        """Raise SaveFileError unless pulls are counted for shares, if there are any."""
        asks = self._controls is not None and bool(self._controls.shares)
        if asks != (self._counts.shared is not None):
            raise SaveFileError("the saved counts of pulls do not fit the saved controls")

    def _continue(self, other: Policy) -> None:
        """Draw, count and control as another policy does that has learned the same."""
        self._generator = deepcopy(other._generator)
        self._counts.restore(other._all_counts.state())
        self._controls = other._controls

    @classmethod
    def _rebuilt(cls, problem: Problem, parameters: dict[str, Any]) -> Self:
        """Build a policy from its parameters."""
        build: Any = cls  # the constructor of a policy takes the problem and the parameters
        policy: Self = build(problem, **parameters)
        return policy

    def __reduce__(self) -> Any:
        """Pickle the policy as its save file together with the problem."""
        try:
            return partial(type(self).from_bytes, problem=self.problem), (self.to_bytes(),)
        except ParameterError:  # a genie's distributions cannot be saved, but can be pickled
            return object.__new__, (type(self),), self.__dict__

    def __repr__(self) -> str:
        """Return the class, the parameters and the number of trials."""
        return self._shown(self.parameters)

    def _repr_html_(self) -> str:
        """Return the policy as a table for a notebook."""
        rows = [
            ("policy", repr(self).strip("<>")),
            ("arms", names(self._arms)),
            (
                "context",
                names(list(self.problem.context) if self.problem.context.has_fields else []),
            ),
            ("state", names(list(self.problem.state))),
            ("storage", f"{self.storage:,} numbers"),
        ]
        return block(table(type(self).__name__, (), rows, text_columns=2))

    def _shown(self, parameters: Mapping[str, Any]) -> str:
        stated = "".join(f", {name}={value!r}" for name, value in parameters.items())
        arms = f"{len(self._arms)} arm{'s' * (len(self._arms) > 1)}"
        return f"<{type(self).__name__}({arms}{stated}) after {self.trials} trials>"


def _truth(failed: Any) -> bool:
    if isinstance(failed, (bool, np.bool_)) or failed in (0, 1):
        return bool(failed)
    raise InputError(f"failed must be True or False, given {shown(failed)}")


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
