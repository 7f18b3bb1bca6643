"""Mixtures: policies with weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.checks import Count
from onepull.errors import SaveFileError
from onepull.policies.policy_class.policy_class import Maps, PolicyClass


class MixtureState(msgspec.Struct, forbid_unknown_fields=True):
    """The saved form: the arm of each policy in each cell, and the weights."""

    maps: list[list[Count]]
    weights: list[Annotated[float, msgspec.Meta(ge=0.0, le=1e100)]]


class PolicyMixture:
    """Policies with weights; immutable.

    The policies are stored as maps from cells to arms, so they do not change when arms are added
    or removed.

    Attributes
    ----------
    maps
        `maps[policy, cell]`, the position of an arm.
    weights
        One for each policy, not negative.

    Examples
    --------
    >>> mixture = PolicyMixture(np.array([[0, 0], [0, 1]]), np.array([0.5, 0.25]))
    >>> mixture.table(arms=2)
    array([[0.75, 0.  ],
           [0.5 , 0.25]])
    """

    __slots__ = ("maps", "weights")

    def __init__(self, maps: Maps, weights: Array) -> None:
        self.maps, self.weights = maps, weights

    @classmethod
    def of(cls, policies: PolicyClass, weights: Mapping[int, float]) -> PolicyMixture:
        """Return the mixture of some policies of a class, each by its number with its weight."""
        return cls(policies.assignments[list(weights)], np.array(list(weights.values())))

    @classmethod
    def nothing(cls, cells: int) -> PolicyMixture:
        """Return the mixture without policies."""
        return cls(np.zeros((0, cells), np.int64), np.zeros(0))

    def table(self, arms: int) -> Array:
        """Return `table[cell, arm]`, the weight of the policies that play the arm there."""
        cells = self.maps.shape[1]
        table = np.zeros((cells, arms))
        np.add.at(table, (np.arange(cells), self.maps), self.weights[:, None])
        return table

    def without(self, arm: int) -> PolicyMixture:
        """Return the mixture of the policies that never play an arm, with that arm removed."""
        kept = ~(self.maps == arm).any(axis=1)
        maps = self.maps[kept]
        return PolicyMixture(maps - (maps > arm), self.weights[kept])

    def state(self) -> MixtureState:
        """Return the mixture as plain values."""
        return MixtureState(self.maps.tolist(), self.weights.tolist())

    @classmethod
    def restored(cls, state: MixtureState, cells: int, arms: int) -> PolicyMixture:
        """Return a saved mixture; raises SaveFileError if it is invalid."""
        fits = len(state.maps) == len(state.weights) and all(
            len(row) == cells and all(arm < arms for arm in row) for row in state.maps
        )
        if not fits:
            raise SaveFileError(
                f"the saved policies do not fit {cells} cells of contexts and {arms} arms"
            )
        maps = np.array(state.maps, np.int64).reshape(-1, cells)
        return cls(maps, np.array(state.weights, dtype=np.float64))


def chances(table: Array, floor: float) -> Any:
    """Return the smoothed probabilities (1 - Kμ)·W + μ of `W[cell, arm]`."""
    return (1.0 - table.shape[1] * floor) * table + floor
