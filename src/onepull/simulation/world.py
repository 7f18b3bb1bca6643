"""An environment as arrays for kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from onepull.arrays import Array
from onepull.environment.environment import Environment, Piece
from onepull.factor import Factorisation
from onepull.payoff.formula_payoff import FormulaPayoff
from onepull.simulation.law_tables import tabulate

LARGEST_TABLE = 1 << 24  # numbers

Table = TypeVar("Table")


def lists_everything(environment: Environment) -> bool:
    """Whether all contexts and states are discrete, with few enough atoms for one table."""
    for piece in environment.pieces():
        listed = [law.atoms for law in piece.states]
        if piece.contexts.atoms is None or any(atoms is None for atoms in listed):
            return False
        states = sum(len(atoms[0]) for atoms in listed if atoms is not None)
        if len(piece.contexts.atoms[0]) * states > LARGEST_TABLE:
            return False
    return True


class World:
    """A piece of an environment as arrays, shared by all policies."""

    def __init__(self, environment: Environment, piece: Piece, g: Any) -> None:
        self.problem = environment.problem
        self.piece = piece
        self.g = g
        self.states = tabulate(piece.states)
        self.arrivals = tabulate([piece.contexts])
        atoms = piece.contexts.atoms
        self.contexts: Array | None = None if atoms is None else atoms[0]
        self.state_atoms = bool(np.all(self.states.size > 0))

    def _too_large(self, numbers: int) -> bool:
        """Whether a table is too large to store, and a formula can compute its entries."""
        return numbers > LARGEST_TABLE and isinstance(self.problem.payoff, FormulaPayoff)

    def features(self, factor: Factorisation) -> Array:
        """Return ψ of each state atom, or an empty array if states are continuous."""
        if not self.state_atoms or self._too_large(len(self.states.rows) * factor.features):
            return np.zeros((0, factor.features))
        return np.array([factor.psi(tuple(row)) for row in self.states.rows.tolist()], np.float64)

    def rewards(self) -> Array:
        """Return the reward of each state atom in each context atom; empty if one has no atoms."""
        if self.contexts is None or not self.state_atoms:
            return np.zeros((0, 0))
        if self._too_large(len(self.contexts) * len(self.states.rows)):
            return np.zeros((0, 0))
        columns = [column[:, None] for column in self.contexts.T]
        table = self.problem.payoff.vector(*columns, *self.states.rows.T)
        # To the compiler a read-only array is of another type, which needs another kernel.
        return np.require(table, np.float64, ["C", "W"])


class WorldTables(Generic[Table]):
    """Tables computed from a world: each is made when first asked for, and kept with its world.

    >>> from onepull.environment import channel_selection
    >>> channels = channel_selection(2)
    >>> world = World(channels, channels.pieces()[0], None)
    >>> rewards = WorldTables(World.rewards)
    >>> rewards.of(world).shape, rewards.of(world) is rewards.of(world)
    ((4, 4), True)
    """

    def __init__(self, make: Callable[[World], Table]) -> None:
        self._make = make
        self._made: WeakKeyDictionary[World, Table] = WeakKeyDictionary()

    def of(self, world: World) -> Table:
        """Return the table of a world."""
        table = self._made.get(world)
        if table is None:
            table = self._made[world] = self._make(world)
        return table
