"""Learning from rewards that may hide the state, in a compiled loop."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.index.empirical_likelihood import exploration
from onepull.policies import CensoredKL
from onepull.policies.hidden_states.survival import limited_mean
from onepull.simulation.compiled import compiled, inlined
from onepull.simulation.draws import atom, place
from onepull.simulation.prepared import Arms, FunctionRunner, Prepared, Runner
from onepull.simulation.trials import Stretch
from onepull.simulation.world import World

bound_of = inlined(limited_mean)


risk_at = inlined(exploration)


class Counts(NamedTuple):
    """What is known: `exact[arm, level]` and `beyond[arm, level]`."""

    exact: NDArray[np.int64]
    beyond: NDArray[np.int64]
    pulls: NDArray[np.int64]
    trials: NDArray[np.int64]


class Tables(NamedTuple):
    """What contexts and states mean to the policy, by their atoms."""

    values: Array  # the reward of each level in each context
    reach: NDArray[np.int64]
    level: NDArray[np.int64]  # what each state in each context tells: a level,
    is_beyond: NDArray[np.bool_]  # and whether it may lie beyond it


@compiled
def censored(
    stretch: Any,
    chosen: Any,
    counts: Any,
    tables: Any,
    c: Any,
    head_start: Any,
    error: Any,
    rises: Any,
    laws: Any,
) -> None:
    """Run the highest product-limit bound through a stretch of trials."""
    first, key, rows = stretch.first, stretch.key, stretch.rows
    start, count, ordered = laws.start, laws.size, laws.ordered
    keep, alias = laws.keep, laws.alias
    exact, beyond, pulls = counts.exact, counts.beyond, counts.pulls
    values, reach, level, is_beyond = tables.values, tables.reach, tables.level, tables.is_beyond
    trials = counts.trials[0]
    arms = pulls.size
    for i in range(rows.size):
        row = rows[i]
        trials += 1
        trial = first + i
        risk = risk_at(trials + head_start, c)
        best, highest = 0, -np.inf
        for j in range(arms):
            bound = np.inf
            if pulls[j] > 0:
                bound = error + bound_of(
                    values[row], reach[row], exact[j], beyond[j], pulls[j], risk, rises
                )
            if bound > highest or (bound == highest and pulls[j] < pulls[best]):
                best, highest = j, bound
        chosen[i] = best
        at_arm = place(trial, arms, best)
        found = atom(start[best], count[best], ordered[best], keep, alias, key, at_arm, trial)
        if is_beyond[row, found]:
            beyond[best, level[row, found]] += 1
        else:
            exact[best, level[row, found]] += 1
        pulls[best] += 1
    counts.trials[0] = trials


class PreparedCensored(Prepared):
    """A policy on the product-limit law made ready, where contexts and states have atoms."""

    def __init__(self, policy: CensoredKL, *, sees_states: bool) -> None:
        self.policy = policy
        self.sees_states = sees_states
        self.levels = policy.survival.levels
        self.nanoseconds = 200.0 + 40.0 * len(policy.problem.arms) * min(self.levels.count, 8)
        self._tables: dict[int, Tables] = {}

    def begin(self, own_key: int) -> Runner:
        """Return a runner that has seen nothing."""
        del own_key
        shape = (len(self.policy.problem.arms), self.levels.count)
        counts = Counts(
            np.zeros(shape, np.int64),
            np.zeros(shape, np.int64),
            np.zeros(shape[0], np.int64),
            np.zeros(1, np.int64),
        )

        def run(stretch: Stretch, world: World, chosen: Arms) -> None:
            if id(world) not in self._tables:
                self._tables[id(world)] = self._listed(world)
            censored(
                stretch, chosen, counts, self._tables[id(world)], self.policy.c,
                self.policy.head_start, self.levels.error, self.levels.arrangement.rises,
                world.states,
            )  # fmt: skip

        return FunctionRunner(run)

    def _listed(self, world: World) -> Tables:
        assert world.contexts is not None  # noqa: S101 - everything is listed
        contexts = [tuple(context) for context in world.contexts.tolist()]
        states = world.states.rows[:, 0].tolist()
        readings = [self.levels.read(context) for context in contexts]
        told = [
            [self._told(context, state, reward) for state, reward in zip(states, row, strict=True)]
            for context, row in zip(contexts, world.rewards().tolist(), strict=True)
        ]
        return Tables(
            np.array([reading.values for reading in readings]),
            np.array([reading.reach for reading in readings], np.int64),
            np.array([[level for level, _ in row] for row in told], np.int64),
            np.array([[beyond for _, beyond in row] for row in told], np.bool_),
        )

    def _told(self, context: tuple[float, ...], state: float, reward: float) -> tuple[int, bool]:
        if self.sees_states:
            return self.levels.level(state), False
        level, is_beyond = self.levels.told(context, reward)
        return level, is_beyond and not self.policy.survival.naive
