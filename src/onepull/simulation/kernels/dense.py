"""Kernel for joint learning with a dense φ: histograms, sketches and low rank.

The library adds up φ·mean with numpy, which would allocate an array at every trial here.  The loop
adds from left to right and numpy in pairs, so from eight features on the two may differ by
rounding; from three on if arms have attributes, for which the library adds with `einsum`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepull.simulation.compiled import compiled
from onepull.simulation.draws import atom, place, show
from onepull.simulation.kernels.by_arm import of_arm
from onepull.simulation.kernels.features import write_psi
from onepull.simulation.kernels.means import states_beside, write_state
from onepull.simulation.kernels.memory import take_in
from onepull.simulation.kernels.rules import decide_on


@compiled
def dense(
    stretch: Any, chosen: Any, state: Any, phi: Any, rows: Any, lows: Any, highs: Any, rule: Any,
    laws: Any, features: Any, pivots: Any, plain: Any, g: Any,
) -> None:  # fmt: skip
    """Run a rule on the means of all features, with any kind of forgetting.

    An estimate is φ·mean.  `phi[rows[i]]`, `lows[rows[i]]` and `highs[rows[i]]` belong to the i-th
    context.  If arms have attributes, these have one row for each arm.  `features[atom]` is ψ of
    an atom.  For continuous states g is called at all pivots, or ψ is a plain function.
    """
    first, key, start, count = stretch.first, stretch.key, laws.start, laws.size
    ordered, keep, alias = laws.ordered, laws.keep, laws.alias
    means, pulls, roots = state.means.T, state.pulls, state.roots
    trials = state.trials[0]
    arms, many = means.shape
    known = features.shape[0] > 0
    at = pivots.shape[1]
    shown = np.zeros(laws.rows.shape[1])
    values = states_beside(pivots, shown.size)
    psi = np.zeros((1, many))
    worked_out = psi[0]
    estimates = np.zeros((1, arms))
    for i in range(rows.size):
        row = rows[i]
        trials += 1
        trial = first + i
        for j in range(arms):
            mean = np.inf
            if pulls[j] > 0:
                mean = 0.0
                weights = of_arm(phi[row], j)
                for r in range(many):
                    mean += weights[r] * means[j, r]
            estimates[0, j] = mean
        best = decide_on(
            rule, phi[row], means, pulls, estimates, roots, lows[row], highs[row], trials, trial
        )
        chosen[i] = best
        at_arm = place(trial, arms, best)
        if known:
            found = atom(start[best], count[best], ordered[best], keep, alias, key, at_arm, trial)
            take_in(state, best, features, found)
            continue
        show(laws, best, key, at_arm, trial, shown)
        if pivots.shape[0] > 0:
            write_state(shown, values, at)
            g(values, worked_out)
        else:
            write_psi(plain, shown, worked_out)
        take_in(state, best, psi, 0)
