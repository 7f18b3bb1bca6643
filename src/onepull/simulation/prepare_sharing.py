"""Prepare policies for kernels: one class for each way of sharing, combined with any rule."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.environment.environment import Environment
from onepull.factor import Cells, ContextTable, Dense, Grid
from onepull.policies.sharing.blind import Blind
from onepull.policies.sharing.doubling import Doubling
from onepull.policies.sharing.joint import Joint
from onepull.policies.sharing.per_context import PerContext
from onepull.policies.sharing.sharing import Sharing
from onepull.simulation.kernels import means as kernels
from onepull.simulation.kernels.dense import dense
from onepull.simulation.kernels.features import kernel_psi
from onepull.simulation.kernels.memory import memory_of
from onepull.simulation.kernels.rule_types import KernelRule
from onepull.simulation.kernels.ruling import CannotCompile, Ruling, for_rule
from onepull.simulation.law_tables import Laws
from onepull.simulation.prepared import Arms, FunctionRunner, Prepared, Runner
from onepull.simulation.trials import Stretch
from onepull.simulation.world import LARGEST_TABLE, World, WorldTables
from onepull.statistics import ArmStatistics, Forgetting

OUR_CELLS = frozenset({ContextTable, Grid})
FEATURES_WITH_MEANS = 64  # up to this number keep means; above it keep counts of atoms, if any
MOST_WEIGHTS = 1 << 22  # numbers of φ computed at a time


@singledispatch
def prepare_sharing(
    sharing: Sharing, environment: Environment, rule: Ruling, horizon: int
) -> Prepared:
    """Prepare a rule on this way of sharing."""
    del environment, rule, horizon
    raise TypeError(f"no kernel for {type(sharing).__name__}")


@prepare_sharing.register
def _(sharing: Joint, environment: Environment, rule: Ruling, horizon: int) -> Prepared:
    del horizon
    factor = sharing.factor
    if isinstance(factor, Cells):
        return PreparedJoint(factor, environment, rule, kept=sharing.statistics)
    assert isinstance(factor, Dense)  # noqa: S101 - `_has_kernel` has checked
    return PreparedDense(factor, environment, rule, kept=sharing.statistics)


@prepare_sharing.register
def _(sharing: PerContext, environment: Environment, rule: Ruling, horizon: int) -> Prepared:
    del horizon
    lows, highs = sharing.ranges
    return PreparedCell(sharing.cells, np.array(lows), np.array(highs), environment, rule)


@prepare_sharing.register
def _(sharing: Blind, environment: Environment, rule: Ruling, horizon: int) -> Prepared:
    del horizon
    low, high = sharing.ranges
    return PreparedCell(None, np.array([low]), np.array([high]), environment, rule)


@prepare_sharing.register
def _(sharing: Doubling, environment: Environment, rule: Ruling, horizon: int) -> Prepared:
    return PreparedPhase(sharing, environment, rule, horizon)


class _Places:
    """The cell of each context: looked up for atoms, computed for others."""

    def __init__(self, cells: Cells | None) -> None:
        self.cells = cells
        self._of_atoms = WorldTables(self._locate_atoms)

    def of(self, stretch: Stretch, world: World) -> NDArray[np.int64]:
        if self.cells is None:
            return np.zeros(len(stretch.rows), np.int64)
        if world.contexts is None:
            return self.cells.locate_many(stretch.contexts)
        return self._of_atoms.of(world)[stretch.rows]

    def _locate_atoms(self, world: World) -> NDArray[np.int64]:
        assert self.cells is not None  # noqa: S101 - `of` has checked both
        assert world.contexts is not None  # noqa: S101
        return self.cells.locate_many(world.contexts)


class PreparedJoint(Prepared):
    """Joint learning on cells: every cell learns from every pull."""

    def __init__(
        self,
        cells: Cells,
        environment: Environment,
        rule: Ruling,
        *,
        kept: ArmStatistics | None = None,
        means_only: bool = False,
    ) -> None:
        self.cells, self.kept = cells, kept
        self.arms = len(environment.problem.arms)
        self.rule = rule
        self.places = _Places(cells)
        self.lows, self.highs = (np.array(bound) for bound in cells.centre_bounds)
        self.centres = np.array(cells.centres)
        pieces = environment.pieces()
        # Counts are of one set of atoms, so they need laws that never change.
        self.counts_atoms = (
            cells.features > FEATURES_WITH_MEANS
            and not means_only
            and not isinstance(kept, Forgetting)
            and len(pieces) == 1
            and all(law.atoms is not None for law in pieces[0].states)
            and max(len(law.atoms[0]) for law in pieces[0].states if law.atoms)
            <= FEATURES_WITH_MEANS
            and cells.features * self.arms <= LARGEST_TABLE
        )
        self.features = WorldTables(lambda world: world.features(cells))
        self.atom_rewards = WorldTables(lambda world: _atom_rewards(self, world.states))
        if not self.counts_atoms:
            self.nanoseconds = 60.0 + 8.0 * cells.features

    def begin(self, own_key: int) -> Runner:
        """Return a runner without observations."""
        rule = self.rule(own_key)
        return _HistogramRunner(self, rule) if self.counts_atoms else _JointRunner(self, rule)


class _JointRunner:
    def __init__(self, prepared: PreparedJoint, rule: KernelRule) -> None:
        self.prepared, self.rule = prepared, rule
        self.state = memory_of(prepared.kept, rule, prepared.arms, prepared.cells.features, "C")

    def run(self, stretch: Stretch, world: World, chosen: Arms) -> None:
        prepared = self.prepared
        for_rule(kernels.joint, self.rule)(
            stretch, chosen, self.state, prepared.places.of(stretch, world), prepared.lows,
            prepared.highs, self.rule, world.states, prepared.features.of(world),
            prepared.centres, world.g,
        )  # fmt: skip

    def take_over(self, before: _JointRunner) -> None:
        """Start with what was learned on another grid."""
        old, new = before.prepared.cells, self.prepared.cells
        means = self.state.means
        for j in range(means.shape[1]):
            if before.state.pulls[j]:
                means[:, j] = new.inherit(old, before.state.means[:, j])
        self.state = before.state._replace(means=means)


class _HistogramRunner:
    def __init__(self, prepared: PreparedJoint, rule: KernelRule) -> None:
        self.prepared, self.rule = prepared, rule
        self.state: kernels.HistogramState | None = None

    def run(self, stretch: Stretch, world: World, chosen: Arms) -> None:
        prepared = self.prepared
        rewards = prepared.atom_rewards.of(world)
        if self.state is None:
            arms = prepared.arms
            self.state = kernels.HistogramState(
                np.zeros((arms, rewards.shape[2])),
                np.zeros(arms, np.int64),
                np.zeros((1, arms)),
                np.zeros(1, np.int64),
            )
        for_rule(kernels.joint_histogram, self.rule)(
            stretch, chosen, self.state, prepared.places.of(stretch, world), prepared.lows,
            prepared.highs, self.rule, world.states, rewards,
        )  # fmt: skip


def _atom_rewards(prepared: PreparedJoint, laws: Laws) -> Array:
    """Return the reward of each arm's atoms at each centre: `[cell, arm, k]`."""
    vector = prepared.cells.problem.payoff.vector
    table = np.zeros((prepared.cells.features, prepared.arms, int(laws.size.max())))
    columns = [column[:, None] for column in prepared.centres.T]
    for j, (start, count) in enumerate(zip(laws.start, laws.size, strict=True)):
        table[:, j, :count] = vector(*columns, *laws.rows[start : start + count].T)
    return table


class PreparedDense(Prepared):
    """Joint learning on dense features: every context learns from every pull."""

    def __init__(
        self,
        factor: Dense,
        environment: Environment,
        rule: Ruling,
        *,
        kept: ArmStatistics | None = None,
    ) -> None:
        self.factor, self.rule, self.kept = factor, rule, kept
        self.arms = len(environment.problem.arms)
        self.nanoseconds = 500.0 + 10.0 * self.arms * factor.features
        self.pivots = np.zeros((0, len(environment.problem.context)))
        self.plain = kernel_psi(factor)
        if factor.at_contexts is not None:
            self.pivots = np.array(factor.at_contexts)
        self.psi = WorldTables(lambda world: world.features(factor))
        self._atoms = WorldTables(self._of_atoms)

    def begin(self, own_key: int) -> Runner:
        """Return a runner without observations."""
        rule = self.rule(own_key)
        state = memory_of(self.kept, rule, self.arms, self.factor.features, "F")

        def run(stretch: Stretch, world: World, chosen: Arms) -> None:
            for part, arms, rows, context in self.parts(stretch, world, chosen):
                for_rule(dense, rule, self.plain)(
                    part, arms, state, context[0], rows, context[1], context[2], rule,
                    world.states, self.psi.of(world), self.pivots, self.plain, world.g,
                )  # fmt: skip

        return FunctionRunner(run)

    def parts(
        self, stretch: Stretch, world: World, chosen: Arms
    ) -> Iterator[tuple[Stretch, Arms, NDArray[np.int64], tuple[Array, Array, Array]]]:
        """Yield parts of a stretch with φ and the bounds of their contexts."""
        if world.contexts is not None:
            yield stretch, chosen, stretch.rows, self._atoms.of(world)
            return
        step = max(256, MOST_WEIGHTS // self.factor.features)
        for first in range(0, len(chosen), step):
            cut = slice(first, first + step)
            contexts = stretch.contexts[cut]
            part = stretch._replace(
                first=stretch.first + first, rows=stretch.rows[cut], contexts=contexts
            )
            yield part, chosen[cut], np.arange(len(contexts)), self._of(contexts)

    def _of(self, contexts: Array) -> tuple[Array, Array, Array]:
        lows, highs = self.factor.bounds_many(contexts)
        # To the compiler a read-only array is of another type, which needs another kernel.
        phi = np.require(self.factor.phi_many(contexts), np.float64, ["C", "W"])
        return phi, np.array(lows), np.array(highs)

    def _of_atoms(self, world: World) -> tuple[Array, Array, Array]:
        assert world.contexts is not None  # noqa: S101 - `parts` has checked
        return self._of(world.contexts)


class PreparedCell(Prepared):
    """Each cell learns from its own rewards; a single cell ignores the context."""

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
        self.rewards = WorldTables(World.rewards)

    def begin(self, own_key: int) -> Runner:
        """Return a runner without observations."""
        rule = self.rule(own_key)
        shape = (len(self.lows), self.arms)
        state = kernels.CellState(
            np.full(shape, np.inf), np.zeros(shape, np.int64), np.zeros(shape),
            np.zeros(len(self.lows), np.int64),
        )  # fmt: skip

        def run(stretch: Stretch, world: World, chosen: Arms) -> None:
            for_rule(kernels.per_cell, rule)(
                stretch, chosen, state, self.places.of(stretch, world), self.lows, self.highs,
                rule, world.states, self.rewards.of(world), world.g,
            )  # fmt: skip

        return FunctionRunner(run)


class PreparedPhase(Prepared):
    """Joint learning in phases of 2, 4, 8, … trials that start fresh or keep what was learned."""

    def __init__(
        self, sharing: Doubling, environment: Environment, rule: Ruling, horizon: int
    ) -> None:
        self.phases: list[tuple[int, PreparedJoint]] = []
        self.carry = sharing.carry
        start, phase = 0, 1
        while start < horizon:
            grid = sharing.tuned(sharing.problem, 2**phase)
            if type(grid) not in OUR_CELLS:
                raise CannotCompile(f"the cells {type(grid).__name__} have no kernel")
            # Means are carried over, as in the library.
            prepared = PreparedJoint(grid, environment, rule, means_only=sharing.carry)
            self.phases.append((start, prepared))
            start += 2**phase
            phase += 1

    def begin(self, own_key: int) -> Runner:
        """Return a runner without observations."""
        return _PhaseRunner(self.phases, own_key, carry=self.carry)


class _PhaseRunner:
    def __init__(
        self, phases: list[tuple[int, PreparedJoint]], own_key: int, *, carry: bool
    ) -> None:
        self.phases, self.own_key, self.carry = phases, own_key, carry
        self.number = -1
        self.current: Runner

    def _next(self) -> None:
        self.number += 1
        runner = self.phases[self.number][1].begin(self.own_key)
        if self.carry and self.number and isinstance(runner, _JointRunner):
            before = self.current
            assert isinstance(before, _JointRunner)  # noqa: S101 - means only
            runner.take_over(before)
        self.current = runner

    def run(self, stretch: Stretch, world: World, chosen: Arms) -> None:
        """Cut the stretch where phases begin."""
        stop = stretch.first + len(stretch.rows)
        trial = stretch.first
        while trial < stop:
            if self.number + 1 < len(self.phases) and trial >= self.phases[self.number + 1][0]:
                self._next()
            end = stop
            if self.number + 1 < len(self.phases):
                end = min(stop, self.phases[self.number + 1][0])
            cut = slice(trial - stretch.first, end - stretch.first)
            part = stretch._replace(
                first=trial, rows=stretch.rows[cut], contexts=stretch.contexts[cut]
            )
            self.current.run(part, world, chosen[cut])
            trial = end
