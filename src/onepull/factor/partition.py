"""Which cells a problem's contexts fall into."""

from __future__ import annotations

from collections.abc import Mapping

from onepull.factor.cells import Cells
from onepull.factor.grid import Grid
from onepull.factor.table import Table
from onepull.problem import Problem


def partition(problem: Problem, delta: float | Mapping[str, float] | None) -> Cells:
    """Return the table of finite contexts, or the grid that δ makes of the others."""
    return Table(problem) if delta is None else Grid(problem, delta=delta)
