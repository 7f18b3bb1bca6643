"""The quantities that the paper's bounds depend on: contexts, probabilities, gaps, ranges."""

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
from onepull.factor.arm_ranges import ranges_by_arm
from onepull.problem import Problem
from onepull.spaces import Finite
from onepull.theory.cell_probabilities import cell_masses, counted, grid_axes


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """The quantities of the paper's analysis for an environment.

    Contexts with probability 0 are left out, and contexts listed twice are merged.

    Attributes
    ----------
    arms
        The names of the K arms.
    contexts
        The M contexts y_i, one row each; with a grid the centres of its cells.
    probabilities
        p_i, the probability of each context.
    rewards
        θ_ij, the mean reward `[context, arm]`.
    gaps
        Δ_j^(i) = θ_i* - θ_ij; differences within rounding errors are 0, a tie.
    ranges
        G_i = sup_x g(y_i, x) - inf_x g(y_i, x), over the states of all arms.
    bounds
        The lowest and the highest reward over all contexts and states.
    lipschitz
        L of each interval field.
    widths
        The width of the cells along each interval field, at most δ.
    notes
        Remarks for the reader on how the quantities were computed.
    arm_ranges
        G_ij, `[context, arm]`, if arms have attributes; None if it is G_i for every arm.

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
    arm_ranges: Array | None = None

    @classmethod
    def of(
        cls, environment: Environment, delta: float | Mapping[str, float] | None = None
    ) -> Instance:
        """Return the instance of an environment.

        Parameters
        ----------
        delta
            The largest width of a cell, for continuous contexts: each cell is represented by
            its centre, with the probability of the cell.

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
                    "the contexts are continuous, so delta (the width of the cells that they "
                    "are divided into) is needed"
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
        boxes = {name: (c, c) for name, c in zip(names, rows.T, strict=True)}
        low, high = problem.payoff.range(boxes)
        lows, highs = ranges_by_arm(problem, boxes) if problem.attributes else (None, None)
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
            arm_ranges=None if lows is None or highs is None else highs - lows,
        )

    @property
    def is_bounded(self) -> bool:
        """Whether every reward has a lowest value, which all bounds with G need."""
        return bool(np.isfinite(self.ranges).all())

    @property
    def optimal(self) -> list[int]:
        """The arms that are optimal in some context, ties included; the paper's 𝒪."""
        return np.flatnonzero((self.gaps == 0).any(axis=0)).tolist()

    @property
    def never_optimal(self) -> list[int]:
        """The arms that are optimal in no context; the paper writes 𝒪 with a bar."""
        return np.flatnonzero((self.gaps > 0).all(axis=0)).tolist()

    def contexts_of(self, arm: int) -> NDArray[np.int64]:
        """Return 𝒴_j: the contexts in which an arm is optimal, as rows of `contexts`.

        >>> from onepull.environment import channel_selection
        >>> Instance.of(channel_selection(7)).contexts_of(2)
        array([2])
        """
        return np.flatnonzero(self.gaps[:, arm] == 0)

    def alone_in(self, arm: int) -> NDArray[np.int64]:
        """Return the contexts in which an arm is the only optimal one.

        >>> from onepull.environment import channel_selection
        >>> Instance.of(channel_selection(7)).alone_in(2)
        array([2])
        """
        best = self.gaps == 0
        return np.flatnonzero(best[:, arm] & (best.sum(axis=1) == 1))

    @property
    def q(self) -> Array:
        """q_j: the probability of the contexts in which arm j is optimal, ties included."""
        return np.asarray(self.probabilities @ (self.gaps == 0))

    @property
    def p_o(self) -> float:
        """p_o: the probability of the rarest context."""
        return float(self.probabilities.min())

    @property
    def smallest_gap(self) -> float:
        """Δ_o: the smallest positive gap; infinite if all arms are always optimal."""
        return float(np.min(self.gaps, where=self.gaps > 0, initial=math.inf))

    @property
    def largest_gap(self) -> float:
        """Δ_max: the largest gap."""
        return float(self.gaps.max())

    @property
    def steepness(self) -> Array:
        """(G_ij/Δ_j^(i))², `[context, arm]`: how hard it is to tell an arm from the optimal one.

        Infinite where the arm is optimal.  Raises ParameterError if rewards have no lowest value.
        """
        if not self.is_bounded:
            raise ParameterError(
                "the bounds need a lowest reward, and this one has none: bound the states, for "
                "example with Interval(0, 30, outside='clip')"
            )
        apart = self.gaps > 0
        reach = self.ranges[:, None] if self.arm_ranges is None else self.arm_ranges
        ratio = reach / np.where(apart, self.gaps, 1.0)
        return np.where(apart, ratio**2, math.inf)

    @property
    def cell_cost(self) -> float:
        """δL: the most that a trial can lose because one context represents its cell."""
        return sum(self.lipschitz[name] * width for name, width in self.widths.items())


def beyond(environment: Environment) -> str:
    """Return why the bounds do not apply to an environment; empty if they do.

    >>> from onepull.environment import channel_selection
    >>> beyond(channel_selection())
    ''
    """
    if starts := [str(piece.start) for piece in environment.pieces()[1:]]:
        return (
            f"the bounds are for laws that do not change; these change after trial "
            f"{', '.join(starts)}"
        )
    if environment.budget is not None:
        return "the bounds are for problems without a budget; this one has a budget"
    return ""


def _notes(environment: Environment) -> tuple[str, ...]:
    laws = {"contexts": environment.contexts, **environment.states}
    ordered = [name for name, law in laws.items() if law.in_order]
    if not ordered:
        return ()
    return (f"{', '.join(ordered)}: replayed in order; the bounds assume random draws",)


def _is_cut(problem: Problem, name: str) -> bool:
    return not isinstance(problem.context[name], Finite)
