"""How a policy is saved, loaded, and moved to a problem that has grown."""

from __future__ import annotations

import os
from copy import deepcopy
from functools import partial
from typing import Any, Self

import msgspec

from onepull.atomic_files import path_of, write
from onepull.checks import number, restored
from onepull.errors import ParameterError, SaveFileError
from onepull.html import printable
from onepull.policies import savefile
from onepull.policies.controls import saved_controls
from onepull.policies.fleet.joining import fleet_for
from onepull.policies.fleet.updates import (
    FleetState,
)
from onepull.policies.loaded import Loaded, changes
from onepull.policies.policy.joining import Joining
from onepull.policies.saved_names import kind_saved_as, saved_name
from onepull.problem import Problem


class Saving(Joining):
    """The part of a policy that saves and loads."""

    def to_dict(self) -> dict[str, Any]:
        """Return the name of the class and the parameters, as a save file has them.

        >>> from onepull import DCB, Finite, Problem
        >>> policy = DCB(Problem(arms=["a"], state={"x": Finite([0, 1])}, reward="x"), epsilon=0.5)
        >>> policy.to_dict()
        {'name': 'DCB', 'epsilon': 0.5}
        """
        return {"name": type(self).__name__, **self._written()}

    def fresh(self, problem: Problem) -> Self:
        """Return a policy with this class and these parameters that has learned nothing.

        >>> from onepull import DCB, Finite, Problem
        >>> policy = DCB(Problem(arms=["a"], state={"x": Finite([0, 1])}, reward="x"), epsilon=0.5)
        >>> policy.fresh(policy.problem.with_arms(["a", "b"]))
        <DCB(2 arms, epsilon=0.5) after 0 trials>
        """
        return self._rebuilt(problem, self._written())

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
            kind = kind_saved_as(saved.policy, cls, Saving)
            before, given = savefile.problems_of(saved, problem)
            policy: Self = kind._rebuilt(before, saved.parameters)  # noqa: SLF001 - a subclass's own
            if saved.fleet is not None:
                named = restored(FleetState, saved.fleet, "members of the fleet").name
                policy._fleet = fleet_for(named, policy._knowledge.copy())
            policy._knowledge.restore(saved.learned)
            if saved.counts is not None:
                policy._counts.restore(saved.counts)
                policy._narrows = True
            if saved.controls is not None:
                policy._controls = saved_controls(saved.controls, policy._arms) or None
                policy._narrows = True
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
            twin.set_attributes(arm, error=accepted or None, **problem.attributes[arm])
        if account.added:
            twin.add_arms({arm: problem.attributes.get(arm, {}) for arm in account.added})
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

    def _continue(self, other: Saving) -> None:
        """Copy the generator, counts and controls of a policy that has learned the same."""
        self._generator = deepcopy(other._generator)
        self._counts.restore(other._all_counts.state())
        self._controls, self._narrows = other._controls, True

    def __reduce__(self) -> Any:
        """Pickle the policy as its save file together with the problem."""
        try:
            return partial(type(self).from_bytes, problem=self.problem), (self.to_bytes(),)
        except ParameterError:  # a genie's distributions cannot be saved, but can be pickled
            return object.__new__, (type(self),), self.__dict__
