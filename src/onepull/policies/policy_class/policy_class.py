"""A finite class of policies as a table, with an argmax oracle."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.errors import InputError, ParameterError
from onepull.factor import Cells

MOST_POLICIES = 20_000
FEW_MAPS = 5_000  # the default class is all maps if there are at most this many
MOST_ENTRIES = 20_000_000  # of the table of policies and cells

Maps: TypeAlias = NDArray[np.int64]
GivenPolicies: TypeAlias = str | Sequence[Sequence[str]] | None


class PolicyClass:
    """A finite class of policies that map contexts to arms: one arm per policy and cell.

    When an arm is added or removed, "maps" and "thresholds" are built again for the new arms.  A
    list of policies does not change: none of its policies plays an added arm, and an arm that
    one of them plays cannot be removed.

    Parameters
    ----------
    cells
        The cells of the contexts; a policy plays one arm in each cell.
    arms
        The names of the arms.
    kind
        "maps": all K^M maps from cells to arms.  "thresholds": always one arm, or one arm below a
        threshold of one context field and another above.  Or a list of policies, each a list with
        one arm per cell.  By default all maps if there are at most 5,000, else thresholds.

    Attributes
    ----------
    assignments
        `assignments[policy, cell]`, the position of an arm.

    Examples
    --------
    >>> from onepull import Finite, Interval, Problem, ContextTable
    >>> problem = Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... )
    >>> policies = PolicyClass(ContextTable(problem), problem.arms)
    >>> policies.assignments.tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> policies.best(np.array([[0.5, 0.25], [0.0, 1.0]]))
    (1, 1.5)
    """

    def __init__(self, cells: Cells, arms: Sequence[str], kind: GivenPolicies = None) -> None:
        self.arms = tuple(arms)
        self.kind: str | list[list[str]] | None
        if kind is None or isinstance(kind, str):
            self.kind = kind
            self.assignments = _named(kind, cells, len(self.arms))
        else:
            self.kind = [list(policy) for policy in _lists(kind)]
            self.assignments = _listed(self.kind, cells.features, self.arms)
        # One row per cell, so that a sum over cells adds long rows.
        steps = len(self.arms) * np.arange(cells.features)
        self._places = np.ascontiguousarray(self.assignments.T + steps[:, None])

    def __len__(self) -> int:
        """Return the number of policies."""
        return len(self.assignments)

    @property
    def is_listed(self) -> bool:
        """Whether the policies were listed one by one, in an order of their own."""
        return isinstance(self.kind, list)

    def values(self, scores: Array) -> Array:
        """Return for every policy the sum over cells of `scores[cell, arm]` of its arms."""
        total: Array = scores.ravel()[self._places].sum(axis=0)
        return total

    def best(self, scores: Array) -> tuple[int, float]:
        """Return the first policy with the highest sum of scores, and that sum."""
        values = self.values(scores)
        first = int(values.argmax())
        return first, float(values[first])

    def keeps(self, arms: Sequence[str]) -> None:
        """Raise InputError if a listed policy plays an arm that is not among these."""
        if isinstance(self.kind, list):
            played = {arm for policy in self.kind for arm in policy}
            if gone := sorted(played - set(arms)):
                raise InputError(
                    f"arm {gone[0]!r} is played by a listed policy and cannot be removed"
                )


def _named(kind: str | None, cells: Cells, arms: int) -> Maps:
    maps, cuts = arms**cells.features, _cuts(cells)
    thresholds = arms + len(cuts) * arms * (arms - 1)
    if kind not in (None, "maps", "thresholds"):
        raise ParameterError(
            f"policies must be 'maps', 'thresholds' or a list of policies, given {kind!r}"
        )
    if kind == "maps" or (kind is None and maps <= FEW_MAPS):
        _check(maps, cells.features, "maps of cells to arms")
        every = itertools.product(range(arms), repeat=cells.features)
        return np.array(list(every), dtype=np.int64)
    _check(thresholds, cells.features, "policies with one threshold")
    rows = [np.full(cells.features, arm) for arm in range(arms)]
    for below in cuts:
        for low, high in itertools.permutations(range(arms), 2):
            rows.append(np.where(below, low, high))
    return np.array(rows, dtype=np.int64)


def _check(count: int, cells: int, what: str) -> None:
    if count > MOST_POLICIES or count * cells > MOST_ENTRIES:
        shown = f"{count:,}" if count < 10**15 else "too many to count"
        raise ParameterError(
            f"{shown} {what} over {cells:,} cells are too many; at most {MOST_POLICIES:,} policies "
            f"and {MOST_ENTRIES:,} entries are allowed; take a larger delta, or list the policies"
        )


def _cuts(cells: Cells) -> list[NDArray[np.bool_]]:
    """Return the cells below each threshold, for all thresholds of all fields."""
    found = []
    for column in np.array(cells.centres).T:
        found += [column < value for value in np.unique(column)[1:]]
    return found


def _lists(kind: Any) -> list[list[str]]:
    try:
        policies = [list(policy) for policy in kind if not isinstance(policy, str)]
        if policies and len(policies) == len(kind):
            return policies
    except TypeError:
        pass
    raise ParameterError(
        "policies must be 'maps', 'thresholds' or a list of policies, each a list with one arm "
        f"per cell, given {kind!r}"
    )


def _listed(policies: list[list[str]], cells: int, arms: Sequence[str]) -> Maps:
    _check(len(policies), cells, "policies")
    position = {arm: j for j, arm in enumerate(arms)}
    for number, policy in enumerate(policies):
        if len(policy) != cells:
            raise ParameterError(
                f"policy {number} must have one arm for each of {cells} cells, given {len(policy)}"
            )
        for arm in policy:
            if arm not in position:
                raise ParameterError(
                    f"policy {number} plays the unknown arm {arm!r}; the arms are {', '.join(arms)}"
                )
    return np.array([[position[arm] for arm in policy] for policy in policies], dtype=np.int64)
