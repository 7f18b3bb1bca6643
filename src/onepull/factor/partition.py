"""The partition of a problem's contexts into cells."""

from __future__ import annotations

from collections.abc import Mapping

from onepull.factor.cells import Cells
from onepull.factor.context_table import ContextTable
from onepull.factor.grid import Grid
from onepull.problem import Problem


def partition(problem: Problem, delta: float | Mapping[str, float] | None) -> Cells:
    """Return a table of the contexts if δ is None, else a grid with cells of width δ."""
    return ContextTable(problem) if delta is None else Grid(problem, delta=delta)
