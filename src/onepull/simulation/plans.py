"""From a policy of the library to the plan that runs it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from itertools import takewhile
from typing import Any

import numpy as np

from onepull.environment.environment import Environment
from onepull.factor import Cells, Factorisation, Histogram, LowRank, Sketch
from onepull.payoff.written import WrittenPayoff
from onepull.policies import (
    ContextualZooming,
    FixedArm,
    Genie,
    LinearThompson,
    LinUCB,
    Policy,
    Random,
)
from onepull.policies.explorer import Explorer
from onepull.policies.sharing import Blind, PerContext
from onepull.simulation import trials
from onepull.simulation.draws import place, show
from onepull.simulation.linear import LinearPlan
from onepull.simulation.plan import Arms, FunctionRunner, Plan, Runner
from onepull.simulation.rules import ruling
from onepull.simulation.sharing_plans import sharing_plan
from onepull.simulation.trials import Stretch
from onepull.simulation.world import World
from onepull.simulation.zooming import ZoomPlan
from onepull.spaces import Finite

# Policies that learn in ways of their own, each with a kernel.
OWN_PLANS: dict[type[Policy], Callable[[Any], Plan]] = {
    LinUCB: LinearPlan,
    LinearThompson: LinearPlan,
    ContextualZooming: ZoomPlan,
}


def plan(policy: Policy, environment: Environment, horizon: int) -> Plan:
    """Return the plan of a policy; one that has no kernel runs in the interpreter."""
    if isinstance(policy, Genie) and policy.states != environment.states:
        return Interpreted(policy)  # it knows another world
    if type(policy) in (FixedArm, Genie, Random):
        return _unlearned(policy)
    if type(policy) in OWN_PLANS and (policy.randomised or not policy.draws):
        computes = _can_compute(environment, in_context=True)
        return OWN_PLANS[type(policy)](policy) if computes else Interpreted(policy)
    if not isinstance(policy, Explorer) or not _can_compute(
        environment, in_context=isinstance(policy.sharing, Blind | PerContext)
    ):
        return Interpreted(policy)
    rule = ruling(policy, horizon)
    if rule is None or not _has_kernel(policy, environment):
        return Interpreted(policy)
    return sharing_plan(policy.sharing, environment, rule, horizon)


def _has_kernel(policy: Explorer, environment: Environment) -> bool:
    """Whether a policy does what the kernels do: someone's subclass may do otherwise."""
    steps = {"choose", "observe", "_indices", "_leader", "_chances", "_draw"}
    own = takewhile(lambda kind: kind not in ruling.registry, type(policy).__mro__)
    sharing = policy.sharing
    return (
        not any(steps & vars(kind).keys() for kind in own)
        and (policy.randomised or not policy.draws)
        and type(sharing) in sharing_plan.registry
        and _has_features(getattr(sharing, "factor", None), environment)
    )


def _has_features(factor: Factorisation | None, environment: Environment) -> bool:
    """Whether kernels can work out ψ: someone's factorisation may be anything."""
    if factor is None or isinstance(factor, Cells):
        return True
    listed = all(law.atoms is not None for piece in environment.pieces() for law in piece.states)
    if isinstance(factor, Sketch):
        return listed or not any(isinstance(s, Finite) for s in environment.problem.state.values())
    return isinstance(factor, Histogram | LowRank)


def _can_compute(environment: Environment, *, in_context: bool) -> bool:
    """Whether kernels get every reward they need: from a formula, or from tables over atoms."""
    if isinstance(environment.problem.payoff, WrittenPayoff):
        return True
    laws = [law for piece in environment.pieces() for law in piece.states]
    if in_context:  # rewards are needed in the very context of each pull
        laws += [piece.contexts for piece in environment.pieces()]
    return all(law.atoms is not None for law in laws)


def _unlearned(policy: Policy) -> Plan:
    """Return the plan of a policy whose arms do not depend on what it sees."""

    def fixed(stretch: Stretch, own_key: int, chosen: Arms) -> None:
        del stretch, own_key
        chosen[:] = policy.problem.arms.index(policy.parameters["arm"])

    def genie(stretch: Stretch, own_key: int, chosen: Arms) -> None:
        del own_key
        trials.best_arms(stretch.rows, stretch.gaps, chosen)

    def random(stretch: Stretch, own_key: int, chosen: Arms) -> None:
        trials.random_arms(stretch.first, np.uint64(own_key), len(policy.problem.arms), chosen)

    return Unlearned({FixedArm: fixed, Genie: genie, Random: random}[type(policy)])


class Unlearned(Plan):
    """A policy that does not learn: a function of the stretch and of its own luck."""

    def __init__(self, pick: Callable[[Stretch, int, Arms], None]) -> None:
        self.pick = pick

    def begin(self, own_key: int) -> Runner:
        """Return a runner that has seen nothing."""
        return FunctionRunner(lambda stretch, _, chosen: self.pick(stretch, own_key, chosen))


class Interpreted(Plan):
    """Any policy, called request by request: about a hundred times slower."""

    is_compiled = False
    nanoseconds = 8000.0

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def begin(self, own_key: int) -> Runner:
        """Return a runner that has seen nothing."""
        twin = deepcopy(self.policy)
        if twin.draws:
            twin.reseed(own_key)
        return _InterpretedRunner(twin)


class _InterpretedRunner:
    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def run(self, stretch: Stretch, world: World, chosen: Arms) -> None:
        problem = world.problem
        position = {arm: j for j, arm in enumerate(problem.arms)}
        shown = np.zeros(len(problem.state))
        for i in range(len(stretch.rows)):
            context = dict(zip(problem.context, stretch.contexts[i].tolist(), strict=True))
            arm = self.policy.choose(**context)
            j, trial = position[arm], stretch.first + i
            at_arm = place(trial, len(position), j)
            show(world.states, j, stretch.key, at_arm, trial, shown)
            state = dict(zip(problem.state, shown.tolist(), strict=True))
            self.policy.observe(arm, **context, **state)
            chosen[i] = j
