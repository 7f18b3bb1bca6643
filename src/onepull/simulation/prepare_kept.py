"""Prepare `AdaptiveKL`, which keeps states, for its kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.environment.environment import Environment
from onepull.index.kept_likelihood import SIZES
from onepull.payoff import State
from onepull.payoff.formula_payoff import FormulaPayoff
from onepull.policies import AdaptiveKL
from onepull.policies.kept_states.drift import Drift
from onepull.problem import Problem
from onepull.simulation.kernels.kept_bounds import no_search
from onepull.simulation.kernels.kept_drift import filters_of
from onepull.simulation.kernels.kept_states import Known, Memory, kept_states
from onepull.simulation.prepared import Arms, Prepared, Runner
from onepull.simulation.trials import Stretch
from onepull.simulation.world import LARGEST_TABLE, World, WorldTables, lists_everything


class PreparedKept(Prepared):
    """`AdaptiveKL` made ready for an environment."""

    nanoseconds = 5000.0

    def __init__(self, policy: AdaptiveKL, environment: Environment) -> None:
        self.policy, self.environment = policy, environment
        self.problem = environment.problem
        self.atoms = _atoms(environment)
        most = max(map(len, self.atoms)) if self.atoms else 0
        # States with few values are valued once for each value.
        self.is_joined = 0 < most <= policy.memory.capacity // 2
        memory = policy.memory
        self.tracked = np.ascontiguousarray(np.array(memory.tracked).T)
        arms, contexts = len(self.atoms), len(memory.tracked)
        self.outcomes = np.zeros((arms, most, len(self.problem.outcome)))
        self.of_atoms = np.zeros((arms, most, contexts))
        for j, numbers in enumerate(self.atoms):
            rows = np.array(list(numbers))
            self.outcomes[j, : len(rows)] = rows
            self.of_atoms[j, : len(rows)] = self._table(memory.tracked, rows).T
        self.failed = np.zeros((0, 0))
        if self.problem.failure is not None:
            everyone = range(len(self.problem.arms))
            self.failed = np.array([self.problem.failed_outcome_of(j) for j in everyone])
        self.known = WorldTables(self._of_world)
        self._cells = WorldTables(self._cells_of_atoms)

    @staticmethod
    def fits(environment: Environment) -> bool:
        """Return whether rewards can be computed, from a formula or from tables."""
        low, high = environment.problem.payoff.whole_range
        if high - low < SIZES[0] or SIZES[1] < high - low < math.inf:
            return False  # the library looks for a unit; a kernel would take longer
        if isinstance(environment.problem.payoff, FormulaPayoff):
            return True
        return lists_everything(environment) and len(_atoms(environment)) > 0

    def begin(self, own_key: int) -> Runner:
        """Return a runner without observations."""
        del own_key
        return KeptRunner(self)

    def cells(self, stretch: Stretch, world: World) -> NDArray[np.int64]:
        """Return the cell of each context in the table of the highest rewards."""
        if world.contexts is None:
            return self.policy.memory.tops.cells(stretch.contexts)
        return self._cells.of(world)[stretch.rows]

    def _cells_of_atoms(self, world: World) -> NDArray[np.int64]:
        assert world.contexts is not None  # noqa: S101 - `cells` has checked
        return self.policy.memory.tops.cells(world.contexts)

    def nothing(self) -> Memory:
        """Return a memory without states."""
        arms, room = len(self.problem.arms), self.policy.memory.capacity
        fields = len(self.problem.context) + len(self.problem.outcome)
        kept, stands_for = np.zeros(arms, np.int64), np.zeros((arms, room))
        counts = np.zeros((arms, 2, room))
        columns = np.zeros((arms, fields, room))
        pulls = np.zeros(arms, np.int64)
        points, weights, point_counts = kept, stands_for, counts
        if self.is_joined:
            most = self.of_atoms.shape[1]
            columns = np.zeros((arms, fields, most))
            for j, rows in enumerate(self.atoms):
                columns[j, len(self.problem.context) :, : len(rows)] = np.array(list(rows)).T
            points = np.array([len(rows) for rows in self.atoms], np.int64)
            weights, point_counts = np.zeros((arms, most)), np.zeros((arms, 2, most))
        return Memory(
            pulls,
            pulls,
            kept,
            np.zeros(3, np.int64),
            np.zeros((arms, room), np.int64),
            stands_for,
            np.zeros((arms, room), np.int64),
            counts,
            columns,
            points,
            weights,
            point_counts,
            np.zeros((arms, self.tracked.shape[1])),
        )

    def _of_world(self, world: World) -> Known:
        memory = self.policy.memory
        atom_of = np.zeros(0, np.int64)
        if self.atoms:
            atom_of = np.zeros(len(world.states.rows), np.int64)
            spans = zip(world.states.start.tolist(), world.states.size.tolist(), strict=True)
            for arm, (start, count) in enumerate(spans):
                for row in range(start, start + count):
                    outcome = _observed(self.problem, arm, world.states.rows[row].tolist())
                    atom_of[row] = self.atoms[arm][outcome]
        return Known(
            self.tracked,
            self.outcomes,
            self.of_atoms,
            self._rewards(world),
            atom_of,
            self.failed,
            memory.tops.table,
            memory.unit,
            self.is_joined,
            self.policy.adapts,
        )

    def _rewards(self, world: World) -> Array:
        """Return the reward of each arm's atoms in each listed context, empty if not listed."""
        arms, most = self.of_atoms.shape[:2]
        if world.contexts is None or not self.atoms:
            return np.zeros((0, 0, 0))
        if len(world.contexts) * arms * most > LARGEST_TABLE and isinstance(
            self.problem.payoff, FormulaPayoff
        ):
            return np.zeros((0, 0, 0))
        table = np.zeros((len(world.contexts), arms, most))
        for j, rows in enumerate(self.atoms):
            table[:, j, : len(rows)] = self._table(world.contexts, np.array(list(rows)))
        return table

    def _table(self, contexts: Sequence[State] | Array, outcomes: Array) -> Array:
        """Return the reward of each outcome in each context, one row a context."""
        columns = [column[:, None] for column in np.array(contexts).T]
        return self.problem.payoff.vector(*columns, *outcomes.T)


class KeptRunner:
    """`AdaptiveKL` in one replication."""

    def __init__(self, plan: PreparedKept) -> None:
        self.plan, self.memory = plan, plan.nothing()
        arms = len(plan.problem.arms)
        # A memory that does not adapt never looks at its filters.
        self.filters = filters_of(plan.policy.memory.drift or Drift(arms=arms, contexts=1))
        self.search = no_search(arms)

    def run(self, stretch: Stretch, world: World, chosen: Arms) -> None:
        """Run a stretch of trials."""
        kept_states(
            stretch, chosen, self.memory, self.filters, self.search, self.plan.known.of(world),
            self.plan.cells(stretch, world), world.states, world.g,
        )  # fmt: skip


def _atoms(environment: Environment) -> list[dict[State, int]]:
    """Return the number of each outcome that an arm may show; nothing if one is continuous."""
    problem = environment.problem
    found: list[dict[State, int]] = [{} for _ in problem.arms]
    for piece in environment.pieces():
        for arm, (numbers, law) in enumerate(zip(found, piece.states, strict=True)):
            if law.atoms is None:
                return []
            for row in law.atoms[0].tolist():
                numbers.setdefault(_observed(problem, arm, row), len(numbers))
    return found


def _observed(problem: Problem, arm: int, outcome: list[float]) -> State:
    """Return an outcome as it is observed: a pull that failed shows no state."""
    if problem.failure is not None and outcome[-1] > 0.0:
        return problem.failed_outcome_of(arm)
    return tuple(outcome)
