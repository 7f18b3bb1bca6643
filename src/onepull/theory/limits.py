"""Asymptotic lower bounds: the least regret of any policy and of any index policy, per ln n.

A pull of an arm gives the same information in every context, but at different cost.  A
consistent policy pulls a never-optimal arm j at least ln n / min_i K_i(F_j, θ_i*) times, and can
do so in the context where it is cheapest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.environment import Environment
from onepull.errors import ParameterError
from onepull.factor.arm_ranges import ranges_by_arm
from onepull.index.empirical_likelihood import divergence
from onepull.payoff import box_points as partition
from onepull.payoff.payoff import MOST_LISTED_STATES
from onepull.theory.instance import Instance

STATE_NODES = 256  # of the quadrature for continuous states
SUPPORT_ROUNDING = 1e-15


def kinf(values: Array, probabilities: Array, level: float, top: float) -> float:
    """Return K(F, θ): the divergence of F from the nearest law with a mean above a level.

    The infimum of KL(F, F') over the laws F' on (-∞, top] with a mean above θ, which is the
    concave maximum over 0 ≤ λ ≤ 1 of E_F ln(1 - λ (X - θ)/(top - θ)) (Honda and Takemura,
    2010).  Infinite if the level is not below the top.

    Parameters
    ----------
    values, probabilities
        The law F, with finitely many values up to `top`.

    Examples
    --------
    A Bernoulli law with mean 0.3 and the level 0.6: kl(0.3, 0.6).

    >>> found = kinf(np.array([0.0, 1.0]), np.array([0.7, 0.3]), 0.6, 1.0)
    >>> round(found, 9) == round(0.7 * math.log(0.7 / 0.4) + 0.3 * math.log(0.3 / 0.6), 9)
    True
    """
    x, p = (
        np.asarray(part, float)[np.asarray(probabilities) > 0] for part in (values, probabilities)
    )
    p = p / p.sum()
    slack = SUPPORT_ROUNDING * max(1.0, abs(top), float(np.max(np.abs(x))))
    if np.max(x) > top + 1e3 * slack:
        raise ParameterError(f"values must be at most top={top:g}, given {np.max(x):g}")
    if p @ x >= level - slack:
        return 0.0
    if level >= top - slack:
        return math.inf
    return divergence(x.tolist(), p.tolist(), len(x), float(level), float(top))


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """The constant c of c·ln n, for each arm.

    Attributes
    ----------
    pulls
        Pulls of each arm per ln n; 0 for arms that are optimal in some context.
    where
        The context of the pulls, as a row of the instance's contexts; -1 without pulls.
    regret
        Regret of the pulls of each arm per ln n.
    """

    pulls: Array
    where: NDArray[np.int64]
    regret: Array

    @property
    def total(self) -> float:
        """The sum over the arms."""
        return float(self.regret.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Apart:
    """The lower bound of Lai and Robbins for each context separately.

    Attributes
    ----------
    pulls
        D_ij = 1/K_i(F_j, θ_i*), `[context, arm]`: the pulls of arm j that context i needs per
        ln n; 0 where the arm is optimal.
    regret
        Σ_j Δ_j^(i) D_ij for each context: the regret if it learns from its own pulls only.
    combined
        max_i D_ij for each arm that is never optimal: the pulls if all contexts share them.
    """

    pulls: Array
    regret: Array
    combined: Array

    @property
    def total(self) -> float:
        """The regret per ln n if contexts share nothing."""
        return float(self.regret.sum())


def divergences(
    environment: Environment, delta: float | Mapping[str, float] | None = None
) -> tuple[Instance, Array]:
    """Return the instance and K_i(F_j, θ_i*) for each context and arm; 0 for optimal arms.

    The top of context i is the highest reward of a declared state in it.  Continuous states are
    integrated by quadrature, which the notes of the instance mention.

    >>> from onepull.environment import channel_selection
    >>> _, found = divergences(channel_selection(7))
    >>> round(float(found[3, 4]), 6)
    0.021601
    """
    instance = Instance.of(environment, delta)
    vector = environment.problem.payoff.vector
    tops = _tops(environment, instance)
    best = instance.rewards.max(axis=1)
    found = np.zeros_like(instance.gaps)
    for j, law in enumerate(environment.outcomes.values()):
        rows, weights = law.rule(STATE_NODES if law.fields == 1 else STATE_NODES // 2)
        for i in np.flatnonzero(instance.gaps[:, j] > 0).tolist():
            values = np.broadcast_to(vector(*instance.contexts[i], *rows.T), weights.shape)
            top = float(tops[i, j])
            found[i, j] = kinf(np.minimum(values, top), weights, best[i], top)
    smooth = [arm for arm, law in environment.states.items() if law.atoms is None]
    if smooth:
        told = f"{', '.join(smooth)}: divergences by quadrature, not exact"
        instance = replace(instance, notes=(*instance.notes, told))
    return instance, found


def graves_lai(environment: Environment, delta: float | Mapping[str, float] | None = None) -> Limit:
    """Return the least regret of a consistent policy: Σ min_i Δ_j^(i) / min_i K_i(F_j, θ_i*).

    This is the exact constant of Graves and Lai for states with any law on the declared space.
    The sum is over the never-optimal arms.  Their linear programme separates by arm: pulls of the
    other arms cost nothing, and the laws of different arms are unrelated.  Each never-optimal arm
    must be pulled often enough for the context that is hardest to rule out, in the context where
    a pull is cheapest.

    >>> from onepull.environment import channel_selection
    >>> round(graves_lai(channel_selection(7)).total, 1)
    26.6
    """
    instance, found = divergences(environment, delta)
    return _limit(instance, found.min(axis=0), instance.gaps.argmin(axis=0))


def index_policy(
    environment: Environment, delta: float | Mapping[str, float] | None = None
) -> Limit:
    """Return the regret of the best index policy, which explores where arms are hardest to tell.

    Σ Δ_j^(i) / K_i(F_j, θ_i*) over never-optimal arms, with i the context in which K_i is least.

    >>> from onepull.environment import channel_selection
    >>> round(index_policy(channel_selection(7)).total, 1)
    32.6
    """
    instance, found = divergences(environment, delta)
    return _limit(instance, found.min(axis=0), _most_confusing(found, instance))


def lai_robbins(
    environment: Environment, delta: float | Mapping[str, float] | None = None
) -> Apart:
    """Return the lower bound of each context separately, and the pulls of all combined.

    >>> from onepull.environment import channel_selection
    >>> found = lai_robbins(channel_selection(7))
    >>> found.combined.round(1)
    array([ 0. ,  0. ,  0. ,  0. , 46.3, 10.9,  4.4])
    >>> found.regret.round(1)
    array([11.2, 23.4, 37.6, 84.6])
    """
    instance, found = divergences(environment, delta)
    with np.errstate(divide="ignore"):
        pulls = np.where(instance.gaps > 0, 1.0 / found, 0.0)
    never = np.zeros(len(instance.arms), bool)
    never[instance.never_optimal] = True
    return Apart(
        pulls=pulls,
        regret=(np.where(pulls > 0, instance.gaps, 0.0) * pulls).sum(axis=1),
        combined=np.where(never, pulls.max(axis=0), 0.0),
    )


def hoeffding_constant(instance: Instance, alpha: float) -> Limit:
    """Return the regret of an index with widths G_i·√(α ln n / m): α (G_i/Δ_j^(i))² Δ_j^(i).

    Asymptotically a never-optimal arm is chosen while θ_ij + G_i·√(α ln n / m) ≥ θ_i* for some
    i: α ln n · max_i (G_i/Δ_j^(i))² times, the last of them in the context of that maximum.
    The factor 4 in theorem 1 comes from its proof and is not needed asymptotically.

    >>> from onepull.environment import channel_selection
    >>> channels = Instance.of(channel_selection(7))
    >>> round(hoeffding_constant(channels, 2.01).total, 1)
    147.4
    >>> round(hoeffding_constant(channels, 0.5).total, 1)
    36.7
    """
    if not alpha > 0:
        raise ParameterError(f"alpha must be a number > 0, given {alpha!r}")
    ease = 1.0 / (alpha * instance.steepness)
    return _limit(instance, ease.min(axis=0), _most_confusing(ease, instance))


def _limit(instance: Instance, least: Array, where: NDArray[np.int64]) -> Limit:
    """Return 1/least pulls of each never-optimal arm in the given contexts."""
    never = np.zeros(len(instance.arms), bool)
    never[instance.never_optimal] = True
    with np.errstate(divide="ignore"):
        pulls = np.where(never, 1.0 / least, 0.0)
    costs = np.take_along_axis(instance.gaps, where[None, :], axis=0)[0]
    return Limit(pulls, np.where(never, where, -1), pulls * np.where(never, costs, 0.0))


def _most_confusing(found: Array, instance: Instance) -> NDArray[np.int64]:
    """Return the context in which each arm is hardest to tell; of several the costliest."""
    close = found <= found.min(axis=0) * (1 + 1e-9)
    return np.asarray(np.where(close, instance.gaps, -1.0).argmax(axis=0))


def _tops(environment: Environment, instance: Instance) -> Array:
    """Return B_ij: the highest reward of a declared state in each context, with each arm."""
    problem = environment.problem
    names, shape = problem.context.names, instance.gaps.shape
    boxes = {name: (c, c) for name, c in zip(names, instance.contexts.T, strict=True)}
    if problem.attributes:
        return ranges_by_arm(problem, boxes)[1]
    tops = problem.payoff.range(boxes)[1]
    outcome = problem.outcome
    if partition.is_finite(outcome) and partition.size(outcome) <= MOST_LISTED_STATES:
        states = list(partition.all_combinations(partition.listed_values(outcome)).values())
        found = [np.max(problem.payoff.vector(*y, *states)) for y in instance.contexts]
        tops = np.array(found)
    return np.broadcast_to(tops[:, None], shape)
