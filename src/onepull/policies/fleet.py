"""What the members of a fleet tell each other, so that each learns from the pulls of all.

Each member keeps the contribution of every member apart, with a version.  A newer version of a
contribution replaces an older one.  So updates may come in any order, any number of times, and
by way of other members, and no pull counts twice.

There are two kinds of contributions.  Where the order of the observations does not matter, a
contribution is what a policy has learned from the member's own pulls, and contributions are
added.  Where it matters, a contribution is the list of the member's observations.  Each has a
number above all numbers that the member had seen before, and everyone learns the observations
of all members in the order of these numbers, and of the names of the members.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Self

import msgspec
import numpy as np

from onepull.checks import Count, restored, shown
from onepull.errors import MergeError, OnepullError, ParameterError, SaveFileError
from onepull.html import printable
from onepull.policies.pull_counts import PullCounts
from onepull.policies.sharing.knowledge import Knowledge
from onepull.problem import Problem

LONGEST = 200  # characters of a member's name
START = "start "  # the name of what was learned before joining begins so

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST)]


class Contribution(msgspec.Struct, forbid_unknown_fields=True):
    """What one member has observed itself, in its written form."""

    version: Count
    arms: list[Any]
    learned: Any
    counts: Any


class FleetState(msgspec.Struct, forbid_unknown_fields=True):
    """The saved form of a fleet, as one member knows it."""

    name: _Name
    started: Count
    contributions: dict[_Name, Contribution]
    start: Contribution | None = None


class Told(msgspec.Struct, forbid_unknown_fields=True):
    """Contributions by member, and what all started with, if that matters."""

    contributions: dict[_Name, Contribution]
    start: Contribution | None = None


class Identity(msgspec.Struct, forbid_unknown_fields=True):
    """What must be the same in all members: the policy, its parameters and its problem."""

    policy: str
    parameters: dict[str, Any]
    problem: dict[str, Any]


class Updates(msgspec.Struct, forbid_unknown_fields=True):
    """What one member tells others."""

    identity: Identity
    told: Told


class Absorbed(msgspec.Struct, frozen=True):
    """What was new in the updates of another member.

    Attributes
    ----------
    versions
        The members of whom something new was learned, and their versions.
    unused_arms
        Arms that others have and this policy does not.  What they tell about them is kept and
        passed on, and is used as soon as the arm is added.

    Examples
    --------
    >>> Absorbed({"host-2": 7}, ("satellite",)).versions
    {'host-2': 7}
    """

    versions: dict[str, int]
    unused_arms: tuple[str, ...]


class Event(msgspec.Struct, forbid_unknown_fields=True, array_like=True):
    """One observation: its number, its arm, and what was told of it."""

    number: Count
    arm: str
    told: list[Any]


class Member:
    """What one member has observed: `learned` is a `Knowledge`, or a list of `Event`."""

    __slots__ = ("counts", "learned", "problem", "version")

    def __init__(self, problem: Problem, version: int, learned: Any, counts: PullCounts) -> None:
        self.problem, self.version = problem, version
        self.learned, self.counts = learned, counts


class Fleet(ABC):
    """The contributions of all members, as one of them knows them.

    Attributes
    ----------
    name
        The name of this member.
    version
        The number of its observations and changes of arms since it joined.
    members
        The contributions of the others, and of this one under earlier names.
    """

    def __init__(self, name: str, blank: Knowledge) -> None:
        self.name = name
        self.blank = blank
        self.version = 0
        self.members: dict[str, Member] = {}

    is_in_order = False  # whether what is known is always what `rebuilt` returns

    # Defined by each kind

    @abstractmethod
    def learn(self, whole: Knowledge, arm: int, *told: Any) -> None:
        """Learn one observation, in `whole` and in the contribution of this member."""

    @abstractmethod
    def rebuilt(self, whole: Knowledge) -> Knowledge:
        """Return what all contributions tell together; `whole` is what was known before."""

    @abstractmethod
    def _own(self) -> Any:
        """Return what this member has learned from its own pulls."""

    @abstractmethod
    def _clear(self) -> None:
        """Begin the contribution of this member anew."""

    @abstractmethod
    def _written(self, learned: Any) -> Any:
        """Return a contribution as plain values."""

    @abstractmethod
    def _read(self, problem: Problem, learned: Any) -> Any:
        """Return a contribution from plain values; raises SaveFileError if it is invalid."""

    @abstractmethod
    def start_with(self, whole: Knowledge, counts: PullCounts) -> None:
        """Keep what was learned before joining, so that it counts once in the fleet."""

    @abstractmethod
    def copy(self) -> Self:
        """Return a copy that does not change with this one."""

    # Common to both kinds

    @property
    def start(self) -> Member | None:
        """What was learned before joining, if everyone must have started with the same."""
        return None

    def versions(self) -> dict[str, int]:
        """Return the version of each contribution."""
        own = {self.name: self.version} if self.version else {}
        return dict(sorted({**{n: m.version for n, m in self.members.items()}, **own}.items()))

    def rename(self, name: str, counts: PullCounts) -> None:
        """Go on under another name; what was observed so far is kept under the old one."""
        if name in self.members:
            raise ParameterError(
                f"a member named {shown(name)} is known already; give each process a name of its "
                "own, such as its host and start time"
            )
        if self.version:
            own = Member(self.blank.problem, self.version, self._own(), counts.hand_over())
            self.members[self.name] = own
        self.name, self.version = name, 0
        self._clear()

    def change_arms(self, problem: Problem) -> None:
        """Change to the arms of a problem."""
        fit(self.blank, problem)
        self.version += 1

    def contributions(
        self, counts: PullCounts, since: Mapping[str, int] | None
    ) -> dict[str, Contribution]:
        """Return the contributions that are newer than the versions given."""
        known = since or {}
        told = {
            name: self._out(member)
            for name, member in sorted(self.members.items())
            if member.version > known.get(name, 0)
        }
        if self.version > known.get(self.name, 0):
            told[self.name] = self._out(
                Member(self.blank.problem, self.version, self._own(), counts)
            )
        return told

    def _out(self, member: Member) -> Contribution:
        return Contribution(
            version=member.version,
            arms=member.problem.outline()["arms"],
            learned=self._written(member.learned),
            counts=member.counts.since_start(),
        )

    def _in(self, told: Contribution) -> Member:
        problem = self.blank.problem.with_arms(told.arms)
        counts = PullCounts(len(problem.arms))
        counts.restore(told.counts)
        return Member(problem, told.version, self._read(problem, told.learned), counts)

    def told(self, counts: PullCounts, since: Mapping[str, int] | None) -> Told:
        """Return what is newer than the versions given."""
        start = None if self.start is None else self._out(self.start)
        return Told(self.contributions(counts, since), start)

    def absorbed(
        self, told: Told, counts: PullCounts, whole: Knowledge
    ) -> tuple[Self, Knowledge, Absorbed]:
        """Return a fleet with new contributions, what it knows together, and what was new."""
        self._check_start(told.start)
        try:
            new = self._taken(told.contributions, counts)
            twin = self.copy()
            twin.members.update(new)
            if new or not twin.is_in_order:
                whole = twin.rebuilt(whole)
        except (MergeError, SaveFileError):
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:  # and all of onepull's
            raise MergeError(f"the updates cannot be learned: {printable(str(error))}") from error
        versions = {name: member.version for name, member in new.items()}
        return twin, whole, Absorbed(versions, self._unused_arms(new.values()))

    def _taken(self, told: Mapping[str, Contribution], counts: PullCounts) -> dict[str, Member]:
        """Return the members of whom something is new; raises MergeError if two are one."""
        new = {}
        for name, contribution in told.items():
            known = self.members.get(name)
            version = self.version if name == self.name else known.version if known else 0
            if contribution.version > version and name != self.name:
                new[name] = self._in(contribution)
                continue
            same = contribution.version < version
            if contribution.version == version and version:
                own = Member(self.blank.problem, version, self._own(), counts)
                mine = self._out(known if known is not None else own)
                same = as_text(mine.learned) == as_text(contribution.learned)
            if not same:
                raise MergeError(
                    f"two members are named {shown(name)}, or one was restored from an older "
                    "file: let every process join under a name of its own"
                )
        return new

    def _unused_arms(self, members: Iterable[Member]) -> tuple[str, ...]:
        """Return the arms of members that this one does not have."""
        mine = set(self.blank.problem.arms)
        return tuple(sorted({arm for m in members for arm in m.problem.arms} - mine))

    def counted(self, counts: PullCounts) -> PullCounts:
        """Return the counts of all members together; ages are those of this member."""
        whole = counts.copy()
        whole.trials -= whole.start
        position = {arm: j for j, arm in enumerate(self.blank.problem.arms)}
        for member in self._everyone_else():
            whole.trials += member.counts.trials
            for j, arm in enumerate(member.problem.arms):
                if arm in position:
                    whole.observed[position[arm]] += member.counts.observed[j]
                    whole.failed[position[arm]] += member.counts.failed[j]
                    whole.clipped[position[arm]] += member.counts.clipped[j]
        # An age is counted from the number of observations of all.
        for j, newest in enumerate(counts.newest):
            whole.newest[j] = max(whole.trials - (counts.trials - newest), 1) if newest else 0
        whole.start = 0
        return whole

    def _everyone_else(self) -> list[Member]:
        return [*self.members.values(), *([self.start] if self.start is not None else [])]

    def state(self, counts: PullCounts) -> FleetState:
        """Return the fleet as plain values."""
        everyone = self.contributions(counts, None)
        start = None if self.start is None else self._out(self.start)
        return FleetState(self.name, counts.start, everyone, start)

    def restore(self, state: Any, counts: PullCounts) -> None:
        """Restore a saved fleet; raises SaveFileError if it is invalid."""
        saved = restored(FleetState, state, "members of the fleet")
        if saved.start is not None:
            self._restore_start(saved.start)
        members = {name: self._in(told) for name, told in saved.contributions.items()}
        own = members.pop(self.name, None)
        self.members = members
        if own is not None:
            if own.problem.arms != self.blank.problem.arms:
                raise SaveFileError("the saved contribution to the fleet has other arms")
            self.version = own.version
            self._continue(own.learned)
        if saved.started > counts.trials:
            raise SaveFileError("the saved fleet began after the last saved trial")
        counts.start = saved.started

    @abstractmethod
    def _continue(self, learned: Any) -> None:
        """Go on from a saved contribution of this member."""

    def _restore_start(self, start: Contribution) -> None:
        """Restore what was learned before joining; raises SaveFileError if there is no such."""
        raise SaveFileError(f"a saved fleet of this policy has no start, given {shown(start)}")

    def _check_start(self, start: Contribution | None) -> None:
        """Raise MergeError unless a member started with the same."""
        mine = None if self.start is None else self._out(self.start)
        if as_text(mine) != as_text(start):
            raise MergeError(
                "the order of observations matters for this policy, so all members must start "
                "from the same save file, or all without one"
            )


class SummedFleet(Fleet):
    """Contributions that are added: the order of observations does not matter."""

    def __init__(self, name: str, blank: Knowledge) -> None:
        super().__init__(name, blank)
        self.own = blank.copy()

    def learn(self, whole: Knowledge, arm: int, *told: Any) -> None:
        """Learn one observation, in `whole` and in the contribution of this member."""
        whole.learn_for(self.own, arm, *told)
        self.version += 1

    def rebuilt(self, whole: Knowledge) -> Knowledge:
        """Return what all contributions tell together; `whole` is what was known before."""
        found = self.blank.copy()
        parts = {name: member.learned for name, member in self.members.items()}
        for _, part in sorted({**parts, self.name: self.own}.items()):
            fitting = part.copy()
            fit(fitting, found.problem)
            there = {arm: j for j, arm in enumerate(fitting.problem.arms)}
            found.merge(fitting, [there[arm] for arm in found.problem.arms])
        found.take_local(whole)
        return found

    def _own(self) -> Any:
        return self.own

    def _clear(self) -> None:
        self.own = self.blank.copy()

    def change_arms(self, problem: Problem) -> None:
        """Change to the arms of a problem."""
        super().change_arms(problem)
        fit(self.own, problem)

    def _written(self, learned: Any) -> Any:
        return msgspec.to_builtins(learned.state())

    def _read(self, problem: Problem, learned: Any) -> Any:
        empty = self.blank.copy()
        fit(empty, problem, in_order=True)
        empty.restore(learned)
        return empty

    def _continue(self, learned: Any) -> None:
        self.own = learned

    def start_with(self, whole: Knowledge, counts: PullCounts) -> None:
        """Keep what was learned before joining under a name made of its contents.

        So it counts once if several members start from the same file.
        """
        start = Member(self.blank.problem, 1, whole.copy(), counts.hand_over())
        self.members[f"{START}{digest(self._out(start))}"] = start

    def copy(self) -> Self:
        """Return a copy that does not change with this one."""
        twin = type(self)(self.name, self.blank.copy())
        twin.version, twin.members, twin.own = self.version, dict(self.members), self.own.copy()
        return twin


class LoggedFleet(Fleet):
    """Contributions that are lists of observations: their order matters.

    Parameters
    ----------
    remembers
        How many of the last observations matter; None if all may.
    """

    def __init__(self, name: str, blank: Knowledge, remembers: int | None) -> None:
        super().__init__(name, blank)
        self.remembers = remembers
        self.is_in_order = remembers is None
        self.own: list[Event] = []
        self.number = 0  # the highest one seen
        self._start: Member | None = None

    @property
    def start(self) -> Member | None:
        """What was learned before joining, if anything."""
        return self._start

    def learn(self, whole: Knowledge, arm: int, *told: Any) -> None:
        """Learn one observation, and note it in the contribution of this member."""
        whole.learn(arm, *told)
        self.number += 1
        self.version += 1
        self.own.append(Event(self.number, self.blank.problem.arms[arm], plain(list(told))))
        if self.remembers is not None and len(self.own) >= 2 * self.remembers:
            del self.own[: -self.remembers]

    def rebuilt(self, whole: Knowledge) -> Knowledge:
        """Return what all observations tell in the order of their numbers."""
        logs = {name: member.learned for name, member in self.members.items()}
        here = {arm: j for j, arm in enumerate(self.blank.problem.arms)}
        everything = sorted(
            (event.number, name, here[event.arm], event.told)
            for name, log in {**logs, self.name: self.own}.items()
            for event in log
            if event.arm in here
        )
        self.number = max(self.number, *(row[0] for row in everything[-1:]), 0)
        found = self.blank.copy()
        if self._start is not None:
            found = self._start.learned.copy()
            fit(found, self.blank.problem, in_order=True)
        for _, _, arm, told in everything[-(self.remembers or len(everything)) :]:
            found.learn(arm, *told)
        found.take_local(whole)
        return found

    def _own(self) -> Any:
        return self.own[-(self.remembers or len(self.own)) :]

    def _clear(self) -> None:
        self.own = []

    def change_arms(self, problem: Problem) -> None:
        """Change to the arms of a problem; observations of removed arms are dropped."""
        super().change_arms(problem)
        self.own = [event for event in self.own if event.arm in problem.arms]

    def _written(self, learned: Any) -> Any:
        if isinstance(learned, Knowledge):  # what was learned before joining
            return msgspec.to_builtins(learned.state())
        return msgspec.to_builtins(learned)

    def _read(self, problem: Problem, learned: Any) -> Any:
        events = restored(list[Event], learned, "observations of a member")
        numbers = [event.number for event in events]
        if any(a >= b for a, b in pairwise(numbers)):
            raise SaveFileError("the numbers of a member's observations do not increase")
        known = set(problem.arms)
        for event in events:
            if event.arm not in known:
                raise SaveFileError(f"an observation is of an unknown arm {shown(event.arm)}")
        return events

    def _continue(self, learned: Any) -> None:
        self.own = list(learned)
        logs = [self.own, *(member.learned for member in self.members.values())]
        self.number = max((log[-1].number for log in logs if log), default=0)

    def start_with(self, whole: Knowledge, counts: PullCounts) -> None:
        """Keep what was learned before joining, which is learned first."""
        self._start = Member(self.blank.problem, 1, whole.copy(), counts.hand_over())

    def _restore_start(self, start: Contribution) -> None:
        problem = self.blank.problem.with_arms(start.arms)
        learned = self.blank.copy()
        fit(learned, problem, in_order=True)
        learned.restore(start.learned)
        counts = PullCounts(len(problem.arms))
        counts.restore(start.counts)
        self._start = Member(problem, 1, learned, counts)

    def copy(self) -> Self:
        """Return a copy that does not change with this one."""
        twin = type(self)(self.name, self.blank.copy(), self.remembers)
        twin.version, twin.members, twin.own = self.version, dict(self.members), list(self.own)
        twin.number, twin._start = self.number, self._start  # noqa: SLF001 - of the same class
        return twin


def fleet_for(name: Any, blank: Knowledge) -> Fleet:
    """Return a fleet of one member that has learned nothing yet."""
    name = checked_name(name)
    if blank.adds_up:
        return SummedFleet(name, blank)
    remembers = getattr(getattr(blank, "statistics", None), "remembers", None)
    return LoggedFleet(name, blank, remembers)


def check_identity(mine: Any, theirs: Identity) -> None:
    """Raise MergeError unless two members have the same policy, parameters and problem.

    >>> one = Identity("DCB", {"epsilon": 0.01}, {})
    >>> check_identity(msgspec.to_builtins(one), Identity("UCB1", {}, {}))
    Traceback (most recent call last):
    onepull.errors.MergeError: updates of a UCB1 cannot be absorbed by a DCB
    """
    if theirs.policy != mine["policy"]:
        raise MergeError(
            f"updates of a {printable(theirs.policy)} cannot be absorbed by a {mine['policy']}"
        )
    # The order of the fields matters for what was learned.
    if msgspec.json.encode(theirs.problem) != msgspec.json.encode(mine["problem"]):
        raise MergeError("the problems differ in context, state or reward")
    if as_text(theirs.parameters) != as_text(mine["parameters"]):
        raise MergeError(f"the parameters differ: {mine['parameters']} and {theirs.parameters}")


def checked_name(name: Any) -> str:
    """Return the name of a member; raises ParameterError if it is not a name.

    >>> checked_name("host-1 2026-05-01T12:00")
    'host-1 2026-05-01T12:00'
    """
    if (
        isinstance(name, str)
        and 0 < len(name) <= LONGEST
        and printable(name) == name
        and not name.startswith(START)
    ):
        return str(name)
    raise ParameterError(
        f"the name of a member must be 1 to {LONGEST} printable characters and not begin with "
        f"{START!r}, given {shown(name)}"
    )


def checked_versions(since: Any) -> dict[str, int] | None:
    """Return the versions that another member has; raises ParameterError if they are not such."""
    try:
        return msgspec.convert(since, dict[str, Count] | None)
    except msgspec.ValidationError as error:
        raise ParameterError(
            f"since must be the versions of another member, as policy.versions has them: {error}"
        ) from None


def fit(knowledge: Knowledge, problem: Problem, *, in_order: bool = False) -> None:
    """Give knowledge the arms of a problem: add those that are missing and remove the others.

    With `in_order` they also get its order; an arm that must move loses what was learned of it.
    """
    try:
        for arm in problem.arms:
            if arm not in knowledge.problem.arms:
                _change(knowledge, [*knowledge.problem.arms, arm])
        for arm in knowledge.problem.arms:
            if arm not in problem.arms:
                _remove(knowledge, arm)
        for j, arm in enumerate(problem.arms if in_order else ()):
            while knowledge.problem.arms[j] != arm:
                moved = knowledge.problem.arms[j]
                _remove(knowledge, moved)
                _change(knowledge, [*knowledge.problem.arms, moved])
    except MergeError:
        raise
    except OnepullError as error:
        raise MergeError(f"the arms of the members do not fit each other: {error}") from error


def _remove(knowledge: Knowledge, arm: str) -> None:
    arms = knowledge.problem.arms
    _change(knowledge, [name for name in arms if name != arm], arms.index(arm))


def _change(knowledge: Knowledge, arms: Sequence[str], removed: int | None = None) -> None:
    knowledge.change_arms(knowledge.problem.with_arms(arms), removed)


def plain(value: Any) -> Any:
    """Return a value without types of numpy, as it comes back from a file.

    >>> plain([np.float64(0.5), {"x": np.int64(3)}])
    [0.5, {'x': 3}]
    """
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value.item() if isinstance(value, np.generic) else value


def as_text(value: Any) -> bytes:
    """Return a value as JSON with sorted keys, so that equal values are equal texts."""
    return msgspec.json.encode(value, order="sorted")


def digest(contribution: Contribution) -> str:
    """Return a short text that tells two contributions apart."""
    return hashlib.sha256(as_text(contribution)).hexdigest()[:24]
