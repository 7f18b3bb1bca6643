"""What the paper's bounds depend on: the contexts, how likely they are, and the gaps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.environment import Environment
from onepull.environment.environment import gaps_of
from onepull.errors import ParameterError
from onepull.factor import Grid
from onepull.problem import Problem
from onepull.spaces import Finite
from onepull.theory.cell_probabilities import cell_masses, counted, grid_axes


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A problem in its environment, as the paper's analysis sees it.

    Contexts that never occur are left out, and contexts listed twice are taken together.

    Attributes
    ----------
    arms
        The names of the K arms.
    contexts
        The M contexts y_i, a row each: of a grid, the centres of its cells.
    probabilities
        p_i, how likely each context is.
    rewards
        θ_ij, the mean reward `[context, arm]`.
    gaps
        Δ_j^(i) = θ_i* - θ_ij, with what is mere rounding taken for a tie.
    ranges
        G_i = sup_x g(y_i, x) - inf_x g(y_i, x).
    bounds
        The least and the greatest reward over all contexts and states.
    lipschitz
        L for each interval field that was cut into cells.
    widths
        How wide the cells are along each of these fields, at most δ.
    notes
        What a reader should know about how this was worked out.

    Examples
    --------
    >>> from onepull.environment import channel_selection
    >>> channels = Instance.of(channel_selection(7))
    >>> [channels.arms[j] for j in channels.never_optimal]
    ['channel 5', 'channel 6', 'channel 7']
    >>> round(channels.smallest_gap, 9), round(channels.largest_gap, 9)
    (0.1, 1.2)
    """

    arms: tuple[str, ...]
    contexts: Array
    probabilities: Array
    rewards: Array
    gaps: Array
    ranges: Array
    bounds: tuple[float, float]
    lipschitz: Mapping[str, float] = field(default_factory=dict)
    widths: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, environment: Environment, delta: float | Mapping[str, float] | None = None
    ) -> Instance:
        """Return the instance of an environment.

        Parameters
        ----------
        delta
            The largest width of a cell, for contexts that are not finitely many: each cell
            counts as its centre, with the probability of the whole of it.

        Examples
        --------
        >>> from onepull.environment import energy_harvesting
        >>> Instance.of(energy_harvesting(), delta=0.25).contexts.ravel()
        array([0.125, 0.375, 0.625, 0.875])
        """
        if why := beyond(environment):
            raise ParameterError(why)
        law = environment.pieces()[0].contexts
        problem, notes = environment.problem, _notes(environment)
        lipschitz: dict[str, float] = {}
        widths: dict[str, float] = {}
        if delta is None:
            if law.atoms is None:
                raise ParameterError(
                    "the contexts are continuous: give delta, the width of the cells that "
                    "they are cut into"
                )
            rows, inverse = np.unique(law.atoms[0], axis=0, return_inverse=True)
            masses = counted(inverse.ravel(), law.atoms[1], len(rows))
        else:
            grid = Grid(problem, delta=delta)
            rows, masses = np.array(grid.centres), cell_masses(grid, law)
            cut = {n: a for n, a in grid_axes(grid).items() if _is_cut(problem, n)}
            lipschitz = {name: problem.payoff.lipschitz[name].value for name in cut}
            widths = {name: axis.width for name, axis in cut.items()}
        rows, masses = rows[masses > 0], masses[masses > 0]
        rewards = environment.expected_rewards(rows)
        names = problem.context.names
        low, high = problem.payoff.range(
            {name: (c, c) for name, c in zip(names, rows.T, strict=True)}
        )
        return cls(
            arms=tuple(problem.arms),
            contexts=rows,
            probabilities=masses / masses.sum(),
            rewards=rewards,
            gaps=gaps_of(rewards, problem.payoff.whole_range),
            ranges=high - low,
            bounds=problem.payoff.whole_range,
            lipschitz=lipschitz,
            widths=widths,
            notes=notes,
        )

    @property
    def optimal(self) -> list[int]:
        """𝒪: the arms that are best in some context, also where others are as good."""
        return np.flatnonzero((self.gaps == 0).any(axis=0)).tolist()

    @property
    def never_optimal(self) -> list[int]:
        """𝒪̄: the arms that are best in no context."""
        return np.flatnonzero((self.gaps > 0).all(axis=0)).tolist()

    def contexts_of(self, arm: int) -> NDArray[np.int64]:
        """Return 𝒴_j: the contexts in which an arm is best, as rows of `contexts`.

        >>> from onepull.environment import channel_selection
        >>> Instance.of(channel_selection(7)).contexts_of(2)
        array([2])
        """
        return np.flatnonzero(self.gaps[:, arm] == 0)

    def alone_in(self, arm: int) -> NDArray[np.int64]:
        """Return the contexts of 𝒴_j in which no other arm is as good.

        >>> from onepull.environment import channel_selection
        >>> Instance.of(channel_selection(7)).alone_in(2)
        array([2])
        """
        best = self.gaps == 0
        return np.flatnonzero(best[:, arm] & (best.sum(axis=1) == 1))

    @property
    def q(self) -> Array:
        """q_j: how likely a context is in which arm j is best; ties count for every best arm."""
        return np.asarray(self.probabilities @ (self.gaps == 0))

    @property
    def p_o(self) -> float:
        """p_o: the probability of the rarest context."""
        return float(self.probabilities.min())

    @property
    def smallest_gap(self) -> float:
        """Δ_o: the smallest gap of an arm that is not best; infinite where all always are."""
        return float(np.min(self.gaps, where=self.gaps > 0, initial=math.inf))

    @property
    def largest_gap(self) -> float:
        """Δ_max: the largest gap."""
        return float(self.gaps.max())

    @property
    def steepness(self) -> Array:
        """(G_i/Δ_j^(i))², `[context, arm]`: how hard an arm is to tell from the best.

        Infinite where the arm is best.
        """
        apart = self.gaps > 0
        ratio = self.ranges[:, None] / np.where(apart, self.gaps, 1.0)
        return np.where(apart, ratio**2, math.inf)

    @property
    def cell_cost(self) -> float:
        """δL: what a trial may lose at most because a context stands for its whole cell."""
        return sum(self.lipschitz[name] * width for name, width in self.widths.items())


def beyond(environment: Environment) -> str:
    """Return why the bounds say nothing about an environment; nothing if they do.

    >>> from onepull.environment import channel_selection
    >>> beyond(channel_selection())
    ''
    """
    if starts := [str(piece.start) for piece in environment.pieces()[1:]]:
        return (
            f"the bounds are for laws that do not change; these do, after trial {', '.join(starts)}"
        )
    if environment.budget is not None:
        return "the bounds are for pulls that cost nothing; here a budget pays for them"
    return ""


def _notes(environment: Environment) -> tuple[str, ...]:
    laws = {"contexts": environment.contexts, **environment.states}
    ordered = [name for name, law in laws.items() if law.in_order]
    if not ordered:
        return ()
    return (f"{', '.join(ordered)}: taken in order; the bounds count them as drawn",)


def _is_cut(problem: Problem, name: str) -> bool:
    return not isinstance(problem.context[name], Finite)
