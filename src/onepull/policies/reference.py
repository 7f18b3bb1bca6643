"""Baselines: the simplest policies, and the genie that knows the true distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from onepull.checks import shown, some
from onepull.distributions import Discrete, Distribution
from onepull.distributions.fits_space import fitted
from onepull.environment.outcomes import outcome_law
from onepull.errors import InputError, ParameterError
from onepull.factor import partition
from onepull.index.hoeffding import hoeffding
from onepull.payoff import State
from onepull.policies.policy import Policy
from onepull.policies.request import Request
from onepull.policies.rule_policy import MeanPolicy
from onepull.policies.sharing.blind import PullsOnly
from onepull.policies.sharing.joint import Joint
from onepull.policies.traits import Traits
from onepull.problem import Problem, given_problem

REMEMBERED_CONTEXTS = 1024  # whose means a genie keeps: to integrate over states takes milliseconds


class Random(Policy):
    """Baseline that draws an arm uniformly at random for each request.

    Use it to see how much learning gains.  It stores the number of pulls of each arm.

    >>> from onepull import Finite, Interval, Problem
    >>> problem = Problem(
    ...     arms=["a", "b"], context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x*y"
    ... )
    >>> policy = Random(problem, seed=1)
    >>> {policy.choose(y=1) for _ in range(100)} == {"a", "b"}
    True
    """

    traits = Traits(randomised=True, needs_no_lowest_reward=True)
    guarantee = "linear regret unless all arms are equally good, since it never learns"

    def __init__(self, problem: Problem, *, seed: int | np.random.Generator = 0) -> None:
        super().__init__(PullsOnly(problem), seed=seed)

    def _indices(self, request: Request) -> list[float]:
        del request
        return [0.0] * len(self._arms)

    def _why(self) -> str:
        return "all arms are alike"


class FixedArm(Policy):
    """Baseline that always pulls the same arm, or the first eligible arm if it is not eligible.

    Use it to compare with a fixed choice.  It stores the number of pulls of each arm.

    >>> from onepull import Finite, Interval, Problem
    >>> problem = Problem(
    ...     arms=["a", "b"], context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x*y"
    ... )
    >>> FixedArm(problem, arm="b").choose(y=1)
    'b'
    """

    traits = Traits(needs_no_lowest_reward=True)
    guarantee = "linear regret unless its arm is best in every context, since it never learns"

    def __init__(self, problem: Problem, *, arm: str) -> None:
        super().__init__(PullsOnly(problem))
        self.arm = self._arms[self._find(arm)]

    def remove_arm(self, arm: str) -> None:
        """Remove an arm that is not the fixed one."""
        if self._find(arm) == self._find(self.arm):
            raise InputError(f"arm {arm!r} is the fixed arm and cannot be removed")
        super().remove_arm(arm)

    def _indices(self, request: Request) -> list[float]:
        del request
        return [1.0 if arm == self.arm else 0.0 for arm in self._arms]

    def _why(self) -> str:
        return f"{self.arm} is always pulled where it can be"


class Greedy(MeanPolicy):
    """Baseline that learns like DCB or CCB and plays the best estimate, without exploring.

    Index: θ̂.  Use it to see how much exploration matters.  It pulls each arm once and may then
    stay with a wrong arm for ever.  It stores as many numbers as DCB or CCB.

    >>> from onepull import Finite, Interval, Problem
    >>> problem = Problem(
    ...     arms=["a", "b"], context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x*y"
    ... )
    >>> policy = Greedy(problem)
    >>> policy.observe_many(["a", "b"], x=[0.2, 0.1])
    >>> policy.choose(y=1)
    'a'
    """

    guarantee = "no bound, since it may stay with a wrong arm for ever"

    def __init__(
        self,
        problem: Problem,
        *,
        delta: float | Mapping[str, float] | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(Joint(partition(problem, delta)), hoeffding(0.0), seed=seed)

    def _why(self) -> str:
        return "highest estimate"


class Genie(Policy):
    """Baseline that knows the distribution of each arm and plays the best arm for the context.

    Index: the expected reward in the context.  Regret is measured against it.  `states` may
    contain arms that are added later.  It stores the number of pulls of each arm.

    >>> from onepull import Finite, Interval, Problem
    >>> problem = Problem(
    ...     arms=["steady", "risky"],
    ...     context={"bits": Finite([1, 4])},
    ...     state={"capacity": Interval(0, 4)},
    ...     reward="min(bits, capacity)",
    ... )
    >>> genie = Genie(problem, states={
    ...     "steady": Discrete([1], [1.0]), "risky": Discrete([0, 4], [0.5, 0.5])
    ... })
    >>> genie.choose(bits=1), genie.choose(bits=4)
    ('steady', 'risky')
    """

    traits = Traits(needs_no_lowest_reward=True)
    guarantee = (
        "no regret if its distributions are the true ones, since regret is measured against it"
    )

    def __init__(self, problem: Problem, *, states: Mapping[str, Distribution]) -> None:
        if not isinstance(states, Mapping):
            raise ParameterError(
                f"states are given by arm, such as {{{given_problem(problem).arms[0]!r}: "
                f"Uniform(0, 1)}}, given {shown(states)}"
            )
        self.problem, self.states = given_problem(problem), dict(states)
        for arm in problem.arms:
            self._known(arm)
        super().__init__(PullsOnly(problem))

    def _known(self, arm: str) -> None:
        if not isinstance(arm, str) or arm not in self.states:  # type: ignore[redundant-expr]
            raise ParameterError(
                f"the distribution of arm {shown(arm)} is missing; states has "
                f"{some(map(str, self.states))}"
            )
        fitted(self.states[arm], self.problem.state, f"the states of arm {arm!r}")

    @property
    def parameters(self) -> dict[str, Any]:
        """The distributions, as text."""
        return {"states": {arm: repr(law) for arm, law in self.states.items()}}

    def _written(self) -> dict[str, Any]:
        told = {}
        for arm, law in self.states.items():
            if not isinstance(law, Discrete):
                raise ParameterError(
                    f"arm {arm!r}: only a Discrete distribution can be saved, given {law!r}"
                )
            told[arm] = {
                "values": law.values.tolist(),
                "probabilities": law.probabilities.tolist(),
            }
        return {"states": told}

    @classmethod
    def _rebuilt(cls, problem: Problem, parameters: dict[str, Any]) -> Self:
        states = {arm: Discrete(**law) for arm, law in parameters["states"].items()}
        return cls(problem, states=states)

    def add_arm(self, arm: str, /, **attributes: float | str) -> None:
        """Add an arm whose distribution is in `states`."""
        self._known(arm)
        super().add_arm(arm, **attributes)

    def _set_problem(self, problem: Problem) -> None:
        super()._set_problem(problem)
        self._means: dict[State, list[float]] = {}
        self._outcomes = {
            arm: outcome_law(problem, arm, fitted(self.states[arm], problem.state, f"arm {arm!r}"))
            for arm in problem.arms
            if arm in self.states
        }

    def _look(self, context: Mapping[str, Any]) -> list[float]:
        values = self.problem.context.exactly(context)
        if (found := self._means.get(values)) is None:
            payoff = self.problem.payoff
            found = [
                self._outcomes[arm].expectation(lambda *state: payoff.vector(*values, *state))
                for arm in self._arms
            ]
            if len(self._means) >= REMEMBERED_CONTEXTS:
                self._means.clear()
            self._means[values] = found
        return list(found)

    def _indices(self, request: Request) -> list[float]:
        return request.view  # type: ignore[no-any-return]  # what `_look` returned

    def _estimates(self, request: Request) -> Sequence[float | None]:
        return request.view  # type: ignore[no-any-return]  # the same

    def _why(self) -> str:
        return "highest expected reward"
