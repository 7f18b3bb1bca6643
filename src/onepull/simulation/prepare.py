"""Prepare a policy for the simulator: find its kernel, or run it in the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np

from onepull.environment.environment import Environment
from onepull.policies import (
    AdaptiveKL,
    CoarseKL,
    ContextualZooming,
    FixedArm,
    Genie,
    LinearThompson,
    LinUCB,
    PatientKL,
    Policy,
    Random,
)
from onepull.policies.rule_policy import RulePolicy
from onepull.simulation import trials
from onepull.simulation.compilable import (
    can_compute,
    forgets,
    why_no_features,
    why_no_kernel,
    why_not_as_new,
)
from onepull.simulation.draws import place, show
from onepull.simulation.feedback_queue import NEVER, Post, comes_at, post_of
from onepull.simulation.kernels.linear import PreparedLinear
from onepull.simulation.kernels.patient import PreparedPatient
from onepull.simulation.kernels.ruling import CannotCompile, ruling, try_psi
from onepull.simulation.kernels.set_likelihood import PreparedCoarse
from onepull.simulation.kernels.zooming import PreparedZoom
from onepull.simulation.prepare_kept import PreparedKept
from onepull.simulation.prepare_late import prepare_late
from onepull.simulation.prepare_sharing import prepare_sharing
from onepull.simulation.prepared import Arms, FunctionRunner, Prepared, Runner
from onepull.simulation.trials import Stretch
from onepull.simulation.world import World
from onepull.spaces import FAILED

# Policies with a kernel of their own.
OWN_KERNELS: dict[type[Policy], Callable[[Any], Prepared]] = {
    LinUCB: PreparedLinear,
    LinearThompson: PreparedLinear,
    ContextualZooming: PreparedZoom,
    PatientKL: PreparedPatient,
}
UNLEARNED = (FixedArm, Genie, Random)


def prepare(
    policy: Policy,
    environment: Environment,
    horizon: int,
    *,
    sees_states: bool = True,
    announced: bool = False,
) -> Prepared:
    """Return a policy prepared for an environment.

    It observes states, or only rewards if `sees_states` is False.  With late feedback and
    `announced`, each pull is reported to it at once.
    """
    found = _prepare(policy, environment, horizon, sees_states=sees_states)
    post = None
    if environment.is_late and type(policy) not in UNLEARNED:
        post = post_of(environment)
        found = _prepare_late(found, policy, environment, horizon, announced=announced)
    # Kernels observe states.  That is the same, since a reward that teaches determines the state.
    if isinstance(found, Interpreted):
        return Interpreted(
            policy, sees_states=sees_states, post=post, announced=announced, reason=found.reason
        )
    return found


def _prepare(  # noqa: PLR0911 - one a kind
    policy: Policy, environment: Environment, horizon: int, *, sees_states: bool
) -> Prepared:
    """Return a prepared policy for immediate feedback; without a kernel it is interpreted."""
    if (reason := why_not_as_new(policy)) is not None:
        return Interpreted(policy, reason=reason)
    if isinstance(policy, Genie) and policy.states != environment.states:
        return Interpreted(policy, reason="its distributions are not those of the environment")
    if type(policy) in UNLEARNED:
        return _unlearned(policy)
    if type(policy) in {*OWN_KERNELS, AdaptiveKL, CoarseKL}:
        return _with_own_kernel(policy, environment, sees_states=sees_states)
    if (reason := why_no_kernel(policy, environment)) is not None:
        return Interpreted(policy, reason=reason)
    assert isinstance(policy, RulePolicy)  # noqa: S101 - otherwise there is a reason
    try:
        rule = ruling(policy.rule, len(policy.problem.arms), horizon)
    except CannotCompile as error:
        return Interpreted(policy, reason=f"its rule does not compile: {error}")
    try:
        try_psi(getattr(policy.sharing, "factor", None))
    except CannotCompile as error:
        return Interpreted(policy, reason=f"its features do not compile: {error}")
    try:
        return prepare_sharing(policy.sharing, environment, rule, horizon)
    except CannotCompile as error:
        return Interpreted(policy, reason=str(error))


def _with_own_kernel(policy: Any, environment: Environment, *, sees_states: bool) -> Prepared:
    """Return a policy of a class with a kernel of its own, prepared for immediate feedback."""
    reason: str | None = None
    if policy.draws and not policy.traits.randomised:
        reason = "it breaks ties at random"
    elif isinstance(policy, CoarseKL):
        if PreparedCoarse.fits(environment):
            return PreparedCoarse(policy, sees_states=sees_states)
        reason = "its kernel lists all contexts and states, and their laws must never change"
    elif isinstance(policy, AdaptiveKL):
        if PreparedKept.fits(environment):
            return PreparedKept(policy, environment)
        reason = "its kernel cannot compute the rewards, or their range is too narrow or too wide"
    elif isinstance(policy, PatientKL):
        reason = why_no_features(policy.sharing.factor, environment)
    elif not can_compute(environment, in_context=True):
        reason = "the reward is a Python function of continuous values"
    return Interpreted(policy, reason=reason) if reason else OWN_KERNELS[type(policy)](policy)


def _prepare_late(
    usual: Prepared, policy: Policy, environment: Environment, horizon: int, *, announced: bool
) -> Prepared:
    """Return a policy prepared for late feedback; `usual` is it for immediate feedback."""
    if isinstance(usual, Interpreted):
        return usual
    if not isinstance(usual, PreparedKept):
        # Other kernels draw a state when it arrives, by the laws of then, and forget nothing.
        if len(environment.pieces()) > 1:
            return Interpreted(policy, reason="its kernel for late feedback needs lasting laws")
        if forgets(policy):
            return Interpreted(policy, reason="its kernel for late feedback does not forget")
    late = prepare_late(usual, post_of(environment), horizon, announced=announced)
    return late or Interpreted(policy, reason="it has no kernel for late feedback")


def _unlearned(policy: Policy) -> Prepared:
    """Return a prepared baseline, whose choices do not depend on observations."""

    def fixed(stretch: Stretch, own_key: int, chosen: Arms) -> None:
        del stretch, own_key
        chosen[:] = policy.problem.arms.index(policy.parameters["arm"])

    def genie(stretch: Stretch, own_key: int, chosen: Arms) -> None:
        del own_key
        trials.write_best_arms(stretch.rows, stretch.gaps, chosen)

    def random(stretch: Stretch, own_key: int, chosen: Arms) -> None:
        trials.random_arms(stretch.first, np.uint64(own_key), len(policy.problem.arms), chosen)

    return Unlearned({FixedArm: fixed, Genie: genie, Random: random}[type(policy)])


class Unlearned(Prepared):
    """A policy that does not learn: a function of the stretch and of its own random key."""

    def __init__(self, pick: Callable[[Stretch, int, Arms], None]) -> None:
        self.pick = pick

    def begin(self, own_key: int) -> Runner:
        """Return a new runner for one replication."""
        return FunctionRunner(lambda stretch, _, chosen: self.pick(stretch, own_key, chosen))


class Interpreted(Prepared):
    """Any policy, run in the interpreter request by request; about 100 times slower."""

    is_compiled = False
    nanoseconds = 8000.0

    def __init__(
        self,
        policy: Policy,
        *,
        sees_states: bool = True,
        post: Post | None = None,
        announced: bool = False,
        reason: str = "",
    ) -> None:
        self.policy, self.reason = policy, reason
        self.sees_states = sees_states
        self.post, self.announced = post, announced

    def begin(self, own_key: int) -> Runner:
        """Return a new runner for one replication."""
        twin = deepcopy(self.policy)
        if twin.draws:
            twin.reseed(own_key)
        if self.post is None:
            return _InterpretedRunner(twin, sees_states=self.sees_states)
        runner = _LateRunner(twin, sees_states=self.sees_states)
        runner.post, runner.announced = self.post, self.announced
        return runner


class _InterpretedRunner:
    def __init__(self, policy: Policy, *, sees_states: bool = True) -> None:
        self.policy = policy
        self.sees_states = sees_states

    def run(self, stretch: Stretch, world: World, chosen: Arms) -> None:
        problem = world.problem
        position = {arm: j for j, arm in enumerate(problem.arms)}
        shown = np.zeros(len(problem.outcome))
        for i in range(len(stretch.rows)):
            values = stretch.contexts[i].tolist()
            context = problem.context.fields(values)
            trial = stretch.first + i
            self._catch_up(trial)
            arm = self.policy.choose(**context)
            j = position[arm]
            at_arm = place(trial, len(position), j)
            show(world.states, j, stretch.key, at_arm, trial, shown)
            told = problem.told(shown.tolist())
            if not self.sees_states and FAILED not in told:
                told = {"reward": problem.payoff.scalar(*values, *shown.tolist())}
            self._tell(stretch.key, trial, arm, context, told)
            chosen[i] = j

    def _catch_up(self, trial: int) -> None:
        """Pass on the feedback that arrives before a trial."""

    def _tell(
        self, key: Any, trial: int, arm: str, context: dict[str, Any], told: dict[str, Any]
    ) -> None:
        """Pass the feedback of a pull to the policy."""
        del key, trial
        self.policy.observe(arm, **context, **told)


class _LateRunner(_InterpretedRunner):
    post: Post
    announced: bool

    def __init__(self, policy: Policy, *, sees_states: bool = True) -> None:
        super().__init__(policy, sees_states=sees_states)
        self._under_way: dict[int, list[tuple[str, dict[str, Any]]]] = {}
        self._delay = np.zeros(1)

    def _catch_up(self, trial: int) -> None:
        for arm, told in self._under_way.pop(trial, ()):
            self.policy.observe(arm, **told)

    def _tell(
        self, key: Any, trial: int, arm: str, context: dict[str, Any], told: dict[str, Any]
    ) -> None:
        if self.announced:
            self.policy.pulled(arm, **context)
        j = self.policy.problem.arms.index(arm)
        when = int(comes_at(self.post, key, trial, j, self._delay))
        if when != NEVER:
            self._under_way.setdefault(when, []).append((arm, context | told))
