"""The compiled loop of PatientKL, which explores in the cheapest context.

The library computes the means in all contexts as one product of matrices.  Here only those of the
arm pulled last have changed, and a loop computes them, which rounds differently.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.factor import Atoms
from onepull.index import empirical_kl, empirical_likelihood, patient_kl, rules
from onepull.policies import PatientKL
from onepull.policies.states.patient_kl import NEVER_CAME, centre_rewards
from onepull.simulation.compiled import compiled, inlined, overload, reachable
from onepull.simulation.draws import atom, place, show
from onepull.simulation.kernels.by_arm import of_arm
from onepull.simulation.kernels.features import kernel_psi, write_psi
from onepull.simulation.prepared import Arms, FunctionRunner, Prepared, Runner
from onepull.simulation.trials import Stretch
from onepull.simulation.world import World, WorldTables
from onepull.statistics import moved

reachable(
    rules.leading_law,
    rules.leading_law_of_arms,
    empirical_kl.likely_index,
    empirical_kl.likely_cap,
)


@overload(patient_kl.due_arm, error_model="numpy")
def _due_arm(
    values: Any, laws: Any, pulls: Any, means: Any, low: Any, top: Any, risk: float
) -> Any:
    del laws, pulls, means, low, top, risk
    return patient_kl.due_of_all if values.ndim == 1 else patient_kl.due_of_each


leader = compiled(patient_kl.patient_leader)
risk_at = inlined(empirical_likelihood.exploration)
move = inlined(moved)


class PatientState(NamedTuple):
    """The law of every arm's states, pulls, and when each context last occurred."""

    laws: Array
    pulls: NDArray[np.int64]
    came: NDArray[np.int64]
    trials: NDArray[np.int64]


@compiled
def patient(
    stretch: Any,
    chosen: Any,
    state: Any,
    cells: Any,
    values: Any,
    lows: Any,
    tops: Any,
    slacks: Any,
    c: Any,
    patience: Any,
    laws: Any,
    features: Any,
    plain: Any,
) -> None:
    """Run `PatientKL`: `values[cell]` are the rewards of the listed states at its centre.

    If arms have attributes, it has one row for each arm.
    """
    first, key, start, count = stretch.first, stretch.key, laws.start, laws.size
    ordered, keep, alias = laws.ordered, laws.keep, laws.alias
    weights, pulls, came = state.laws, state.pulls, state.came
    trials = state.trials[0]
    arms, many = weights.shape
    known = features.shape[0] > 0
    shown = np.zeros(laws.rows.shape[1])
    psi = np.zeros(many)
    means = np.zeros((values.shape[0], arms))
    absent = np.zeros(came.size, np.int64)
    changed = -1  # the arm whose means to compute again; -1 for all
    for i in range(cells.size):
        trials += 1
        trial = first + i
        for k in range(came.size):
            absent[k] = trials - came[k]
        for j in range(arms):
            if changed in (-1, j):
                for k in range(values.shape[0]):
                    means[k, j] = 0.0
                    rewards = of_arm(values[k], j)
                    for s in range(many):
                        means[k, j] += rewards[s] * weights[j, s]
        best = leader(
            values, weights, pulls, means, lows, tops, slacks, risk_at(trials, c), cells[i],
            absent, patience,
        )  # fmt: skip
        chosen[i] = changed = best
        came[cells[i]] = trials
        pulls[best] += 1
        at_arm = place(trial, arms, best)
        if known:
            found = atom(start[best], count[best], ordered[best], keep, alias, key, at_arm, trial)
            for s in range(many):
                weights[best, s] = move(weights[best, s], features[found, s], 1.0 / pulls[best])
            continue
        show(laws, best, key, at_arm, trial, shown)
        write_psi(plain, shown, psi)
        for s in range(many):
            weights[best, s] = move(weights[best, s], psi[s], 1.0 / pulls[best])
    state.trials[0] = trials


class PreparedPatient(Prepared):
    """`PatientKL` made ready."""

    nanoseconds = 5000.0

    def __init__(self, policy: PatientKL) -> None:
        factor = policy.sharing.factor
        assert isinstance(factor, Atoms)  # noqa: S101 - the only factors of this policy
        self.policy, self.factor, self.cells = policy, factor, policy.sharing.cells
        self.plain = kernel_psi(factor)
        self.values, _, *bounds = centre_rewards(factor, self.cells)
        self.lows, self.tops, self.slacks = map(np.array, bounds)
        self._features = WorldTables(lambda world: world.features(factor))

    def begin(self, own_key: int) -> Runner:
        """Return a runner without observations."""
        del own_key
        arms = len(self.policy.problem.arms)
        state = PatientState(
            np.zeros((arms, self.factor.features)),
            np.zeros(arms, np.int64),
            np.full(self.cells.features, NEVER_CAME, np.int64),
            np.zeros(1, np.int64),
        )

        def run(stretch: Stretch, world: World, chosen: Arms) -> None:
            patient(
                stretch, chosen, state, self.cells.locate_many(stretch.contexts), self.values,
                self.lows, self.tops, self.slacks, self.policy.c, self.policy.patience,
                world.states, self._features.of(world), self.plain,
            )  # fmt: skip

        return FunctionRunner(run)
