"""Joint learning that lets go of the past, in compiled loops.

The loop is the same whatever is forgotten; how an observation is taken in is compiled for
the type of the state.  The steps are those of `onepull.forgetting`, in the same order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.extending import overload
from numpy.typing import NDArray

from onepull.factor import Cells
from onepull.forgetting import Discounted, Window
from onepull.forgetting.discounted import FAINT, NOTHING
from onepull.formula import Array
from onepull.policies.sharing import Joint, Sharing
from onepull.simulation.compiled import compiled
from onepull.simulation.draws import atom, place, show
from onepull.simulation.kernels import move, root_of, spread
from onepull.simulation.plan import Arms, FunctionRunner, Runner
from onepull.simulation.rules import decide
from onepull.simulation.sharing_plans import JointPlan
from onepull.simulation.trials import Stretch
from onepull.simulation.world import World


class FadingState(NamedTuple):
    """Discounted statistics: `means[feature, arm]`, and weights in units of a common scale."""

    means: Array
    weights: Array
    roots: Array
    scale: Array
    trials: NDArray[np.int64]
    discount: float


class WindowState(NamedTuple):
    """Statistics of a window, those since it last began anew, and what it holds."""

    means: Array
    pulls: NDArray[np.int64]
    roots: Array
    next_means: Array
    next_pulls: NDArray[np.int64]
    ring_arms: NDArray[np.int64]
    ring_rows: Array
    trials: NDArray[np.int64]


def take_in(state: Any, arm: Any, psi: Any) -> None:
    """Take in an observation, and let go of what is past."""
    raise NotImplementedError  # the compiled forms are below


def _fade(state: Any, arm: Any, psi: Any) -> None:
    means, weights, roots, scale = state.means, state.weights, state.roots, state.scale
    scale[0] *= state.discount
    if scale[0] < FAINT:
        for j in range(weights.size):
            weights[j] *= scale[0]
            if weights[j] < NOTHING:
                weights[j] = 0.0
                roots[j] = 0.0
                for r in range(means.shape[0]):
                    means[r, j] = np.inf
            else:
                roots[j] = root_of(weights[j])
        scale[0] = 1.0
    unit = 1.0 / scale[0]
    weights[arm] += unit
    roots[arm] = root_of(weights[arm])
    share = unit / weights[arm]
    for r in range(means.shape[0]):
        means[r, arm] = move(means[r, arm], psi[r], share)


def _slide(state: Any, arm: Any, psi: Any) -> None:
    means, pulls, roots = state.means, state.pulls, state.roots
    new, new_pulls = state.next_means, state.next_pulls
    arms, rows = state.ring_arms, state.ring_rows
    here = (state.trials[0] - 1) % arms.size
    old = arms[here]
    if old >= 0:
        pulls[old] -= 1
        left = pulls[old]
        roots[old] = root_of(left) if left > 0 else 0.0
        for r in range(psi.size):
            away = move(means[r, old], rows[here, r], -1.0 / left) if left > 0 else np.inf
            means[r, old] = away
    arms[here] = arm
    pulls[arm] += 1
    new_pulls[arm] += 1
    roots[arm] = root_of(pulls[arm])
    for r in range(psi.size):
        rows[here, r] = psi[r]
        means[r, arm] = move(means[r, arm], psi[r], 1.0 / pulls[arm])
        new[r, arm] = move(new[r, arm], psi[r], 1.0 / new_pulls[arm])
    if here == arms.size - 1:
        for j in range(pulls.size):
            pulls[j] = new_pulls[j]
            new_pulls[j] = 0
            roots[j] = root_of(pulls[j]) if pulls[j] > 0 else 0.0
            for r in range(psi.size):
                means[r, j] = new[r, j]
                new[r, j] = np.inf


def narrowness(state: Any, now: Any) -> None:
    """Write 1/√m of every arm as it is now."""
    raise NotImplementedError  # the compiled forms are below


def _swollen(state: Any, now: Any) -> None:
    swell = root_of(state.scale[0])
    for j in range(now.shape[1]):
        now[0, j] = state.roots[j] * swell


def _as_it_is(state: Any, now: Any) -> None:
    for j in range(now.shape[1]):
        now[0, j] = state.roots[j]


@overload(take_in)
def _taking(state: Any, arm: Any, psi: Any) -> Any:
    """Return the step for the type of a state."""
    if isinstance(state, types.NamedTuple):
        return {FadingState: _fade, WindowState: _slide}.get(state.instance_class)
    return None


@overload(narrowness)
def _narrowing(state: Any, now: Any) -> Any:
    """Return the step for the type of a state."""
    if isinstance(state, types.NamedTuple):
        return {FadingState: _swollen, WindowState: _as_it_is}.get(state.instance_class)
    return None


@compiled
def forgetful(
    stretch: Any,
    chosen: Any,
    state: Any,
    cells: Any,
    lows: Any,
    highs: Any,
    rule: Any,
    laws: Any,
    features: Any,
    centres: Any,
    g: Any,
) -> None:
    """Run a rule on joint learning that forgets.

    `features[atom]` lists ψ of an atom; without atoms g is called for all centres.
    """
    first, key, means = stretch.first, stretch.key, state.means
    start, count, ordered = laws.start, laws.size, laws.ordered
    keep, alias = laws.keep, laws.alias
    many, arms = means.shape
    known = features.shape[0] > 0
    at = centres.shape[1]
    shown = np.zeros(laws.rows.shape[1])
    values = np.zeros((at + shown.size, many))
    psi = np.zeros(many)
    now = np.zeros((1, arms))
    for r in range(many):
        for f in range(at):
            values[f, r] = centres[r, f]
    for i in range(cells.size):
        cell = cells[i]
        trial = first + i
        state.trials[0] += 1
        narrowness(state, now)
        n = state.trials[0]
        best = decide(rule, means, cell, now, 0, lows[cell], highs[cell], n, trial)
        chosen[i] = best
        at_arm = place(trial, arms, best)
        if known:
            found = atom(start[best], count[best], ordered[best], keep, alias, key, at_arm, trial)
            for r in range(many):
                psi[r] = features[found, r]
        else:
            show(laws, best, key, at_arm, trial, shown)
            spread(shown, values, at)
            g(values, psi)
        take_in(state, best, psi)


class ForgettingPlan(JointPlan):
    """One pull teaches every cell, for a while."""

    def __init__(self, sharing: Joint, environment: Any, rule: Any) -> None:
        assert isinstance(sharing.factor, Cells)  # noqa: S101 - `fits` has seen to it
        super().__init__(sharing.factor, environment, rule)
        self.statistics = sharing.statistics
        self.nanoseconds = 100.0 + 20.0 * self.cells.features

    @staticmethod
    def fits(sharing: Sharing) -> bool:
        """Whether there is a kernel for what a sharing forgets."""
        return (
            type(sharing) is Joint
            and isinstance(sharing.factor, Cells)
            and type(sharing.statistics) in (Discounted, Window)
        )

    def _state(self) -> FadingState | WindowState:
        arms, many = self.arms, self.cells.features
        unpulled, trials = np.full((many, arms), np.inf), np.zeros(1, np.int64)
        kept = self.statistics
        if isinstance(kept, Discounted):
            return FadingState(
                unpulled, np.zeros(arms), np.zeros(arms), np.ones(1), trials, kept.discount
            )
        assert isinstance(kept, Window)  # noqa: S101 - the other kind that fits
        return WindowState(
            means=unpulled,
            pulls=np.zeros(arms, np.int64),
            roots=np.zeros(arms),
            next_means=unpulled.copy(),
            next_pulls=np.zeros(arms, np.int64),
            ring_arms=np.full(kept.window, -1),
            ring_rows=np.zeros((kept.window, many)),
            trials=trials,
        )

    def begin(self, own_key: int) -> Runner:
        """Return a runner that has seen nothing."""
        rule, state = self.rule(own_key), self._state()

        def run(stretch: Stretch, world: World, chosen: Arms) -> None:
            features = self.table(world, lambda world: world.features(self.cells))
            forgetful(
                stretch, chosen, state, self.places.of(stretch, world), self.lows, self.highs,
                rule, world.states, features, self.centres, world.g,
            )  # fmt: skip

        return FunctionRunner(run)
