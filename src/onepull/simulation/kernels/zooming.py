"""Contextual zooming in a compiled loop, on the library's own plain functions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.policies import ContextualZooming
from onepull.policies.partition.balls import (
    confidence_radius,
    distance,
    leading_ball,
    opened_radius,
)
from onepull.simulation.compiled import compiled, inlined, reachable
from onepull.simulation.kernels.means import earned
from onepull.simulation.prepared import Arms, FunctionRunner, Prepared, Runner
from onepull.simulation.trials import Stretch
from onepull.simulation.world import World, WorldTables
from onepull.statistics import moved

reachable(confidence_radius, distance)  # what the plain functions call
leading = inlined(leading_ball)
opened = inlined(opened_radius)
move = inlined(moved)


class ZoomState(NamedTuple):
    """The balls of every arm, `[arm, ball]`; arm j has `sizes[j]` of them, the rest is room."""

    centres: Array
    radii: Array
    pulls: NDArray[np.int64]
    means: Array
    sizes: NDArray[np.int64]


def empty(arms: int, fields: int, room: int) -> ZoomState:
    """Return a state without balls, with room for `room` balls an arm."""
    return ZoomState(
        np.zeros((arms, room, fields)),
        np.zeros((arms, room)),
        np.zeros((arms, room), np.int64),
        np.full((arms, room), np.inf),
        np.zeros(arms, np.int64),
    )


def with_room(state: ZoomState, more: int) -> ZoomState:
    """Return the same balls with room for `more` balls an arm."""
    used = int(state.sizes.max())
    wide = empty(len(state.sizes), state.centres.shape[2], used + more)
    for whole, part in zip(wide, state, strict=True):
        if whole.ndim == 1:
            whole[:] = part
        else:
            whole[:, :used] = part[:, :used]
    return wide


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
    """Run contextual zooming; a horizon of 0 means that it is not known."""
    sizes, radii, pulls, means = state.sizes, state.radii, state.pulls, state.means
    arms, fields = sizes.size, slopes.size
    shown = np.zeros(laws.rows.shape[1])
    values, value = np.zeros((fields + shown.size, 1)), np.zeros(1)
    for i in range(chosen.size):
        context = stretch.contexts[i]
        trial = stretch.first + i
        log_horizon = np.log(horizon if horizon > 0 else trial + 1)
        best, ball, highest = 0, 0, -np.inf
        for j in range(arms):
            n = sizes[j]
            own, index = leading(
                context, state.centres[j, :n], radii[j, :n], pulls[j, :n], means[j, :n],
                slopes, log_horizon, width,
            )  # fmt: skip
            # In the unit of the reward, as the library compares them.
            score = low + scale * index
            if score > highest:
                best, ball, highest = j, own, score
        chosen[i] = best
        reward = earned(stretch, i, best, arms, laws, rewards, g, shown, values, value)
        pulls[best, ball] += 1
        weight = 1.0 / pulls[best, ball]
        means[best, ball] = move(means[best, ball], (reward - low) / scale, weight)
        log_horizon = np.log(horizon if horizon > 0 else trial + 2)
        radius = opened(radii[best, ball], pulls[best, ball], log_horizon, width)
        if radius > 0.0:
            new = sizes[best]
            for f in range(fields):
                state.centres[best, new, f] = context[f]
            radii[best, new] = radius
            sizes[best] += 1


class PreparedZoom(Prepared):
    """Contextual zooming, ready to be simulated."""

    nanoseconds = 1000.0

    def __init__(self, policy: ContextualZooming) -> None:
        self.policy = policy
        self.rewards = WorldTables(World.rewards)

    def begin(self, own_key: int) -> Runner:
        """Return a runner that has seen nothing."""
        del own_key
        zoom, policy = self.policy.zoom, self.policy
        similarity = zoom.similarity
        slopes = np.array(similarity.slopes)
        state = empty(len(zoom.balls), len(slopes), 1)
        state.centres[:, 0] = similarity.middle
        state.radii[:, 0] = 1.0
        state.sizes[:] = 1

        def run(stretch: Stretch, world: World, chosen: Arms) -> None:
            nonlocal state
            state = with_room(state, len(chosen))
            zooming(
                stretch, chosen, state, slopes, policy.horizon or 0, policy.width,
                zoom.low, zoom.range, world.states, self.rewards.of(world), world.g,
            )  # fmt: skip

        return FunctionRunner(run)
