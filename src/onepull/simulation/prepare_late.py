"""Policies prepared for late feedback: a queue between a pull and its observation."""

from __future__ import annotations

from abc import abstractmethod
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from onepull.simulation.feedback_queue import Mail, Post, no_mail
from onepull.simulation.kernels.late import LateState, late_dense, late_joint, late_per_cell
from onepull.simulation.kernels.late_kept import late_kept, no_answers
from onepull.simulation.kernels.rule_types import KernelRule
from onepull.simulation.kernels.ruling import for_rule
from onepull.simulation.prepare_kept import KeptRunner, PreparedKept
from onepull.simulation.prepare_sharing import PreparedCell, PreparedDense, PreparedJoint
from onepull.simulation.prepared import Arms, FunctionRunner, Prepared, Runner
from onepull.simulation.trials import Stretch
from onepull.simulation.world import World


@singledispatch
def prepare_late(usual: Prepared, post: Post, horizon: int, *, announced: bool) -> Prepared | None:
    """Return the usual preparation changed for late feedback, or None if there is no kernel."""
    del usual, post, horizon, announced
    return None


class _Run(NamedTuple):
    """One policy in one replication: its rule, what it has learned, and its queue."""

    rule: KernelRule
    state: LateState
    mail: Mail


class _PreparedLate(Prepared):
    """A usual preparation with a queue."""

    in_context = False  # whether an observation depends on the context of its pull

    def __init__(self, usual: Any, post: Post, horizon: int, *, announced: bool) -> None:
        self.usual, self.post, self.announced = usual, post, announced
        self.horizon = horizon
        self.nanoseconds = usual.nanoseconds + 60.0

    @abstractmethod
    def _fresh(self) -> LateState:
        """Return the state of a policy without observations."""

    @abstractmethod
    def _run(self, stretch: Stretch, world: World, chosen: Arms, one: _Run) -> None:
        """Run a stretch of trials."""

    def begin(self, own_key: int) -> Runner:
        """Return a runner without observations."""
        mail = no_mail(self.horizon, in_context=self.in_context)
        one = _Run(self.usual.rule(own_key), self._fresh(), mail)
        return FunctionRunner(lambda stretch, world, chosen: self._run(stretch, world, chosen, one))

    def _empty(self, shape: tuple[int, int], mean: float, cells: int = 1) -> LateState:
        books = (cells, self.usual.arms)
        return LateState(
            np.full(shape, mean),
            np.zeros(books, np.int64),
            np.zeros(books, np.int64),
            np.zeros(books),
            np.zeros(cells, np.int64),
        )


class _LateJoint(_PreparedLate):
    def _fresh(self) -> LateState:
        return self._empty((self.usual.cells.features, self.usual.arms), np.inf)

    def _run(self, stretch: Stretch, world: World, chosen: Arms, one: _Run) -> None:
        usual = self.usual
        for_rule(late_joint, one.rule)(
            stretch, chosen, one.state, one.mail, self.post, self.announced,
            usual.places.of(stretch, world), usual.lows, usual.highs, one.rule, world.states,
            usual.features.of(world), usual.centres, world.g,
        )  # fmt: skip


class _LateDense(_PreparedLate):
    def _fresh(self) -> LateState:
        return self._empty((self.usual.arms, self.usual.factor.features), 0.0)

    def _run(self, stretch: Stretch, world: World, chosen: Arms, one: _Run) -> None:
        usual = self.usual
        for part, arms, rows, context in usual.parts(stretch, world, chosen):
            for_rule(late_dense, one.rule, usual.plain)(
                part, arms, one.state, one.mail, self.post, self.announced, context[0], rows,
                context[1], context[2], one.rule, world.states, usual.psi.of(world),
                usual.pivots, usual.plain, world.g,
            )  # fmt: skip


class _LateCell(_PreparedLate):
    in_context = True

    def _fresh(self) -> LateState:
        cells = len(self.usual.lows)
        return self._empty((cells, self.usual.arms), np.inf, cells)

    def _run(self, stretch: Stretch, world: World, chosen: Arms, one: _Run) -> None:
        usual = self.usual
        for_rule(late_per_cell, one.rule)(
            stretch, chosen, one.state, one.mail, self.post, self.announced,
            usual.places.of(stretch, world), usual.lows, usual.highs, one.rule, world.states,
            usual.rewards.of(world), world.g,
        )  # fmt: skip


class PreparedLateKept(Prepared):
    """`AdaptiveKL` with a queue."""

    def __init__(self, usual: PreparedKept, post: Post, horizon: int, *, announced: bool) -> None:
        self.usual, self.post, self.announced = usual, post, announced
        self.horizon = horizon
        self.nanoseconds = usual.nanoseconds + 60.0

    def begin(self, own_key: int) -> Runner:
        """Return a runner without observations."""
        del own_key
        return _LateKeptRunner(self)


class _LateKeptRunner(KeptRunner):
    def __init__(self, late: PreparedLateKept) -> None:
        super().__init__(late.usual)
        self.late = late
        self.mail = no_mail(late.horizon, in_context=False)
        self.answers = no_answers(late.horizon, len(late.usual.problem.outcome))
        if late.announced:
            self.memory = self.memory._replace(counted=np.zeros_like(self.memory.pulls))

    def run(self, stretch: Stretch, world: World, chosen: Arms) -> None:
        """Run a stretch of trials."""
        late_kept(
            stretch, chosen, self.memory, self.answers, self.mail, self.late.post,
            self.late.announced, self.filters, self.search, self.plan.known.of(world),
            self.plan.cells(stretch, world), world.states, world.g,
        )  # fmt: skip


prepare_late.register(PreparedJoint, _LateJoint)
prepare_late.register(PreparedDense, _LateDense)
prepare_late.register(PreparedCell, _LateCell)
prepare_late.register(PreparedKept, PreparedLateKept)
