"""Contextual zooming in a compiled loop."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.policies import ContextualZooming
from onepull.policies.partition.contextual_zooming import doubt
from onepull.simulation.compiled import compiled, inlined
from onepull.simulation.kernels.linear import earned
from onepull.simulation.prepared import Arms, FunctionRunner, Prepared, Runner
from onepull.simulation.trials import Stretch
from onepull.simulation.world import World
from onepull.statistics import moved

conf = inlined(doubt)
move = inlined(moved)


class ZoomState(NamedTuple):
    """The balls of every arm, `[arm, ball]`, with room for more than `sizes` of them."""

    centres: Array
    radii: Array
    pulls: NDArray[np.int64]
    means: Array
    sizes: NDArray[np.int64]


def empty(arms: int, fields: int, room: int) -> ZoomState:
    """Return room for so many balls."""
    return ZoomState(
        np.zeros((arms, room, fields)),
        np.zeros((arms, room)),
        np.zeros((arms, room), np.int64),
        np.full((arms, room), np.inf),
        np.zeros(arms, np.int64),
    )


def roomier(state: ZoomState, more: int) -> ZoomState:
    """Return the same balls with room for so many more."""
    used = int(state.sizes.max())
    wide = empty(len(state.sizes), state.centres.shape[2], used + more)
    for whole, part in zip(wide, state, strict=True):
        if whole.ndim == 1:
            whole[:] = part
        else:
            whole[:, :used] = part[:, :used]
    return wide


@inlined
def distance(one: Any, two: Any, slopes: Any) -> Any:
    """Return how far two contexts are apart, 1 at most."""
    total = 0.0
    for f in range(slopes.size):
        total += abs(one[f] - two[f]) * slopes[f]
    return min(1.0, total)


@inlined
def leader(
    state: Any, j: Any, context: Any, slopes: Any, horizon: Any, width: Any, before: Any
) -> Any:
    """Return the relevant ball of arm j with the highest index, and that index."""
    centres, radii = state.centres[j], state.radii[j]
    pulls, means = state.pulls[j], state.means[j]
    smallest = np.inf
    for b in range(state.sizes[j]):
        before[b] = means[b] + radii[b] + conf(horizon, pulls[b], width)
        if radii[b] < smallest and distance(centres[b], context, slopes) <= radii[b]:
            smallest = radii[b]
    best, highest = 0, -np.inf
    for b in range(state.sizes[j]):
        if radii[b] == smallest and distance(centres[b], context, slopes) <= radii[b]:
            bound = np.inf
            for other in range(state.sizes[j]):
                bound = min(bound, before[other] + distance(centres[other], centres[b], slopes))
            if radii[b] + bound > highest:
                best, highest = b, radii[b] + bound
    return best, highest


@compiled
def zooming(
    stretch: Any,
    chosen: Any,
    state: Any,
    slopes: Any,
    horizon: Any,
    width: Any,
    low: Any,
    scale: Any,
    laws: Any,
    rewards: Any,
    g: Any,
) -> None:
    """Run contextual zooming; a horizon of 0 is one that is not known."""
    sizes, radii, pulls, means = state.sizes, state.radii, state.pulls, state.means
    arms, fields = sizes.size, slopes.size
    shown = np.zeros(laws.rows.shape[1])
    values, value = np.zeros((fields + shown.size, 1)), np.zeros(1)
    before = np.zeros(radii.shape[1])
    for i in range(chosen.size):
        context = stretch.contexts[i]
        trial = stretch.first + i
        best, ball, highest = 0, 0, -np.inf
        for j in range(arms):
            known = horizon if horizon > 0 else trial + 1
            own, score = leader(state, j, context, slopes, known, width, before)
            if score > highest:
                best, ball, highest = j, own, score
        chosen[i] = best
        reward = earned(stretch, i, best, arms, laws, rewards, g, shown, values, value)
        pulls[best, ball] += 1
        weight = 1.0 / pulls[best, ball]
        means[best, ball] = move(means[best, ball], (reward - low) / scale, weight)
        known = horizon if horizon > 0 else trial + 2
        if conf(known, pulls[best, ball], width) <= radii[best, ball]:
            new = sizes[best]
            for f in range(fields):
                state.centres[best, new, f] = context[f]
            radii[best, new] = radii[best, ball] / 2
            sizes[best] += 1


class PreparedZoom(Prepared):
    """Contextual zooming made ready."""

    nanoseconds = 1000.0

    def __init__(self, policy: ContextualZooming) -> None:
        self.policy = policy
        self.rewards: dict[int, Array] = {}

    def begin(self, own_key: int) -> Runner:
        """Return a runner that has seen nothing."""
        del own_key
        zoom, policy = self.policy.zoom, self.policy
        similarity = zoom.similarity
        state = empty(len(zoom.balls), len(similarity.slopes), 1)
        state.centres[:, 0] = similarity.middle
        state.radii[:, 0] = 1.0
        state.sizes[:] = 1

        def run(stretch: Stretch, world: World, chosen: Arms) -> None:
            nonlocal state
            if id(world) not in self.rewards:
                self.rewards[id(world)] = world.rewards()
            state = roomier(state, len(chosen))
            zooming(
                stretch, chosen, state, similarity.slopes, policy.horizon or 0, policy.width,
                zoom.low, zoom.range, world.states, self.rewards[id(world)], world.g,
            )  # fmt: skip

        return FunctionRunner(run)
