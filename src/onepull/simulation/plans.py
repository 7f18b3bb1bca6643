"""From a policy of the library to the kernel and arrays that run it.

A plan is made once for a policy and an environment.  `begin` gives a runner for one
replication, and the runner takes the policy through stretches of trials.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import deepcopy
from functools import singledispatch
from itertools import takewhile
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onepull.environment.environment import Environment
from onepull.factor import Cells
from onepull.formula import Array
from onepull.payoff.written import WrittenPayoff
from onepull.policies import FixedArm, Genie, Policy, Random
from onepull.policies.explorer import Explorer
from onepull.policies.sharing import Blind, Doubling, Joint, PerContext, Sharing
from onepull.simulation import kernels, trials
from onepull.simulation.draws import Laws, place, show
from onepull.simulation.rules import Rule, Ruling, ruling
from onepull.simulation.trials import Stretch
from onepull.simulation.world import LARGEST_TABLE, World

Arms: TypeAlias = NDArray[np.int64]  # the position of the arm chosen at each trial

FEW_FEATURES = 64  # up to here means are kept, beyond it counts of atoms where there are any


class Runner(Protocol):
    """One policy in one replication."""

    def run(self, stretch: Stretch, world: World, chosen: Arms) -> None:
        """Go through a stretch of trials, writing the arm chosen at each."""


class Plan(ABC):
    """A policy made ready for one environment."""

    is_compiled = True
    nanoseconds = 60.0  # about how long a trial takes

    @abstractmethod
    def begin(self, own_key: int) -> Runner:
        """Return a runner that has seen nothing; the key is for its own luck, if it has any."""


class _FunctionRunner:
    def __init__(self, run: Callable[[Stretch, World, Arms], None]) -> None:
        self.run = run


def plan(policy: Policy, environment: Environment, horizon: int) -> Plan:
    """Return the plan of a policy; one that has no kernel runs in the interpreter."""
    if isinstance(policy, Genie) and policy.states != environment.states:
        return Interpreted(policy)  # it knows another world
    if type(policy) in (FixedArm, Genie, Random):
        return _unlearned(policy)
    if not isinstance(policy, Explorer) or not _can_compute(environment, policy.sharing):
        return Interpreted(policy)
    rule = ruling(policy, horizon)
    if rule is None or not _has_kernel(policy):
        return Interpreted(policy)
    return sharing_plan(policy.sharing, environment, rule, horizon)


def _has_kernel(policy: Explorer) -> bool:
    """Whether a policy does what the kernels do: someone's subclass may do otherwise."""
    steps = {"choose", "observe", "_indices", "_leader", "_chances", "_draw"}
    own = takewhile(lambda kind: kind not in ruling.registry, type(policy).__mro__)
    sharing = policy.sharing
    return (
        not any(steps & vars(kind).keys() for kind in own)
        and (policy.randomised or not policy.draws)
        and type(sharing) in sharing_plan.registry
        and isinstance(getattr(sharing, "factor", None), (Cells, type(None)))
    )


def _can_compute(environment: Environment, sharing: Sharing) -> bool:
    """Whether kernels get every reward they need: from a formula, or from tables over atoms."""
    if isinstance(environment.problem.payoff, WrittenPayoff):
        return True
    laws = [law for piece in environment.pieces() for law in piece.states]
    if isinstance(sharing, (Blind, PerContext)):  # which need rewards in the very context
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
        return _FunctionRunner(lambda stretch, _, chosen: self.pick(stretch, own_key, chosen))


@singledispatch
def sharing_plan(sharing: Sharing, environment: Environment, rule: Ruling, horizon: int) -> Plan:
    """Return the plan for a rule of exploration on shared knowledge."""
    del environment, rule, horizon
    raise TypeError(f"no kernel for {type(sharing).__name__}")


@sharing_plan.register
def _(sharing: Joint, environment: Environment, rule: Ruling, horizon: int) -> Plan:
    del horizon
    factor = sharing.factor
    assert isinstance(factor, Cells)  # noqa: S101 - the only factorisations so far
    return JointPlan(factor, environment, rule)


@sharing_plan.register
def _(sharing: PerContext, environment: Environment, rule: Ruling, horizon: int) -> Plan:
    del horizon
    lows, highs = sharing.cells.cell_bounds()
    return CellPlan(sharing.cells, np.array(lows), np.array(highs), environment, rule)


@sharing_plan.register
def _(sharing: Blind, environment: Environment, rule: Ruling, horizon: int) -> Plan:
    del horizon
    low, high = sharing.problem.payoff.whole_range
    return CellPlan(None, np.array([low]), np.array([high]), environment, rule)


@sharing_plan.register
def _(sharing: Doubling, environment: Environment, rule: Ruling, horizon: int) -> Plan:
    return PhasePlan(sharing, environment, rule, horizon)


class _Places:
    """The cell of each context: looked up for atoms, worked out for others."""

    def __init__(self, cells: Cells | None) -> None:
        self.cells = cells
        self._of_atoms: dict[int, NDArray[np.int64]] = {}

    def of(self, stretch: Stretch, world: World) -> NDArray[np.int64]:
        if self.cells is None:
            return np.zeros(len(stretch.rows), np.int64)
        if world.contexts is None:
            return self.cells.locate_many(stretch.contexts)
        known = self._of_atoms.get(id(world))
        if known is None:
            known = self._of_atoms[id(world)] = self.cells.locate_many(world.contexts)
        return known[stretch.rows]


class JointPlan(Plan):
    """One pull teaches every cell."""

    def __init__(self, cells: Cells, environment: Environment, rule: Ruling) -> None:
        self.cells = cells
        self.arms = len(environment.problem.arms)
        self.rule = rule
        self.places = _Places(cells)
        self.lows, self.highs = (np.array(bound) for bound in cells.centre_bounds)
        self.centres = np.array(cells.centres)
        pieces = environment.pieces()
        # Counts stand for one set of atoms, so they serve where the laws never change.
        self.counts_atoms = (
            cells.features > FEW_FEATURES
            and len(pieces) == 1
            and all(law.atoms is not None for law in pieces[0].states)
            and max(len(law.atoms[0]) for law in pieces[0].states if law.atoms) <= FEW_FEATURES
            and cells.features * self.arms <= LARGEST_TABLE
        )
        self._tables: dict[int, Any] = {}
        if not self.counts_atoms:
            self.nanoseconds = 60.0 + 8.0 * cells.features

    def begin(self, own_key: int) -> Runner:
        """Return a runner that has seen nothing."""
        rule = self.rule(own_key)
        return _HistogramRunner(self, rule) if self.counts_atoms else _JointRunner(self, rule)

    def table(self, world: World, make: Callable[[World], Array]) -> Array:
        """Return a table of this plan for a world, made once."""
        if id(world) not in self._tables:
            self._tables[id(world)] = make(world)
        table: Array = self._tables[id(world)]
        return table


class _JointRunner:
    def __init__(self, plan: JointPlan, rule: Rule) -> None:
        self.plan, self.rule = plan, rule
        arms = plan.arms
        self.state = kernels.JointState(
            np.full((plan.cells.features, arms), np.inf),
            np.zeros(arms, np.int64),
            np.zeros((1, arms)),
            np.zeros(1, np.int64),
        )

    def run(self, stretch: Stretch, world: World, chosen: Arms) -> None:
        plan = self.plan
        features = plan.table(world, lambda world: world.features(plan.cells))
        kernels.joint(
            stretch, chosen, self.state, plan.places.of(stretch, world), plan.lows, plan.highs,
            self.rule, world.states, features, plan.centres, world.g,
        )  # fmt: skip


class _HistogramRunner:
    def __init__(self, plan: JointPlan, rule: Rule) -> None:
        self.plan, self.rule = plan, rule
        self.state: kernels.HistogramState | None = None

    def run(self, stretch: Stretch, world: World, chosen: Arms) -> None:
        plan = self.plan
        rewards = plan.table(world, lambda world: _atom_rewards(plan, world.states))
        if self.state is None:
            arms = plan.arms
            self.state = kernels.HistogramState(
                np.zeros((arms, rewards.shape[2])),
                np.zeros(arms, np.int64),
                np.zeros((1, arms)),
                np.zeros(1, np.int64),
            )
        kernels.joint_histogram(
            stretch, chosen, self.state, plan.places.of(stretch, world), plan.lows, plan.highs,
            self.rule, world.states, rewards,
        )  # fmt: skip


def _atom_rewards(plan: JointPlan, laws: Laws) -> Array:
    """Return the reward of each arm's atoms at each centre: `[cell, arm, k]`."""
    vector = plan.cells.problem.payoff.vector
    table = np.zeros((plan.cells.features, plan.arms, int(laws.size.max())))
    columns = [column[:, None] for column in plan.centres.T]
    for j, (start, count) in enumerate(zip(laws.start, laws.size, strict=True)):
        table[:, j, :count] = vector(*columns, *laws.rows[start : start + count].T)
    return table


class CellPlan(Plan):
    """Each cell learns its own rewards; with a single cell, blind to the context."""

    def __init__(
        self,
        cells: Cells | None,
        lows: Array,
        highs: Array,
        environment: Environment,
        rule: Ruling,
    ) -> None:
        self.arms = len(environment.problem.arms)
        self.rule, self.lows, self.highs = rule, lows, highs
        self.places = _Places(cells)
        self.rewards: dict[int, Array] = {}

    def begin(self, own_key: int) -> Runner:
        """Return a runner that has seen nothing."""
        rule = self.rule(own_key)
        shape = (len(self.lows), self.arms)
        state = kernels.CellState(
            np.full(shape, np.inf), np.zeros(shape, np.int64), np.zeros(shape),
            np.zeros(len(self.lows), np.int64),
        )  # fmt: skip

        def run(stretch: Stretch, world: World, chosen: Arms) -> None:
            if id(world) not in self.rewards:
                self.rewards[id(world)] = world.rewards()
            kernels.per_cell(
                stretch, chosen, state, self.places.of(stretch, world), self.lows, self.highs,
                rule, world.states, self.rewards[id(world)], world.g,
            )  # fmt: skip

        return _FunctionRunner(run)


class PhasePlan(Plan):
    """Fresh joint learning in every phase of 2, 4, 8, … trials."""

    def __init__(
        self, sharing: Doubling, environment: Environment, rule: Ruling, horizon: int
    ) -> None:
        self.phases: list[tuple[int, Plan]] = []
        start, phase = 0, 1
        while start < horizon:
            current = sharing.tuned(sharing.problem, 2**phase)
            self.phases.append((start, sharing_plan(current, environment, rule, 2**phase)))
            start += 2**phase
            phase += 1

    def begin(self, own_key: int) -> Runner:
        """Return a runner that has seen nothing."""
        return _PhaseRunner(self.phases, own_key)


class _PhaseRunner:
    def __init__(self, phases: list[tuple[int, Plan]], own_key: int) -> None:
        self.phases = phases
        self.own_key = own_key
        self.number = -1
        self.current: Runner

    def run(self, stretch: Stretch, world: World, chosen: Arms) -> None:
        """Cut the stretch where phases begin."""
        stop = stretch.first + len(stretch.rows)
        trial = stretch.first
        while trial < stop:
            if self.number + 1 < len(self.phases) and trial >= self.phases[self.number + 1][0]:
                self.number += 1
                self.current = self.phases[self.number][1].begin(self.own_key)
            end = stop
            if self.number + 1 < len(self.phases):
                end = min(stop, self.phases[self.number + 1][0])
            cut = slice(trial - stretch.first, end - stretch.first)
            part = stretch._replace(
                first=trial, rows=stretch.rows[cut], contexts=stretch.contexts[cut]
            )
            self.current.run(part, world, chosen[cut])
            trial = end


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
