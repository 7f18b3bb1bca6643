"""Policies made of a sharing, which stores statistics, and a rule, which chooses the arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isinf, nextafter
from typing import Any, ClassVar, TypeVar

import numpy as np

from onepull.errors import ParameterError
from onepull.index.rules import (
    MeanRule,
    Rule,
    TurnRule,
    is_overdue,
    leading_mean,
    leading_of_arms,
)
from onepull.index.schedules import drawn_evenly
from onepull.policies.request import Request
from onepull.policies.revaluable import Revaluable
from onepull.policies.sharing.exact_changes import check_sketched
from onepull.policies.sharing.in_flight import Counted, counted, of_each_arm
from onepull.policies.sharing.sharing import Sharing
from onepull.policies.ties import best_of, foremost
from onepull.problem import Problem
from onepull.statistics import UNPULLED, ArmStatistics

Kind = TypeVar("Kind", bound=type["RulePolicy"])

# Attributes that a subclass may override without changing what it chooses or learns.
FREE = frozenset({
    "__init__", "__doc__", "__module__", "__qualname__", "__annotations__", "__annotate__",
    "__annotations_cache__", "__static_attributes__", "__firstlineno__", "__orig_bases__",
    "__parameters__", "__abstractmethods__", "_abc_impl", "__slots__", "__dict__", "__weakref__",
    "__repr__", "_repr_html_", "parameters", "_stated", "_written", "_shown", "traits", "guarantee",
    "check_observation", "clipped_fields", "copy", "fresh", "has_arm", "is_in_flight", "to_dict",
    "explain", "_why", "_reason", "_index_note", "_unseen", "_runs_rules", "_keeps_to_rule",
})  # fmt: skip


def _definitions(kind: type) -> dict[str, Any]:
    """Return what a class defines or inherits, by name."""
    return {name: value for base in reversed(kind.__mro__) for name, value in vars(base).items()}


# Attributes of a policy that may be otherwise than in a new one: it was asked, or is in a fleet.
PASSING = frozenset({"_counts", "_controls", "_narrows", "_fleet", "_loaded", "_generator"})


def set_beside_rule(policy: RulePolicy) -> list[str]:
    """Return the attributes that a policy's constructor sets otherwise than its rule says.

    Only those that choosing and learning read.  The class redefines nothing beside its rule.

    >>> from onepull import DCB, Finite, Problem
    >>> class Own(DCB):
    ...     def __init__(self, problem):
    ...         super().__init__(problem)
    ...         self.note, self._leader = "harmless", lambda request: 0
    >>> problem = Problem(arms=["a", "b"], state={"x": Finite([0, 1])}, reward="x")
    >>> set_beside_rule(DCB(problem)), set_beside_rule(Own(problem))
    ([], ['_leader'])
    """
    usual = object.__new__(type(policy))
    RulePolicy.__init__(usual, policy.sharing, policy.rule, seed=0)
    own, told = vars(policy), vars(usual)
    if isinstance(usual, TurnPolicy) and own.get("_until"):
        usual._tabulate(1)  # as it was asked before it learned
    others = {n for n in told.keys() - PASSING if n not in own or not _same(own[n], told[n])}
    known = next(kind for kind in type(policy).__mro__ if vars(kind).get("_runs_rules"))
    return sorted(others | {n for n in own.keys() - told.keys() - FREE if hasattr(known, n)})


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return one is other or bool(one == other)


def runs_rules(kind: Kind) -> Kind:
    """Mark a class that runs rules itself: the simulator's kernels do what its methods do."""
    kind._runs_rules = True  # noqa: SLF001 - marks of ours
    kind._keeps_to_rule = True  # noqa: SLF001 - the same
    return kind


class RulePolicy(Revaluable):
    """A policy that consists of a sharing and a rule.

    The simulator compiles the rule and does not call the policy's methods.  So a subclass that
    overrides a method used for choosing or learning has no compiled form: the simulator runs it
    in the interpreter.

    Parameters
    ----------
    sharing
        What a pull teaches, and in which contexts.
    rule
        How to choose among the arms.
    seed
        Break ties at random with this seed or generator; without one the first arm wins.

    Examples
    --------
    >>> from onepull import DCB
    >>> class Doubled(DCB):
    ...     def _indices(self, request):
    ...         return [2 * index for index in super()._indices(request)]
    >>> DCB.redefines(), Doubled.redefines()
    ([], ['_indices'])
    """

    _knowledge: Sharing
    _rule: Rule
    _runs_rules: ClassVar[bool] = False
    _keeps_to_rule: ClassVar[bool] = False  # whether nothing beside the rule is redefined

    def __init_subclass__(cls, **options: Any) -> None:
        """Note whether a subclass redefines anything beside its rule."""
        super().__init_subclass__(**options)
        cls._keeps_to_rule = not cls.redefines()

    def __init__(
        self, sharing: Sharing, rule: Rule, *, seed: int | np.random.Generator | None = None
    ) -> None:
        self._rule = rule
        super().__init__(sharing, seed=seed)

    @classmethod
    def redefines(cls) -> list[str]:
        """Return the overridden methods that keep the simulator from compiling this class."""
        for kind in cls.__mro__:
            if vars(kind).get("_runs_rules"):
                own, known = _definitions(cls), _definitions(kind)
                return sorted(name for name in known.keys() - FREE if own[name] is not known[name])
        return ["the whole decision"]

    @property
    def rule(self) -> Rule:
        """The rule that chooses."""
        return self._rule

    @property
    def sharing(self) -> Sharing:
        """What a pull teaches in which contexts, with everything learned."""
        return self._knowledge

    @property
    def delta(self) -> float | dict[str, float] | None:
        """The largest width of a cell, if interval contexts were divided into cells."""
        return self._knowledge.delta

    def _obstacle(self) -> str:
        if self._knowledge.keeps_states:
            return ""
        return (
            f"{type(self).__name__} stores rewards, not states, so it cannot compute another "
            "reward; use a policy that stores a histogram or a sketch"
        )

    def _revalue(self, learned: Any, accepted: float | None) -> None:
        check_sketched(learned, self._knowledge, accepted)
        super()._revalue(learned, accepted)

    def _stated(self, name: str) -> Any:
        found = super()._stated(name)
        # The parameter is the name of the sharing, which itself is what was learned.
        return found.name or found if name == "sharing" else found

    def _look(self, context: Mapping[str, Any]) -> Any:
        return self._knowledge.view(context)

    def _counted(self, request: Request) -> Counted:
        view = request.view
        if isinstance(view, tuple) and view and isinstance(view[0], ArmStatistics):
            return counted(view[0])
        return super()._counted(request)  # a subclass may look at something else

    def _estimates(self, request: Request) -> Sequence[float | None]:
        return [float(estimate) for estimate in request.view[1]]

    def _estimate(self, request: Request, arm: int) -> float | None:
        if not self._keeps_to_rule:  # a subclass may estimate otherwise
            return super()._estimate(request, arm)
        view = request.view
        return UNPULLED if view[0].unanswered(arm) else float(view[1][arm])


@runs_rules
class MeanPolicy(RulePolicy):
    """Base class of policies that compute an index from mean rewards: UCB1, DCB, CCB, kl-UCB.

    >>> from onepull import Finite, Interval
    >>> from onepull.index.hoeffding import hoeffding
    >>> from onepull.policies import shared
    >>> problem = Problem(
    ...     arms=["a", "b"], context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x*y"
    ... )
    >>> class UCB(MeanPolicy):
    ...     def __init__(self, problem, *, seed=None):
    ...         super().__init__(shared(problem, "joint", None), hoeffding(2.0), seed=seed)
    ...     parameters = {}
    >>> UCB(problem).choose(y=1)
    'a'
    """

    _rule: MeanRule

    def __init__(
        self, sharing: Sharing, rule: MeanRule, *, seed: int | np.random.Generator | None = None
    ) -> None:
        kept = getattr(sharing, "statistics", None)
        if rule.patience and kept is not None and not hasattr(kept, "seen"):
            raise ParameterError(
                f"patience={rule.patience} needs statistics that remember when an arm was last "
                f"observed, given {type(kept).__name__}"
            )
        super().__init__(sharing, rule, seed=seed)

    def _leader(self, request: Request) -> int:
        _, (statistics, estimates, low, high), allowed = request
        # Read from the rule, as the simulator does: a copy of a part could be another one.
        rule = self._rule
        if allowed is not self._everyone or rule.patience or not self._keeps_to_rule:
            return self._leader_among(request)
        if self.problem.attributes:
            lows, highs = (of_each_arm(bound, len(self._arms)) for bound in (low, high))
            return leading_of_arms(
                estimates, statistics.roots, lows, highs,
                rule.exploration(statistics.trial, *rule.parameters), rule.aim, rule.index,
                rule.breaks_ties_by_pulls,
            )  # fmt: skip
        trial = statistics.trials + statistics.waiting + 1  # a property would be slower
        aim_of = rule.aim  # calling an attribute that is no method would be slower
        aim = aim_of(low, high, rule.exploration(trial, *rule.parameters))
        if statistics.in_lists and rule.cap is None and not rule.breaks_ties_by_pulls:
            return leading_mean(estimates, statistics.roots, rule.index, aim)
        return statistics.leader(rule, estimates, aim)  # type: ignore[no-any-return]  # a position

    def _leader_among(self, request: Request) -> int:
        """Return the leader of some arms, without the indices of the others if that is quicker."""
        rule, (statistics, estimates, low, high) = self._rule, request.view
        is_plain = not (rule.patience or rule.cap or rule.breaks_ties_by_pulls)
        is_plain = is_plain and self._keeps_to_rule and statistics.in_lists
        if not is_plain or self.problem.attributes:
            return super()._leader(request)
        aim, index = self._aim_at(statistics, low, high), rule.index
        roots, allowed = statistics.roots, request.allowed
        found = [index(estimates[j], roots[j], aim) for j in allowed]
        return allowed[best_of(found, range(len(found)))[0]]

    def _aim_at(self, statistics: ArmStatistics, low: Any, high: Any) -> Any:
        """Return what the rule computes once for all arms; `_leader` does so in place."""
        rule = self._rule
        trial = statistics.trials + statistics.waiting + 1
        return rule.aim(low, high, rule.exploration(trial, *rule.parameters))

    def _scores(self, request: Request) -> Any:
        """Return every index without the error of the features, which is the same for all arms."""
        rule = self._rule
        statistics, estimates, low, high = request.view
        if self.problem.attributes:
            lows, highs = (of_each_arm(bound, len(self._arms)) for bound in (low, high))
            explored = rule.exploration(statistics.trial, *rule.parameters)
            aims = [rule.aim(low, high, explored) for low, high in zip(lows, highs, strict=True)]
            scores = [
                rule.index(*each) for each in zip(estimates, statistics.roots, aims, strict=True)
            ]
            low, high = min(lows), max(highs)
            aim = rule.aim(low, high, explored)
        else:
            aim = self._aim_at(statistics, low, high)
            scores = statistics.score(rule, estimates, aim)
        if rule.patience and (overdue := self._overdue(request)):
            # Above every possible index, below that of an arm that was never pulled.  In a narrow
            # range the sum may round to an index.
            next_up = nextafter(max(score for score in scores if score < inf), inf)
            first = max(high + (high - low) + rule.index(0.0, 1.0, aim), next_up)
            for arm in overdue:
                scores[arm] = first
        return scores

    def _indices(self, request: Request) -> Any:
        error = self._knowledge.error
        if not error:
            return self._scores(request)
        return [score + error for score in request.once(self._scores)]

    def _overdue(self, request: Request) -> list[int]:
        """Return the arms that were not observed for `patience` trials, so that they come first."""
        if not self._rule.patience:
            return []
        statistics, patience = request.view[0], self._rule.patience
        return [
            arm
            for arm, seen in enumerate(statistics.seen)
            if is_overdue(seen, statistics.trials, patience)
            and statistics.pulls[arm]
            and not statistics.in_flight[arm]
        ]

    def _foremost(self, request: Request, indices: Any) -> list[int]:
        if self._knowledge.error and self._keeps_to_rule:
            indices = request.once(self._scores)  # adding the error may round two indices to a tie
        if not self._rule.breaks_ties_by_pulls:
            return best_of(indices, request.allowed)
        # The more pulls, the smaller the root.
        return foremost(indices, request.allowed, [-root for root in request.view[0].roots])


@runs_rules
class TurnPolicy(RulePolicy):
    """Base class of policies that explore on a schedule and otherwise play the best estimate.

    >>> from onepull import DSEE, EpsilonGreedy
    >>> issubclass(DSEE, TurnPolicy), issubclass(EpsilonGreedy, TurnPolicy)
    (True, True)
    """

    _rule: TurnRule

    def __init__(
        self, sharing: Sharing, rule: TurnRule, *, seed: int | np.random.Generator | None = None
    ) -> None:
        if rule.draws and seed is None:
            raise ParameterError(
                f"{type(self).__name__} draws its turns: it needs a seed or a generator, given None"
            )
        super().__init__(sharing, rule, seed=seed)

    def _foremost(self, request: Request, indices: Any) -> list[int]:
        return best_of(indices, request.allowed)

    def _set_problem(self, problem: Problem) -> None:
        super()._set_problem(problem)
        self._table: Any = ()
        self._until = 0

    def _tabulate(self, trial: int) -> None:
        """Tabulate what `turn` looks up, up to twice a trial that is not in the table."""
        rule = self._rule
        if rule.table is not None and trial > self._until:
            self._until = 2 * trial
            self._table = rule.table(self._until, len(self._arms), *rule.parameters)

    def _turn(self, request: Request, u: float, arms: int) -> int:
        """Return the number, among `arms`, of the arm whose turn it is, or -1."""
        rule, statistics = self._rule, request.view[0]
        trial = statistics.trial
        self._tabulate(trial)
        return rule.turn(u, trial, arms, self._table, *rule.parameters)

    def _due(self, request: Request) -> int | None:
        """Return the arm whose turn it is, or None if turns are random or an arm is unpulled."""
        if self._rule.draws or 0 in request.view[0].counts:
            return None
        arm = self._turn(request, 0.0, len(self._arms))
        return arm if arm in request.allowed else None

    def _indices(self, request: Request) -> Any:
        indices = list(request.view[1])
        if (arm := self._due(request)) is not None:
            indices[arm] = inf
        return indices

    def _draw(self, request: Request) -> int:
        if not self._rule.draws:
            return super()._draw(request)
        return self._drawn_beside(best_of(request.view[1], request.allowed)[0], request)

    def _draw_with_chance(self, request: Request) -> tuple[int, float | None]:
        if not (self._rule.draws and self._keeps_to_rule):
            return super()._draw_with_chance(request)
        best = best_of(request.view[1], request.allowed)[0]
        arm, rate = self._drawn_beside(best, request), self._rate(request)
        return arm, _turn_chance(rate, len(request.allowed), leads=arm == best)

    def _drawn_beside(self, best: int, request: Request) -> int:
        """Return an arm if it is time to draw one, the best one otherwise."""
        if isinf(request.view[1][best]):
            return best  # an arm that was never pulled comes first
        assert self._generator is not None  # noqa: S101 - a random rule has one
        u, allowed = self._generator.random(), request.allowed
        if allowed is self._everyone:
            arm = int(self._turn(request, u, len(allowed)))
        else:  # drawn evenly among those allowed, as often as among all
            arm = drawn_evenly(u, self._rate(request), len(allowed))
        return allowed[arm] if 0 <= arm < len(allowed) else best

    def _chances(self, request: Request) -> Sequence[float] | None:
        if not self._rule.draws:
            return super()._chances(request)
        allowed, rate = request.allowed, self._rate(request)
        best = best_of(request.view[1], allowed)[0]
        return [_turn_chance(rate, len(allowed), leads=arm == best) for arm in allowed]

    def _rate(self, request: Request) -> float:
        """Return the probability of exploring; 0 while an allowed arm was never pulled."""
        rule, statistics = self._rule, request.view[0]
        estimates = request.view[1]
        if rule.chance is None or inf in [estimates[j] for j in request.allowed]:
            return 0.0
        return rule.chance(statistics.trial, len(self._arms), *rule.parameters)

    def _why(self) -> str:
        return "highest estimate"


def _turn_chance(rate: float, arms: int, *, leads: bool) -> float:
    """Return the probability of an arm if one of several is drawn evenly at a rate."""
    return rate / arms + (1.0 - rate if leads else 0.0)
