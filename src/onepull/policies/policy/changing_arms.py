"""How arms and their attributes change while a policy runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from onepull.arms import Attributes, WordsOfAttributes, arm_names
from onepull.checks import number, shown, some
from onepull.errors import InputError, ParameterError
from onepull.payoff import Reward
from onepull.payoff.reward import Source
from onepull.policies.policy.operating import Operating
from onepull.policies.sharing.knowledge import Knowledge
from onepull.problem import Problem


class ChangingArms(Operating):
    """The part of a policy that adds, changes and removes arms."""

    def _switch(self, problem: Problem, change: Callable[[Knowledge], None]) -> None:
        """Switch to a problem with other arms or attributes; `change` tells what is known."""
        if self._fleet is None:
            change(self._knowledge)
        else:  # On copies, since what other members told may not fit.
            knowledge, fleet = self._knowledge.copy(), self._fleet.copy()
            change(knowledge)
            fleet.change_arms(problem)
            self._knowledge, self._fleet = fleet.rebuilt(knowledge), fleet

    def add_arm(self, arm: str, /, **attributes: float | str) -> None:
        """Add an arm that has never been pulled; the other arms keep what was learned.

        If arms have attributes, pass those of the new arm by name.
        """
        self._check_new([arm])
        self._widen({arm: attributes})

    def add_arms(self, added: Attributes) -> None:
        """Add arms with their attributes in one step, which is quicker than one by one.

        >>> from onepull import AdaptiveKL, Interval, Problem
        >>> policy = AdaptiveKL(Problem(
        ...     arms={"a": {"price": 1}}, state={"x": Interval(0, 9)}, reward="x - price"
        ... ))
        >>> policy.add_arms({"b": {"price": 2}, "c": {"price": 3}})
        >>> policy.problem.arms
        ('a', 'b', 'c')
        """
        _by_arm("add_arms", added)
        self._check_new(added)
        if type(self).add_arm is ChangingArms.add_arm:
            self._widen(added)
            return
        for each in (self.copy(), self):  # a copy first, so that nothing changes if one raises
            for arm, attributes in added.items():
                each.add_arm(arm, **attributes)

    def _check_new(self, arms: Collection[str]) -> None:
        """Raise InputError if one of these is no name for a new arm."""
        for arm in arms:
            if isinstance(arm, str) and arm in self._position:  # type: ignore[redundant-expr]
                raise InputError(f"arm {arm!r} already exists; the arms are {some(self._arms)}")
        arm_names([*self._arms, *arms])  # raises if one is no name

    def _widen(self, added: Attributes) -> None:
        """Switch to a problem with more arms, in one step, since all arms are valued in each."""
        arms: Any = [*self._arms, *added]
        if self.problem.attributes or any(added.values()):
            known = {name: self.problem.attributes.get(name, {}) for name in self._arms}
            arms = {**known, **added}
        problem = self.problem.with_arms(arms)
        self._check_range(problem)
        self._switch(problem, lambda knowledge: knowledge.add_arms(problem))
        self._set_problem(problem)

    def set_attributes(
        self, arm: str, /, *, error: float | None = None, **attributes: float | str
    ) -> None:
        """Change attributes of an arm, such as its price; what was learned of it stays.

        This works for policies that store states.  They compute the rewards of old states anew.
        `AdaptiveKL` merges states after 512 observations of an arm.  From then on a change is
        exact if it adds the same to the reward of each state, as a price for a request does, or
        multiplies all by the same number.  Where it is not exact, ParameterError says how far
        estimates may be off.

        Parameters
        ----------
        arm
            The name of the arm.
        error
            Accept estimates that are off by up to this much (by merging: in 95 % of cases).
        attributes
            The new values by name; the other attributes stay.

        Examples
        --------
        >>> from onepull import IMED, Finite, Problem
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
        self.set_attributes_of({arm: attributes}, error=error)

    def set_attributes_of(self, changed: Attributes, *, error: float | None = None) -> None:
        """Change attributes of some arms in one step, since each time all states are valued anew.

        `error` is as in `set_attributes`.

        >>> from onepull import AdaptiveKL, Interval, Problem
        >>> policy = AdaptiveKL(Problem(
        ...     arms={"a": {"price": 1}, "b": {"price": 2}}, state={"x": Interval(0, 9)},
        ...     reward="x - price",
        ... ))
        >>> policy.observe_many(["a", "b"], x=[5, 5])
        >>> policy.set_attributes_of({"a": {"price": 3}, "b": {"price": 0}})
        >>> policy.estimates()
        [2.0, 5.0]
        """
        _by_arm("set_attributes_of", changed)
        known: Any = {name: dict(given) for name, given in self.problem.attributes.items()}
        accepted = None if error is None else number("error", error, above=0.0, at_least=True)
        for arm, attributes in changed.items():
            self._find(arm)
            names = set(known.get(arm, {}))
            if stray := set(attributes) - names:
                raise InputError(
                    f"unknown attribute {some(sorted(stray))} of arm {arm!r}; "
                    f"it has {some(sorted(names)) or 'none'}"
                )
            if names:
                known[arm] = {**known[arm], **attributes}
        if not any(changed.values()):
            return
        problem = self.problem.with_arms(known)
        self._check_range(problem)
        self._switch(problem, lambda knowledge: knowledge.set_attributes(problem, accepted))
        self._set_problem(problem)

    def _revalued(
        self, reward: Reward | Source, failure: float | str | None, words: WordsOfAttributes | None
    ) -> Problem:
        """Return the problem with another reward, for which the outcomes seen have a value."""
        if failure is not None and self.problem.failure is None:
            raise ParameterError(
                f"failure={shown(failure)} was given, but pulls of this problem do not fail; "
                "give failure=… to the problem from the start"
            )
        return self.problem.with_reward(reward, failure=failure, words=words)

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
        if len(self._arms) == 1:
            raise InputError(f"arm {arm!r} is the only one left and cannot be removed")
        self._narrow([gone])

    def remove_arms(self, removed: Collection[str]) -> None:
        """Remove arms in one step, which is quicker than one by one.

        >>> from onepull import DCB, Finite, Problem
        >>> policy = DCB(Problem(arms=["a", "b", "c"], state={"x": Finite([0, 1])}, reward="x"))
        >>> policy.remove_arms(["a", "c"])
        >>> policy.problem.arms
        ('b',)
        """
        if isinstance(removed, str) or not isinstance(removed, Iterable):
            raise InputError(f"remove_arms takes a list of arms, given {shown(removed)}")
        gone = {self._find(arm): arm for arm in removed}
        if type(self).remove_arm is ChangingArms.remove_arm and len(gone) < len(self._arms):
            if gone:
                self._narrow(sorted(gone))
            return
        for each in (self.copy(), self):  # a copy first, so that nothing changes if one raises
            for arm in gone.values():
                each.remove_arm(arm)

    def _narrow(self, gone: Sequence[int]) -> None:
        """Switch to a problem without some arms, in one step, since all are valued in each."""
        names = {self._arms[j] for j in gone}
        problem = self.problem.with_arms([arm for arm in self._arms if arm not in names])
        self._check_range(problem)
        self._switch(problem, lambda knowledge: knowledge.remove_arms(problem, gone))
        for j in reversed(gone):
            self._counts.remove_arm(j)
        self._set_problem(problem)
        self._control(self.controls.without(*names))


def _by_arm(method: str, given: Any) -> None:
    """Raise InputError unless attributes are given for each arm by name."""
    if not isinstance(given, Mapping):
        raise InputError(
            f"{method} takes arms with their attributes, as in {{'a': {{}}}}, given {shown(given)}"
        )
