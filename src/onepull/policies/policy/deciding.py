"""How a policy decides: what it is made of, and which arm it chooses."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy, deepcopy
from typing import Any, ClassVar, Never, Self

import numpy as np

from onepull.checks import by_name, shown, some
from onepull.errors import ContextError, InputError, ParameterError, UnknownArm
from onepull.policies import savefile
from onepull.policies.choice import Choice
from onepull.policies.constructors import keywords_of
from onepull.policies.controls import Controls, Narrowed, narrowed
from onepull.policies.explanation import ArmExplanation, Explanation, bonus_of, tie_of
from onepull.policies.fleet.fleet import Fleet
from onepull.policies.loaded import Loaded
from onepull.policies.pull_counts import PullCounts
from onepull.policies.request import Request, made
from onepull.policies.sharing.in_flight import Counted
from onepull.policies.sharing.knowledge import Knowledge
from onepull.policies.ties import best_of, drawn, even, foremost
from onepull.policies.traits import Traits
from onepull.problem import Problem
from onepull.spaces import Interval
from onepull.statistics import UNPULLED

CONTAINERS = (list, dict, set, np.ndarray)
NOT_GIVEN: Mapping[str, Any] = {}  # as a context
NOT_A_REWARD = "the index is not in units of the reward"
ORDERS = (
    "the index orders the arms: the less an arm diverges from the best, the higher it is; it is no "
    "bound, and may be above the highest possible reward"
)


class Deciding(ABC):
    """The part of a policy that decides; each policy gives its indices."""

    traits: ClassVar[Traits] = Traits()
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
        self._controls: Controls | None = None  # None if none is set
        self._narrows = False  # whether fewer than the eligible arms may be left; quick to test
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

    @property
    def parameters(self) -> dict[str, Any]:
        """The keyword arguments that recreate this policy, as plain values.

        They are those of its constructor, each in an attribute of the same name, without the seed
        and without those that are None as by default.
        """
        stated = {}
        for name, default in keywords_of(type(self)).items():
            value = self._stated(name)
            if value is not None or default is not None:
                stated[name] = value
        return stated

    def _stated(self, name: str) -> Any:
        """Return the value of a parameter."""
        try:
            return getattr(self, name)
        except AttributeError:
            kind = type(self).__name__
            raise ParameterError(
                f"{kind} does not say what its parameter {name!r} is: set self.{name}, or define "
                "the property `parameters`"
            ) from None

    def _written(self) -> dict[str, Any]:
        """Return the parameters in the form that a save file stores."""
        return self.parameters

    def copy(self) -> Self:
        """Return an independent copy, with the pulls in flight; quicker than by way of a save file.

        >>> from onepull import DCB, Finite, Problem
        >>> policy = DCB(Problem(arms=["a", "b"], state={"x": Finite([0, 1])}, reward="x"))
        >>> twin = policy.copy()
        >>> twin.observe("a", x=1)
        >>> twin.trials, policy.trials
        (1, 0)
        """
        twin: Self = object.__new__(type(self))
        for name, value in self.__dict__.items():
            # A class of a user's own may keep something for each arm.
            twin.__dict__[name] = copy(value) if isinstance(value, CONTAINERS) else value
        twin._knowledge, twin._counts = self._knowledge.copy(), self._counts.copy()
        twin._generator = deepcopy(self._generator)
        twin._fleet = None if self._fleet is None else self._fleet.copy()
        return twin

    def _look(self, context: Mapping[str, Any]) -> Any:
        """Return what the decision is made from; raises InputError if the context is invalid."""
        self.problem.context.exactly(context)

    @abstractmethod
    def _indices(self, request: Request) -> Any:
        """Return the index of each arm, as a list or an array."""

    def _leader(self, request: Request) -> int:
        """Return the position of the allowed arm with the highest index."""
        return self._foremost(request, self._indices(request))[0]

    def _counted(self, request: Request) -> Counted:
        """Return the pulls that count in the context."""
        return self._knowledge.counted(request.context)

    def _estimates(self, request: Request) -> Sequence[float | None]:
        """Return the estimated reward of each arm, None if the policy has no estimate."""
        del request
        return [None] * len(self._arms)

    def _chances(self, request: Request) -> Sequence[float] | None:
        """Return the probability of choosing each allowed arm, or None if it is unknown."""
        best = self._foremost(request, request.once(self._indices))
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

    def _index_note(self) -> str:
        """Return what an index means, where it is no bound on the reward."""
        if not self.traits.index_is_reward:
            return NOT_A_REWARD
        # As a router asks, too, since few policies learn how fast arms change.
        return ORDERS if math.isfinite(getattr(self, "half_life", math.inf)) else ""

    @property
    def _all_counts(self) -> PullCounts:
        """The counts of all members of a fleet together."""
        return self._counts if self._fleet is None else self._fleet.counted(self._counts)

    def _narrowed(self, eligible: Collection[str] | None) -> Narrowed:
        """Return the arms that may be chosen: those eligible, as far as the controls leave them."""
        allowed = self._everyone if eligible is None else self._positions(eligible)
        if not self._narrows:
            return Narrowed(allowed, {}, "")
        counts = self._all_counts
        silent = counts.silent() if self._knowledge.learns else []
        if self._controls is None and not silent:
            self._narrows = False
            return Narrowed(allowed, {}, "")
        set_ = self._controls or Controls()
        since = zip(counts.shared or (), counts.in_flight, strict=False)
        left = narrowed(set_, self._position, allowed, [m + w for m, w in since])
        resting = [j for j in silent if not counts.is_tried(j)]
        return left.without(resting, counts.given_up) if resting else left

    def choose(
        self, /, *nameless: Never, eligible: Collection[str] | None = None, **context: Any
    ) -> str:
        """Return the arm to pull for a context.

        Parameters
        ----------
        eligible
            The arms that may be pulled for this request; all arms by default.
        context
            All context fields by name.
        """
        if nameless:
            raise self._by_name("choose", nameless)
        if self._narrows:
            allowed = self._narrowed(eligible).allowed
        else:  # the same, quicker
            allowed = self._everyone if eligible is None else self._positions(eligible)
        request = made(Request, (context, self._look(context), allowed))  # quicker
        if self._generator is None:
            return self._arms[self._leader(request)]
        return self._arms[self._draw(request)]

    def decide(
        self,
        context: Mapping[str, Any] = NOT_GIVEN,
        *,
        eligible: Collection[str] | None = None,
        generator: Any = None,
        **named: Any,
    ) -> Choice:
        """Return what `choose` returns, with what a log records of it.

        Parameters
        ----------
        context
            All context fields by name.
        eligible
            The arms that may be pulled for this request; all arms by default.
        generator
            What to draw with in this decision, with the methods of `numpy.random.Generator`; the
            generator of the policy by default.  A policy without a seed draws nothing.

        Examples
        --------
        >>> from onepull import DCB, Finite, Interval, Problem
        >>> policy = DCB(Problem(
        ...     arms=["a", "b"], context={"y": Finite([1])}, state={"x": Interval(0, 1)},
        ...     reward="x * y",
        ... ))
        >>> policy.decide({"y": 1})
        Choice(arm='a', chance=1.0, estimate=None, reason='never pulled')
        """
        if named or context is NOT_GIVEN:
            given = ", ".join(f"{name}={shown(value)}" for name, value in named.items())
            fields = self.problem.context if self.problem.context.has_fields else ()
            such = ", ".join(f"{name!r}: …" for name in fields)
            raise ContextError(
                f"decide takes a context as a dictionary: decide({{{such}}}), given "
                f"{given or 'none'}"
            )
        if type(context) is not dict and not isinstance(context, Mapping):
            raise ContextError(f"decide takes a context as a dictionary, given {shown(context)}")
        reason = ""
        if self._narrows:
            allowed, _, reason = self._narrowed(eligible)
        else:
            allowed = self._everyone if eligible is None else self._positions(eligible)
        request = made(Request, (context, self._look(context), allowed))
        chance: float | None = 1.0
        if self._generator is None:
            arm = self._leader(request)
        else:
            arm, chance = self._drawn_with(generator, request)
        estimate = self._estimate(request, arm)
        if estimate is not None and not math.isfinite(estimate):
            estimate = None
        if not reason:
            is_unseen = estimate is None and not self._counts.observed[arm]
            reason = self._unseen if is_unseen else self._why()
        return Choice(self._arms[arm], chance, estimate, reason)

    def _drawn_with(self, generator: Any, request: Request) -> tuple[int, float | None]:
        """Return an arm and its probability, drawn with a generator for this request alone."""
        own = self._generator
        if generator is not None:
            self._generator = generator
        try:
            if len(request.allowed) > 1:
                return self._draw_with_chance(request)
            return self._draw(request), 1.0
        finally:
            self._generator = own

    def _by_name(self, method: str, given: Iterable[Any]) -> ContextError:
        """Return the error of a context without names."""
        fields = self.problem.context
        return by_name(method, given, fields if fields.has_fields else ())

    def explain(
        self, /, *nameless: Never, eligible: Collection[str] | None = None, **context: Any
    ) -> Explanation:
        """Return each arm's estimate, bonus, index and probability, the choice and the reason."""
        if nameless:
            raise self._by_name("explain", nameless)
        left = self._narrowed(eligible)
        request = Request(context, self._look(context), left.allowed)
        indices = [float(index) for index in request.once(self._indices)]
        counted = request.once(self._counted)
        known = [1.0] if len(left.allowed) == 1 else self._chances(request)
        chances = dict(zip(request.allowed, known, strict=True)) if known else {}
        allowed = set(request.allowed)
        in_flight = self._counts.in_flight if counted.in_flight is None else counted.in_flight
        is_reward = self.traits.index_is_reward
        columns = (counted.pulls, in_flight, self._told(request), indices)
        rows = [
            ArmExplanation(
                arm=arm,
                pulls=max(pulls - waiting, 0),
                estimate=estimate if estimate is None or math.isfinite(estimate) else None,
                bonus=bonus_of(index, estimate) if is_reward or math.isinf(index) else None,
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
            trial=counted.trials + 1,
            arms=rows,
            arm=next((row.arm for row in rows if row.chance == 1.0), None),
            reason=left.reason or f"{self._reason(request, indices)}{left.note(self._arms)}",
            note=self._index_note(),
        )

    def estimates(self, /, *nameless: Never, **context: Any) -> list[float | None]:
        """Return the estimated reward of each arm in a context, None if there is no estimate."""
        if nameless:
            raise self._by_name("estimates", nameless)
        return list(self._told(Request(context, self._look(context), self._everyone)))

    def indices(self, /, *nameless: Never, **context: Any) -> list[float]:
        """Return the index of each arm in a context; infinite for an arm that must go first."""
        if nameless:
            raise self._by_name("indices", nameless)
        request = Request(context, self._look(context), self._everyone)
        return [float(index) for index in self._indices(request)]

    def _told(self, request: Request) -> Sequence[float | None]:
        """Return the estimates without what is assumed of arms that have not answered yet."""
        estimates = request.once(self._estimates)
        unanswered = request.once(self._counted).unanswered
        if not unanswered:
            return estimates
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
        """Return the allowed arms that tie for the highest of these indices: the tie rule."""
        by_pulls = self.traits.breaks_ties_by_pulls
        pulls = request.once(self._counted).pulls if by_pulls else None
        return foremost(indices, request.allowed, pulls)

    def _positions(self, eligible: Collection[str]) -> Sequence[int]:
        if isinstance(eligible, str):
            raise InputError(f"eligible takes a list of arms, given the text {shown(eligible)}")
        try:
            arms = iter(eligible)
        except TypeError:
            raise InputError(f"eligible takes a list of arms, given {shown(eligible)}") from None
        known, given = self._position, list(arms)
        try:
            positions = sorted({known[arm] for arm in given})
        except (KeyError, TypeError):
            positions = sorted({self._find(arm) for arm in given})  # raises the error
        if not positions:
            raise InputError("eligible needs at least one arm, given none")
        return positions

    def has_arm(self, arm: str) -> bool:
        """Return whether there is an arm of this name; quick, however many there are.

        >>> from onepull import DCB, Finite, Problem
        >>> policy = DCB(Problem(arms=["a", "b"], state={"x": Finite([0, 1])}, reward="x"))
        >>> policy.has_arm("b"), policy.has_arm("c")
        (True, False)
        """
        return arm in self._position

    def _find(self, arm: Any) -> int:
        try:
            return self._position[arm]
        except (KeyError, TypeError):
            raise UnknownArm(f"unknown arm {shown(arm)}; the arms are {some(self._arms)}") from None

    @property
    def draws(self) -> bool:
        """Whether the policy draws at random, even if only to break ties."""
        return self._generator is not None

    def reseed(self, seed: int | np.random.Generator) -> None:
        """Use another random generator from now on."""
        self._generator = savefile.seeded(seed)
