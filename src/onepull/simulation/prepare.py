"""Prepare a policy for the simulator: find its kernel, or run it in the interpreter."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np

from onepull.environment.environment import Environment
from onepull.factor import ContextTable, Dense, Factorisation, Grid, Histogram, LowRank, Sketch
from onepull.payoff.formula_payoff import FormulaPayoff
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
from onepull.policies.sharing.blind import Blind
from onepull.policies.sharing.joint import Joint
from onepull.policies.sharing.per_context import PerContext
from onepull.policies.sharing.sharing import Sharing
from onepull.simulation import trials
from onepull.simulation.draws import place, show
from onepull.simulation.feedback_queue import NEVER, Post, comes_at, post_of
from onepull.simulation.kernels.linear import PreparedLinear
from onepull.simulation.kernels.memory import FORGETTING
from onepull.simulation.kernels.patient import PreparedPatient
from onepull.simulation.kernels.ruling import CannotCompile, ruling, try_psi
from onepull.simulation.kernels.set_likelihood import PreparedCoarse
from onepull.simulation.kernels.zooming import PreparedZoom
from onepull.simulation.prepare_kept import PreparedKept
from onepull.simulation.prepare_late import prepare_late
from onepull.simulation.prepare_sharing import prepare_sharing
from onepull.simulation.prepared import Arms, FunctionRunner, Prepared, Runner
from onepull.simulation.trials import Stretch
from onepull.simulation.world import LARGEST_TABLE, World
from onepull.spaces import FAILED, Finite

# Policies with a kernel of their own.
OWN_KERNELS: dict[type[Policy], Callable[[Any], Prepared]] = {
    LinUCB: PreparedLinear,
    LinearThompson: PreparedLinear,
    ContextualZooming: PreparedZoom,
    PatientKL: PreparedPatient,
}
OUR_FACTORS = frozenset({ContextTable, Grid, Histogram, Sketch, LowRank})
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
    if environment.is_late and type(policy) not in UNLEARNED:
        post, usual = post_of(environment), _prepare(policy, environment, horizon)
        # The other kernels for late feedback draw a state when it arrives, by the laws of then.
        # They support neither changing distributions nor forgetting.
        lasts = len(environment.pieces()) == 1 and not _forgets(policy)
        fits = lasts or isinstance(usual, PreparedKept)
        late = prepare_late(usual, post, horizon, announced=announced) if fits else None
        return late or Interpreted(policy, sees_states=sees_states, post=post, announced=announced)
    if type(policy) is CoarseKL and not policy.draws and PreparedCoarse.fits(environment):
        return PreparedCoarse(policy, sees_states=sees_states)
    found = _prepare(policy, environment, horizon)
    # Kernels observe states.  That is the same, since a reward that teaches determines the state.
    if isinstance(found, Interpreted):
        return Interpreted(policy, sees_states=sees_states, reason=found.reason)
    return found


def _forgets(policy: Policy) -> bool:
    """Whether a policy forgets old observations."""
    return isinstance(policy, RulePolicy) and policy.sharing.forgets


def _prepare(policy: Policy, environment: Environment, horizon: int) -> Prepared:  # noqa: PLR0911 - one a kind
    """Return a prepared policy for immediate feedback; without a kernel it is interpreted."""
    if isinstance(policy, Genie) and policy.states != environment.states:
        return Interpreted(policy)  # its distributions are not those of the environment
    if type(policy) in UNLEARNED:
        return _unlearned(policy)
    if type(policy) in OWN_KERNELS and (policy.traits.randomised or not policy.draws):
        computes = _can_compute(environment, in_context=True)
        if isinstance(policy, PatientKL):
            computes = _has_features(policy.sharing.factor, environment)
        return OWN_KERNELS[type(policy)](policy) if computes else Interpreted(policy)
    if type(policy) is AdaptiveKL and not policy.draws and PreparedKept.fits(environment):
        return PreparedKept(policy, environment)
    if (reason := _why_not(policy, environment)) is not None:
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
    return prepare_sharing(policy.sharing, environment, rule, horizon)


def _why_not(policy: Policy, environment: Environment) -> str | None:  # noqa: PLR0911 - one a reason
    """Return why no kernel does what a policy does, or nothing if one does.

    Kernels run a rule on a sharing.  They ignore other methods that a policy's class overrides.
    """
    if not isinstance(policy, RulePolicy):
        return f"{type(policy).__name__} is not made of a rule and a sharing"
    sharing = policy.sharing
    factor = getattr(sharing, "factor", None)
    if own := policy.redefines():
        return f"{type(policy).__name__} overrides {', '.join(own)}"
    if policy.draws and not policy.traits.randomised:
        return "it breaks ties at random"
    if type(sharing) not in prepare_sharing.registry:
        return f"the sharing {type(sharing).__name__} has no kernel"
    if sharing.forgets and not _can_forget(sharing):
        return "forgetting is compiled only for joint sharing"
    if not _has_features(factor, environment):
        return f"{type(factor).__name__} has no compiled features for continuous states"
    if not _can_compute(environment, in_context=isinstance(sharing, Blind | PerContext)):
        return "the reward is a Python function of continuous values"
    return None


def _can_forget(sharing: Sharing) -> bool:
    """Whether kernels support the way in which a sharing forgets."""
    return isinstance(sharing, Joint) and type(sharing.statistics) in FORGETTING


def _has_features(factor: Factorisation | None, environment: Environment) -> bool:
    """Whether kernels can compute ψ, or look it up in a table of all states."""
    if factor is None:
        return True
    if not _keeps_to_contract(factor):
        return False
    has_lists = any(isinstance(space, Finite) for space in environment.problem.state.values())
    if factor.at_contexts is not None or (factor.plain_psi is not None and not has_lists):
        return True
    pieces = [[law.atoms for law in piece.states] for piece in environment.pieces()]
    rows = [sum(math.inf if a is None else len(a[0]) for a in atoms) for atoms in pieces]
    return max(rows) * factor.features <= LARGEST_TABLE


def _keeps_to_contract(factor: Factorisation) -> bool:
    """Whether a factorisation is ours, or a user's own that defines only `phi`, `bounds` and ψ.

    A subclass of ours may override one of several methods that must agree.
    """
    kind = type(factor)
    if kind in OUR_FACTORS:
        return True
    own = [name for name in ("look", "phi_many", "bounds_many") if name in vars(kind)]
    return kind.__bases__ == (Dense,) and not own


def _can_compute(environment: Environment, *, in_context: bool) -> bool:
    """Whether kernels can compute every reward, from a formula or from tables over atoms."""
    if isinstance(environment.problem.payoff, FormulaPayoff):
        return True
    laws = [law for piece in environment.pieces() for law in piece.states]
    if in_context:  # the reward in the context of each pull is needed
        laws += [piece.contexts for piece in environment.pieces()]
    return all(law.atoms is not None for law in laws)


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
