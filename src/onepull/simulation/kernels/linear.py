"""Linear models in a compiled loop.

Models are solved by the library's plain function.  The library uses numpy for indices, and LAPACK
for models with many features: both round differently than loops do.  So a policy chooses what the
library chooses unless two indices agree to the last digits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.index.hoeffding import optimistic
from onepull.policies.linear.linear_model import LinearPolicy
from onepull.policies.linear.ridge import cholesky, invert, solve_ridge
from onepull.simulation.compiled import compiled, inlined, reachable
from onepull.simulation.draws import ASIDE, bits, normal
from onepull.simulation.kernels.means import earned
from onepull.simulation.prepared import Arms, FunctionRunner, Prepared, Runner
from onepull.simulation.trials import Stretch
from onepull.simulation.world import World, WorldTables

reachable(cholesky, invert)  # what the plain function calls
index = inlined(optimistic)
solve = inlined(solve_ridge)


class LinearState(NamedTuple):
    """The sums, θ̂ and root of every model, and the pulls of every arm."""

    grams: Array
    moments: Array
    thetas: Array
    roots: Array
    pulls: NDArray[np.int64]


class LinearRule(NamedTuple):
    """α of LinUCB, v of Thompson sampling, λ of both, and the key of the draws."""

    alpha: float
    spread: float
    regulariser: float
    key: Any


@inlined
def luck(state: Any, rule: Any, trial: Any, drawn: Any) -> None:
    """Write θ̃ of every model: θ̂, or a draw around it.

    The library draws from numpy's generator.  A kernel cannot: it draws by place as all of the
    simulator does.
    """
    thetas, roots = state.thetas, state.roots
    models, size = thetas.shape
    stream = bits(rule.key, trial) ^ ASIDE
    for m in range(models):
        for k in range(size):
            drawn[m, k] = thetas[m, k]
        if rule.spread > 0.0:
            for i in range(size):
                step = rule.spread * normal(stream, 2 * (m * size + i))
                for k in range(i + 1):
                    drawn[m, k] += step * roots[m, i, k]


@inlined
def leading(state: Any, rule: Any, features: Any, drawn: Any, low: Any, width: Any) -> Any:
    """Return the first arm that was never pulled, or else the first with the highest index."""
    pulls, roots = state.pulls, state.roots
    models, size = drawn.shape
    best, highest = 0, -np.inf
    for j in range(pulls.size):
        if pulls[j] == 0:
            return j
        m = j if models > 1 else 0
        row = j if features.shape[0] > 1 else 0
        mean, square = 0.0, 0.0
        for i in range(size):
            mean += drawn[m, i] * features[row, i]
            turned = 0.0
            for k in range(i + 1):
                turned += roots[m, i, k] * features[row, k]
            square += turned * turned
        # In the unit of the reward, as the library compares them.
        score = low + width * index(mean, np.sqrt(square), rule.alpha)
        if score > highest:
            best, highest = j, score
    return best


@compiled
def linear(
    stretch: Any, chosen: Any, state: Any, rule: Any, features: Any, low: Any, width: Any,
    laws: Any, rewards: Any, g: Any,
) -> None:  # fmt: skip
    """Run a rule on linear models; `features[trial]` has one row for all arms, or one for each."""
    grams, moments, pulls = state.grams, state.moments, state.pulls
    models, size = moments.shape
    shown = np.zeros(laws.rows.shape[1])
    values, value = np.zeros((stretch.contexts.shape[1] + shown.size, 1)), np.zeros(1)
    lower, drawn = np.zeros((size, size)), np.zeros((models, size))
    for i in range(chosen.size):
        luck(state, rule, stretch.first + i, drawn)
        best = leading(state, rule, features[i], drawn, low, width)
        chosen[i] = best
        reward = earned(stretch, i, best, pulls.size, laws, rewards, g, shown, values, value)
        m = best if models > 1 else 0
        row = best if features.shape[1] > 1 else 0
        for k in range(size):
            x = features[i, row, k]
            moments[m, k] += x * ((reward - low) / width)
            for other in range(size):
                grams[m, k, other] += x * features[i, row, other]
        pulls[best] += 1
        solve(grams[m], moments[m], rule.regulariser, lower, state.roots[m], state.thetas[m])


class PreparedLinear(Prepared):
    """LinUCB or linear Thompson sampling, ready to be simulated."""

    def __init__(self, policy: LinearPolicy) -> None:
        self.model = policy.model
        self.constants = policy.parameters
        models, size = self.model.moments.shape
        luck = 40.0 if policy.traits.randomised else 0.0
        self.nanoseconds = 150.0 + models * size * (3.0 * size + luck)
        self.rewards = WorldTables(World.rewards)

    def begin(self, own_key: int) -> Runner:
        """Return a runner that has seen nothing."""
        model, regulariser = self.model, self.constants["regulariser"]
        alpha, spread = self.constants.get("alpha", 0.0), self.constants.get("spread", 0.0)
        rule = LinearRule(alpha, spread, regulariser, np.uint64(own_key))
        models, size = model.moments.shape
        state = LinearState(
            np.zeros((models, size, size)),
            np.zeros((models, size)),
            np.zeros((models, size)),
            np.zeros((models, size, size)),
            np.zeros(len(model.problem.arms), np.int64),
        )

        def run(stretch: Stretch, world: World, chosen: Arms) -> None:
            # Columns next to each other would be of another type to the compiler.
            features = np.ascontiguousarray(model.features.table(stretch.contexts))
            linear(
                stretch, chosen, state, rule, features,
                model.low, model.range, world.states, self.rewards.of(world), world.g,
            )  # fmt: skip

        return FunctionRunner(run)
