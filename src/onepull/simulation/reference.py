"""The truth that regret is measured against."""

from __future__ import annotations

import numpy as np

from onepull.environment.environment import Environment, Piece, gaps_of
from onepull.formula import Array
from onepull.payoff.written import WrittenPayoff
from onepull.simulation import kernels
from onepull.simulation.kernels import Stretch
from onepull.simulation.plans import World

NODES = (16, 64, 256)


class Reference:
    """The gaps of one piece: a table over atoms, or worked out for each context."""

    def __init__(self, environment: Environment, world: World) -> None:
        self.world = world
        self.notes: list[str] = []
        self._payoff = environment.problem.payoff
        bounds = self._payoff.whole_range
        self._nodes = self._weights = np.zeros(0)
        self._starts = self._used = np.zeros(0, np.int64)
        self._slack = 1e-12 * max(1.0, abs(bounds[0]), abs(bounds[1]))
        self._table: Array | None = None
        if world.contexts is not None:
            self._table = environment.gaps(world.contexts, world.piece)
            return
        self._rule(environment, world.piece)

    def _rule(self, environment: Environment, piece: Piece) -> None:
        """Take each law's rule, finer until the mean rewards settle."""
        payoff = environment.problem.payoff
        sample = piece.contexts.sample(np.random.default_rng(0), 32)
        columns = [column[:, None] for column in sample.T]
        before: Array | None = None
        change = 0.0
        for fineness in NODES:
            rules = [law.rule(fineness) for law in piece.states]
            means = np.column_stack([payoff.vector(*columns, *x.T) @ w for x, w in rules])
            change = 0.0 if before is None else float(np.max(np.abs(means - before)))
            if all(law.atoms is not None for law in piece.states) or (
                before is not None and change <= 1e-10
            ):
                break
            before = means
        if change > 1e-10:
            self.notes.append(f"mean rewards are good to about {change:.0e}")
        # Arms that share atoms share the work: the reward is computed once at each.
        nodes, used = np.unique(np.vstack([x for x, _ in rules]), axis=0, return_inverse=True)
        self._nodes, self._used = np.ascontiguousarray(nodes), used.ravel().astype(np.int64)
        self._weights = np.concatenate([w for _, w in rules])
        self._starts = np.cumsum([0, *(len(w) for _, w in rules)]).astype(np.int64)

    def gaps(self, contexts: Array) -> Array:
        """Return the gaps: a row for each atom, or for each context where there are none."""
        if self._table is not None:
            return self._table
        if not isinstance(self._payoff, WrittenPayoff):
            return self._gaps_in_python(contexts)
        gaps = np.empty((len(contexts), len(self._starts) - 1))
        kernels.shortfalls(
            contexts,
            self._nodes,
            self._starts,
            self._used,
            self._weights,
            self.world.g,
            self._slack,
            gaps,
        )
        return gaps

    def _gaps_in_python(self, contexts: Array) -> Array:
        """Return the gaps of a reward in Python code, which kernels cannot call."""
        columns = [column[:, None] for column in contexts.T]
        rewards = self._payoff.vector(*columns, *self._nodes.T)
        parts = zip(self._starts, self._starts[1:], strict=False)
        means = [rewards[:, self._used[a:b]] @ self._weights[a:b] for a, b in parts]
        return gaps_of(np.column_stack(means), self._payoff.whole_range)

    def realised(self, stretch: Stretch) -> Array:
        """Return what each arm would really have cost at each trial, against the genie's."""
        count, arms = len(stretch.rows), len(self.world.piece.states)
        states = np.empty((count, arms, self.world.states.rows.shape[1]))
        kernels.potential_states(stretch.first, stretch.key, self.world.states, states)
        columns = [column[:, None] for column in stretch.contexts.T]
        rewards = self._payoff.vector(*columns, *np.moveaxis(states, 2, 0))
        genie = np.empty(count, np.int64)
        kernels.best_arms(stretch.rows, stretch.gaps, genie)
        return np.asarray(rewards[np.arange(count), genie][:, None] - rewards)
