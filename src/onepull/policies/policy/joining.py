"""How policies learn from each other: merging, and fleets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from onepull.checks import shown, some
from onepull.errors import MergeError
from onepull.policies import savefile
from onepull.policies.fleet.fleet import Fleet
from onepull.policies.fleet.joining import fleet_for
from onepull.policies.fleet.updates import (
    Absorbed,
    Identity,
    Updates,
    check_identity,
    checked_name,
    checked_versions,
)
from onepull.policies.policy.changing_arms import ChangingArms
from onepull.policies.saved_names import saved_name
from onepull.problem import Problem


class Joining(ChangingArms):
    """The part of a policy that learns from other policies."""

    def merge(self, other: Self) -> None:
        """Add what another policy of the same class, problem and parameters has learned.

        The two must have learned from different pulls; a shared pull would count twice.
        """
        if not isinstance(other, Joining):
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
        self._narrows = True

    def join(self, name: str) -> None:
        """Join a fleet: processes that each run this policy and learn from each other's pulls.

        Give every process a name of its own each time it starts, such as its host and start
        time.  What was learned before is kept, and counts once even if several members start
        from the same file.  Exchange `updates` as often as you like:

        >>> from onepull import DCB, Finite, Interval, Problem
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
        check_identity(savefile.as_saved(self._identity()), told.identity)
        self._fleet, self._knowledge, new = fleet.absorbed(told.told, self._counts, self._knowledge)
        self._narrows = True  # an arm that answered another member may be removed there
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

    @classmethod
    def _rebuilt(cls, problem: Problem, parameters: dict[str, Any]) -> Self:
        """Build a policy from its parameters."""
        build: Any = cls  # the constructor of a policy takes the problem and the parameters
        policy: Self = build(problem, **parameters)
        return policy
