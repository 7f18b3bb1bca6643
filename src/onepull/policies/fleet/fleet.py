"""The contributions of all members of a fleet, as one of them knows them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Self

import msgspec

from onepull.checks import LARGEST, LARGEST_COUNT, restored, shown
from onepull.errors import MergeError, OnepullError, ParameterError, SaveFileError
from onepull.html import printable
from onepull.policies.fleet.updates import Absorbed, Contribution, FleetState, Told, as_text
from onepull.policies.pull_counts import PullCounts
from onepull.policies.sharing.knowledge import Knowledge
from onepull.problem import Problem


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

    def _before(self, whole: Knowledge, counts: PullCounts) -> Member:
        """Return what was learned before joining, without pulls in flight."""
        learned = self.blank.copy()
        learned.restore(msgspec.to_builtins(whole.state()))
        return Member(self.blank.problem, 1, learned, counts.hand_over())

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
                _check_number(whole)
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


def fit(knowledge: Knowledge, problem: Problem, *, in_order: bool = False) -> None:
    """Give knowledge the arms of a problem: add those that are missing and remove the others.

    The arms get the attributes of the problem.  If states are stored, what was learned is kept;
    otherwise MergeError is raised.  With `in_order` the arms also get the order of the problem; an
    arm that must move loses what was learned about it.
    """
    try:
        for arm in problem.arms:
            if arm not in knowledge.problem.arms:
                _add(knowledge, arm, problem)
        for arm in knowledge.problem.arms:
            if arm not in problem.arms:
                _remove(knowledge, arm)
        for j, arm in enumerate(problem.arms if in_order else ()):
            while knowledge.problem.arms[j] != arm:
                moved = knowledge.problem.arms[j]
                _remove(knowledge, moved)
                _add(knowledge, moved, problem)
        known = {arm: problem.attributes[arm] for arm in problem.attributes}
        if known != knowledge.problem.attributes:
            # Whoever changed them has accepted the error.
            knowledge.set_attributes(knowledge.problem.with_arms(known), LARGEST)
    except MergeError:
        raise
    except OnepullError as error:
        raise MergeError(f"the arms of the members do not fit each other: {error}") from error


def _remove(knowledge: Knowledge, arm: str) -> None:
    arms = knowledge.problem.arms
    left = knowledge.problem.with_arms([name for name in arms if name != arm])
    knowledge.change_arms(left, arms.index(arm))


def _add(knowledge: Knowledge, arm: str, problem: Problem) -> None:
    """Add an arm with the attributes that it has in a problem."""
    known = knowledge.problem.attributes
    arms: Any = [*knowledge.problem.arms, arm]
    if known:
        arms = {**known, arm: problem.attributes[arm]}
    knowledge.change_arms(knowledge.problem.with_arms(arms))


def _check_number(whole: Knowledge) -> None:
    """Raise MergeError if there are more observations than can be counted or saved."""
    if whole.trials > LARGEST_COUNT:
        raise MergeError(
            f"the updates have {whole.trials:,} observations together; at most {LARGEST_COUNT:,} "
            "can be counted"
        )
