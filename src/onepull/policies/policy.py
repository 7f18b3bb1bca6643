"""What every policy is and does."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from onepull.atomic_files import write
from onepull.errors import InputError, MergeError, ParameterError, SaveFileError, UnknownArm
from onepull.html import block, names, table
from onepull.policies import savefile
from onepull.policies.batches import columns_of, rows
from onepull.policies.decision import Decision
from onepull.policies.explanation import ArmExplanation, Explanation, bonus_of, tie_of
from onepull.policies.sharing.knowledge import Knowledge
from onepull.policies.ties import best_of, drawn, even, foremost
from onepull.policies.traits import Traits
from onepull.problem import Problem


class Policy(ABC):
    """Chooses an arm for each request and learns from what pulls show.

    A policy gives every arm an index and chooses the highest.  Ties go to the first arm,
    or are drawn evenly if the policy was given a seed; where a bound stops at the highest
    reward they are many, and the least pulled come first.  A randomised policy draws its arm.

    What a caller may rely on:

    - `choose` and `explain` change nothing that was learned.  They may be called any
      number of times, and pulls may go unobserved.
    - `observe` may come at any time: late, in any order, in batches, or never.  Where it is
      late, `pulled` and `gave_up` tell of pulls in flight, which are neither saved nor merged.
    - A call that raises has changed nothing.
    - Learning can be moved: `save` and `load` give back the same policy bit for bit, and
      `merge` adds what two policies saw as if one had seen it all.
    - One thread at a time may call a policy.  It holds no locks, files or threads.

    To write your own, say what it learns (a `Knowledge`), and give `_indices` and `parameters`;
    or subclass `RulePolicy` and give a rule, which the simulator compiles.  Declare what is
    unusual about it in `traits`, and run the checks of `onepull.testing` on it.

    Attributes
    ----------
    traits
        What sets the policy apart from the usual.
    guarantee
        What is known about its regret, in words.
    """

    traits: ClassVar[Traits] = Traits()
    guarantee: ClassVar[str] = "nothing is known"
    _unseen: ClassVar[str] = "never pulled"  # what it means that an index is infinite

    def __init__(
        self, knowledge: Knowledge, *, seed: int | np.random.Generator | None = None
    ) -> None:
        self._knowledge = knowledge
        self._generator = savefile.seeded(seed)
        if self.traits.randomised and self._generator is None:
            raise ParameterError(
                f"{type(self).__name__} draws: it needs a seed or a generator, given None"
            )
        self._take_on(knowledge.problem)

    def _take_on(self, problem: Problem) -> None:
        self.problem = problem
        self._arms = problem.arms
        self._everyone = range(len(problem.arms))
        self._position = {arm: j for j, arm in enumerate(problem.arms)}

    # To be given by each policy

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The keyword arguments that build this policy again, as plain values."""

    def _written(self) -> dict[str, Any]:
        """Return the parameters as a save file holds them."""
        return self.parameters

    def _look(self, context: Mapping[str, Any]) -> Any:
        """Return what a decision is made from, read once a request; refuses a bad context."""
        self.problem.context.exactly(context)

    @abstractmethod
    def _indices(self, decision: Decision) -> Any:
        """Return the index of every arm, a list or an array."""

    def _leader(self, decision: Decision) -> int:
        """Return the position of the allowed arm with the highest index."""
        return self._foremost(decision, self._indices(decision))[0]

    def _estimates(self, decision: Decision) -> Sequence[float | None]:
        """Return the estimated reward of every arm, None where the policy has none."""
        del decision
        return [None] * len(self._arms)

    def _chances(self, decision: Decision) -> Sequence[float] | None:
        """Return the probability of choosing each of the allowed arms, None if not known."""
        best = self._foremost(decision, self._indices(decision))
        return even(best if self._generator is not None else best[:1], decision.allowed)

    def _draw(self, decision: Decision) -> int:
        """Return the position of one of the allowed arms, drawn with its chance."""
        chances = self._chances(decision)
        if chances is None:
            raise NotImplementedError(f"{type(self).__name__} must draw by itself")
        return drawn(decision.allowed, chances, self._generator)

    def _why(self) -> str:
        """Finish the sentence 'it was chosen because of the …'."""
        return "highest index"

    # Choosing

    def _decide(self, eligible: Collection[str] | None, context: Mapping[str, Any]) -> Decision:
        allowed = self._everyone if eligible is None else self._positions(eligible)
        return Decision(context, self._look(context), allowed)

    def choose(self, *, eligible: Collection[str] | None = None, **context: Any) -> str:
        """Return the arm to pull for a context.

        Parameters
        ----------
        eligible
            The arms that may be pulled for this request; all of them if not given.
        context
            Every context field by name.
        """
        decision = self._decide(eligible, context)
        if self._generator is None:
            return self._arms[self._leader(decision)]
        return self._arms[self._draw(decision)]

    def explain(self, *, eligible: Collection[str] | None = None, **context: Any) -> Explanation:
        """Return every arm's estimate, bonus, index and chance, who is chosen, and why."""
        decision = self._decide(eligible, context)
        indices = [float(index) for index in self._indices(decision)]
        all_pulls, trials = self._knowledge.seen(context)
        known = self._chances(decision)
        chances = dict(zip(decision.allowed, known, strict=True)) if known else {}
        rows = [
            ArmExplanation(
                arm=arm,
                pulls=pulls,
                estimate=estimate if estimate is None or math.isfinite(estimate) else None,
                bonus=bonus_of(index, estimate),
                index=index,
                eligible=j in decision.allowed,
                chance=chances.get(j, 0.0) if known else None,
            )
            for j, (arm, pulls, estimate, index) in enumerate(
                zip(self._arms, all_pulls, self._estimates(decision), indices, strict=True)
            )
        ]
        return Explanation(
            policy=type(self).__name__,
            context={name: float(value) for name, value in context.items()},
            trial=trials + 1,
            arms=rows,
            arm=next((row.arm for row in rows if row.chance == 1.0), None),
            reason=self._reason(decision, indices),
        )

    def estimates(self, **context: Any) -> list[float | None]:
        """Return the estimated reward of every arm in a context, None where there is none."""
        return list(self._estimates(self._decide(None, context)))

    def indices(self, **context: Any) -> list[float]:
        """Return the index of every arm in a context; infinite if it must be pulled first."""
        return [float(index) for index in self._indices(self._decide(None, context))]

    def _reason(self, decision: Decision, indices: list[float]) -> str:
        """Say why the chosen arm is chosen."""
        best = best_of(indices, decision.allowed)
        some = len(decision.allowed) < len(self._arms)
        among = ", among those eligible" if some else ""
        why = self._unseen if math.isinf(indices[best[0]]) else f"{self._why()}{among}"
        if len(best) == 1:
            return why
        left = len(self._foremost(decision, indices))
        return f"{why}, {tie_of([self._arms[j] for j in best], left, draws=self.draws)}"

    def _foremost(self, decision: Decision, indices: Any) -> list[int]:
        """Return the allowed arms that may be chosen: those that tie for the highest index."""
        by_pulls = self.traits.breaks_ties_by_pulls
        pulls = self._knowledge.seen(decision.context)[0] if by_pulls else None
        return foremost(indices, decision.allowed, pulls)

    def _positions(self, eligible: Collection[str]) -> Sequence[int]:
        if isinstance(eligible, str):
            raise InputError(f"eligible takes a list of arms, given the text {eligible!r}")
        positions = sorted({self._find(arm) for arm in eligible})
        if not positions:
            raise InputError("eligible needs at least one arm, given none")
        return positions

    def _find(self, arm: Any) -> int:
        try:
            return self._position[arm]
        except (KeyError, TypeError):
            raise UnknownArm(f"unknown arm {arm!r}; the arms are {', '.join(self._arms)}") from None

    # Learning

    def pulled(self, arm: str, **context: Any) -> None:
        """Say that `arm` was pulled for a context and its feedback is yet to come.

        Until `observe` takes it in, or `gave_up` calls it off, the pull counts among the arm's
        pulls and not in its estimate.  Policies that keep no such count take no notice.
        """
        self._knowledge.expect(self._find(arm), context, 1)

    def gave_up(self, arm: str, **context: Any) -> None:
        """Say that a pull in flight is no longer awaited; with none in flight, change nothing."""
        # Not an error: the late answer to one given up before may have landed in its place.
        self._knowledge.expect(self._find(arm), context, -1)

    def observe(self, arm: str, *, reward: float | None = None, **fields: Any) -> None:
        """Take in what a pull of `arm` showed.

        Give the state fields by name; the context fields may come along, and must where
        the policy learns from rewards.  If the state was not seen, give the context fields
        and the `reward`: a policy that learns from states needs a reward from which the
        state can be told.
        """
        self._knowledge.learn(self._find(arm), fields, reward)

    def observe_many(
        self,
        arms: Iterable[str],
        *,
        reward: Iterable[float] | None = None,
        **fields: Iterable[Any],
    ) -> None:
        """Take in many pulls at once: a column for the arms and for each field.

        All of them are taken in, as if observed one after the other, or none.
        """
        rewards = {} if reward is None else {"reward": reward}
        columns = columns_of({"arms": arms, **rewards, **fields})
        before = self._knowledge.copy()
        row = 0
        try:
            for row, record in enumerate(rows(columns)):  # noqa: B007 - told if it fails
                self.observe(record.pop("arms"), **record)
        except BaseException as error:
            self._knowledge = before
            if isinstance(error, InputError):
                raise type(error)(f"row {row}: {error}") from None
            raise

    # Arms that come and go

    def add_arm(self, arm: str) -> None:
        """Add an arm; it has never been pulled, and the others keep what they taught."""
        if arm in self._arms:
            raise InputError(f"arm {arm!r} is there already")
        problem = self.problem.with_arms([*self._arms, arm])
        self._knowledge.change_arms(problem)
        self._take_on(problem)

    def remove_arm(self, arm: str) -> None:
        """Remove an arm and what it taught; the others keep theirs."""
        gone = self._find(arm)
        if len(self._arms) == 1:
            raise InputError(f"arm {arm!r} is the only one left")
        problem = self.problem.with_arms(a for a in self._arms if a != arm)
        self._knowledge.change_arms(problem, gone)
        self._take_on(problem)

    # Learning moved about

    def merge(self, other: Policy) -> None:
        """Add what another policy of the same kind, problem and parameters has learned.

        Both must have learned separately: what both have seen would count twice.
        """
        if type(other) is not type(self):
            raise MergeError(
                f"a {type(other).__name__} cannot be merged into a {type(self).__name__}"
            )
        if other is self:
            raise MergeError("a policy cannot be merged with itself")
        mine, theirs = self.problem, other.problem
        if set(mine.arms) != set(theirs.arms):
            raise MergeError(
                f"the arms differ: {', '.join(sorted(set(mine.arms) ^ set(theirs.arms)))} "
                "on one side only"
            )
        if mine.with_arms(theirs.arms) != theirs:
            raise MergeError("the problems differ in context, state or reward")
        if self.parameters != other.parameters:
            raise MergeError(f"the parameters differ: {self.parameters} and {other.parameters}")
        self._knowledge.merge(other._knowledge, [other._position[arm] for arm in mine.arms])

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
        """Whether the policy draws, be it among ties only."""
        return self._generator is not None

    @property
    def counts_in_flight(self) -> bool:
        """Whether a pull counts as soon as `pulled` tells of it."""
        return self._knowledge.counts_in_flight

    def reseed(self, seed: int | np.random.Generator) -> None:
        """Draw from another generator from now on."""
        self._generator = savefile.seeded(seed)

    @property
    def trials(self) -> int:
        """The number of observations behind the current estimates."""
        return self._knowledge.trials

    @property
    def storage(self) -> int:
        """The number of numbers that the policy keeps to learn."""
        return self._knowledge.storage

    def storage_after(self, trials: int) -> int:
        """Return the number of numbers that the policy keeps after so many trials."""
        return self._knowledge.storage_after(trials)

    def to_bytes(self) -> bytes:
        """Return the policy as the text of a save file."""
        problem = self.problem
        written = problem.to_dict() if problem.reward.is_formula else problem.outline()
        return savefile.encode(
            savefile.Saved(
                policy=type(self).__name__,
                parameters=self._written(),
                problem=written,
                learned=self._knowledge.state(),
                generator=savefile.generator_state(self._generator),
            )
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a JSON file; a crash leaves the old file or the new one."""
        write(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, problem: Problem | None = None) -> Self:
        """Read a policy back from a file; see `from_bytes`."""
        return cls.from_bytes(Path(path).read_bytes(), problem=problem, where=str(path))

    @classmethod
    def from_bytes(
        cls, text: bytes, *, problem: Problem | None = None, where: str = "saved policy"
    ) -> Self:
        """Build a policy from the text of a save file.

        `Policy.load` reads any policy, `DCB.load` only a DCB.  A problem whose reward is a
        Python callable is not in the file and must be given again.
        """
        saved = savefile.decode(text, where)
        kinds = {kind.__name__: kind for kind in _kinds(cls)}
        if saved.policy not in kinds:
            raise SaveFileError(
                f"{where}: holds the policy {saved.policy}, which is no {cls.__name__} known here"
            )
        try:
            problem = savefile.problem_of(saved, problem)
            policy: Self = kinds[saved.policy]._rebuilt(problem, saved.parameters)  # noqa: SLF001 - a subclass's own
            policy._knowledge.restore(saved.learned)
            if saved.generator is not None:
                policy._generator = savefile.generator_from(saved.generator)
        except (AttributeError, KeyError, TypeError, ValueError) as error:  # ours are ValueErrors
            raise SaveFileError(f"{where}: {error}") from error
        return policy

    @classmethod
    def _rebuilt(cls, problem: Problem, parameters: dict[str, Any]) -> Self:
        """Build a policy from its parameters."""
        build: Any = cls  # a policy takes its problem, and builds its own sharing
        policy: Self = build(problem, **parameters)
        return policy

    def __reduce__(self) -> Any:
        """Travel to other processes as a save file does, with the problem beside it."""
        try:
            return partial(type(self).from_bytes, problem=self.problem), (self.to_bytes(),)
        except ParameterError:  # a genie's laws are in no file, but its parts travel as they are
            return object.__new__, (type(self),), self.__dict__

    def __repr__(self) -> str:
        """Show the policy with its parameters and how much it has seen."""
        return self._shown(self.parameters)

    def _repr_html_(self) -> str:
        """Return the policy as a table for a notebook."""
        rows = [
            ("policy", repr(self).strip("<>")),
            ("arms", names(self._arms)),
            ("context", names(list(self.problem.context))),
            ("state", names(list(self.problem.state))),
            ("storage", f"{self.storage:,} numbers"),
        ]
        return block(table(type(self).__name__, (), rows, text_columns=2))

    def _shown(self, parameters: Mapping[str, Any]) -> str:
        stated = "".join(f", {name}={value!r}" for name, value in parameters.items())
        arms = f"{len(self._arms)} arm{'s' * (len(self._arms) > 1)}"
        return f"<{type(self).__name__}({arms}{stated}) after {self.trials} trials>"


def _kinds(cls: type[Any]) -> Iterator[type[Any]]:
    yield cls
    for kind in cls.__subclasses__():
        yield from _kinds(kind)
