"""The true mean rewards and gaps that regret is measured against."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from onepull.arrays import Array
from onepull.distributions import Distribution
from onepull.environment.environment import (
    Environment,
    Piece,
    finite_bounds,
    gaps_of,
    tie_slack,
)
from onepull.payoff.formula_payoff import FormulaPayoff
from onepull.simulation import trials
from onepull.simulation.trials import Stretch
from onepull.simulation.world import World

TRUTH_TOLERANCE = 1e-9  # relative to the size of the reward
FIELD_NODES = (16, 64, 256)
CURVE_NODES = (64, 512, 4096, 32768)
CURVE_POINTS = (256, 1024, 4096)
MOST_WORK = 1 << 23


class Reference:
    """The gaps of one piece of the environment.

    If the contexts are discrete, the gaps are a table.  Otherwise they are computed for each
    context from the mean rewards of the arms.  Discrete states are summed exactly.  Continuous
    states are integrated by quadrature; for a single context field the means are interpolated in
    a fine table.  A note reports the error if it is above the tolerance.
    """

    def __init__(self, environment: Environment, world: World) -> None:
        self.world = world
        self.notes: list[str] = []
        self.nanoseconds = 10.0
        self._payoff = environment.problem.payoff
        bounds = self._bounds = self._payoff.whole_range
        if not np.isfinite(bounds).all():
            sample = world.piece.contexts.sample(np.random.default_rng(0), 32)
            means = [self._means(law, sample, CURVE_NODES[0]) for law in world.piece.states]
            bounds = self._bounds = finite_bounds(bounds, np.array(means))
        self._scale = max(1.0, abs(bounds[0]), abs(bounds[1]))
        self._nodes = self._weights = np.zeros(0)
        self._starts = self._used = np.zeros(0, np.int64)
        self._table: Array | None = None
        self._rewards: Array | None = None
        self._curves: list[tuple[Array, Array] | None] = []
        if world.contexts is not None:
            self._rewards = environment.expected_rewards(world.contexts, world.piece)
            self._table = gaps_of(self._rewards, bounds)
            return
        listed = all(law.atoms is not None for law in world.piece.states)
        low, high = world.piece.contexts.support[0]
        if not listed and world.piece.contexts.fields == 1 and np.isfinite(high - low):
            self._curves = [self._curve(law, low, high) for law in world.piece.states]
            self.nanoseconds = 60.0 * len(self._curves)
        else:
            self._rule(world.piece)
            self.nanoseconds = 5.0 * len(self._nodes)

    def _means(self, law: Distribution, contexts: Array, nodes: int) -> Array:
        """Return the mean reward of one distribution in each context, by quadrature."""
        points, weights = law.rule(nodes)
        step = max(1, 2**20 // len(points))
        parts = []
        for first in range(0, len(contexts), step):
            columns = [column[:, None] for column in contexts[first : first + step].T]
            parts.append(self._payoff.vector(*columns, *points.T) @ weights)
        return np.concatenate(parts)

    def _settle(
        self, twice: Callable[[int], tuple[Array, Array]], sizes: Sequence[int]
    ) -> tuple[int, float]:
        """Return the first size at which doubling changes little, and the change.

        `twice` returns what a size gives, and what its double gives.
        """
        change = 0.0
        for size in sizes:
            one, two = twice(size)
            change = float(np.max(np.abs(one - two)))
            if change <= TRUTH_TOLERANCE * self._scale:
                break
        return size, change

    def _curve(self, law: Distribution, low: float, high: float) -> tuple[Array, Array] | None:
        """Return a table of a distribution's mean reward along the context, for interpolation."""
        if law.atoms is not None:
            return None
        sample = np.linspace(low, high, 33)[:, None]
        nodes, loose = self._settle(
            lambda n: (self._means(law, sample, n), self._means(law, sample, 2 * n)), CURVE_NODES
        )
        between = np.random.default_rng(0).uniform(low, high, 257)
        grid = means = np.zeros(0)

        def interpolated(count: int) -> tuple[Array, Array]:
            nonlocal grid, means
            grid = np.linspace(low, high, 2 * count + 1)
            means = self._means(law, grid[:, None], nodes)
            # Every second point is the grid of half the size.
            coarse = np.interp(between, grid[::2], means[::2])
            return coarse, np.interp(between, grid, means)

        affordable = [count for count in CURVE_POINTS if count * nodes <= MOST_WORK]
        _, rough = self._settle(interpolated, affordable or CURVE_POINTS[:1])
        if max(loose, rough) > TRUTH_TOLERANCE * self._scale:
            self._note(max(loose, rough))
        return grid, means

    def _rule(self, piece: Piece) -> None:
        """Choose a quadrature rule per distribution, refined until the mean rewards converge."""
        sample = piece.contexts.sample(np.random.default_rng(0), 32)
        listed = all(law.atoms is not None for law in piece.states)
        nodes, loose = FIELD_NODES[0], 0.0
        if not listed:

            def means(count: int) -> Array:
                return np.column_stack([self._means(law, sample, count) for law in piece.states])

            nodes, loose = self._settle(lambda n: (means(n), means(2 * n)), FIELD_NODES)
        if loose > TRUTH_TOLERANCE * self._scale:
            self._note(loose)
        rules = [law.rule(nodes) for law in piece.states]
        # The reward is computed once at each node, even if several arms use it.
        points, used = np.unique(np.vstack([x for x, _ in rules]), axis=0, return_inverse=True)
        self._nodes, self._used = np.ascontiguousarray(points), used.ravel().astype(np.int64)
        self._weights = np.concatenate([w for _, w in rules])
        self._starts = np.cumsum([0, *(len(w) for _, w in rules)]).astype(np.int64)

    def _note(self, error: float) -> None:
        self.notes.append(
            f"the mean rewards that regret is measured against are good to about {error:.0e}"
        )

    def gaps(self, contexts: Array) -> Array:
        """Return the gaps, with a row per context atom, or per given context if continuous."""
        if self._table is not None:
            return self._table
        if self._curves or not isinstance(self._payoff, FormulaPayoff):
            return gaps_of(self.mean_rewards(contexts), self._bounds)
        gaps = np.empty((len(contexts), len(self._starts) - 1))
        trials.shortfalls(
            contexts,
            self._nodes,
            self._starts,
            self._used,
            self._weights,
            self.world.g,
            tie_slack(self._bounds),
            gaps,
        )
        return gaps

    def mean_rewards(self, contexts: Array) -> Array:
        """Return the mean reward of each arm, with rows as in `gaps`."""
        if self._rewards is not None:
            return self._rewards
        if self._curves:
            laws = zip(self.world.piece.states, self._curves, strict=True)
            means = [
                self._means(law, contexts, 1)
                if curve is None
                else np.interp(contexts[:, 0], *curve)
                for law, curve in laws
            ]
            return np.column_stack(means)
        columns = [column[:, None] for column in contexts.T]
        rewards = self._payoff.vector(*columns, *self._nodes.T)
        parts = zip(self._starts, self._starts[1:], strict=False)
        return np.column_stack([rewards[:, self._used[a:b]] @ self._weights[a:b] for a, b in parts])

    def drawn_rewards(self, stretch: Stretch) -> Array:
        """Return the reward that each arm would have given at each trial."""
        count, arms = len(stretch.rows), len(self.world.piece.states)
        states = np.empty((count, arms, self.world.states.rows.shape[1]))
        trials.potential_states(stretch.first, stretch.key, self.world.states, states)
        columns = [column[:, None] for column in stretch.contexts.T]
        return np.asarray(self._payoff.vector(*columns, *np.moveaxis(states, 2, 0)))

    def realised(self, stretch: Stretch, rewards: Array) -> Array:
        """Return each arm's realised regret at each trial, against the genie's arm."""
        count = len(stretch.rows)
        genie = np.empty(count, np.int64)
        trials.write_best_arms(stretch.rows, stretch.gaps, genie)
        return np.asarray(rewards[np.arange(count), genie][:, None] - rewards)
