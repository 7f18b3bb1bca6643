"""Which grids of contexts to try: the ladder of δ."""

from __future__ import annotations

import math

from onepull.factor.cells import cells_needed
from onepull.problem import Problem
from onepull.spaces import Interval

CELL_POWERS = {"T^-1/3": 1 / 3, "T^-1/2": 1 / 2, "T^-2/3": 2 / 3}  # the paper's δ / width
RUNG = 4  # each step of the ladder has this many times more cells per field
MOST_GRID_CELLS = 100_000  # of a grid
HORIZONS = (10_000, 100_000, 1_000_000)  # to plan for if the horizon is unknown


def ladder(
    problem: Problem, horizon: int | None, *, most: int | None = None
) -> dict[str, float | dict[str, float]]:
    """Return δ by label: 1, 4, 16, … cells per field, and the paper's powers of T if T is known.

    Grids of more than `most` cells (by default `MOST_GRID_CELLS`) are left out.

    >>> from onepull.environment import energy_harvesting
    >>> {label: round(d, 4) for label, d in ladder(energy_harvesting().problem, 1000).items()}
    {'1 cell': 1.0, '4 cells': 0.25, 'T^-1/3': 0.1, 'T^-1/2': 0.0316, 'T^-2/3': 0.01}
    """
    fields = " per field" if len(intervals(problem)) > 1 else ""
    finest = 512.0 if horizon is None else horizon ** min(CELL_POWERS.values())
    counts = [RUNG**k for k in range(64) if 2 * RUNG**k <= finest]
    shares = {f"{n} cell{'s' * (n > 1)}{fields}": 1 / n for n in counts}
    if horizon is not None:
        shares |= {label: horizon**-power for label, power in CELL_POWERS.items()}
    deltas = {label: _cut(problem, share) for label, share in shares.items()}
    cells = {label: cell_count(problem, delta) for label, delta in deltas.items()}
    # With a short horizon several labels give the same grid; the last, the paper's, is kept.
    names = {count: label for label, count in cells.items() if count <= (most or MOST_GRID_CELLS)}
    return {label: deltas[label] for label in names.values()}


def left_out(problem: Problem, horizon: int | None) -> list[str]:
    """Return the paper's δ that would need too many cells.

    >>> from onepull.environment import energy_harvesting
    >>> left_out(energy_harvesting().problem, 10**9)
    ['T^-2/3']
    """
    if not intervals(problem):
        return []
    trials = horizon or HORIZONS[-1]
    cells = {
        label: cell_count(problem, _cut(problem, trials**-p)) for label, p in CELL_POWERS.items()
    }
    return [label for label, count in cells.items() if count > MOST_GRID_CELLS]


def intervals(problem: Problem) -> dict[str, Interval]:
    """Return the continuous fields of the context."""
    return {name: s for name, s in problem.context.items() if isinstance(s, Interval)}


def _cut(problem: Problem, share: float) -> float | dict[str, float]:
    """Return δ for a share of each field's width, in the form that policies take."""
    widths = {name: space.extent * share for name, space in intervals(problem).items()}
    return next(iter(widths.values())) if len(widths) == 1 else widths


def cell_count(problem: Problem, delta: float | dict[str, float]) -> int:
    """Return how many cells a grid of contexts has."""
    widths = delta if isinstance(delta, dict) else dict.fromkeys(intervals(problem), delta)
    return math.prod(
        cells_needed(space, widths[name]) if isinstance(space, Interval) else len(space.values)
        for name, space in problem.context.items()
    )
