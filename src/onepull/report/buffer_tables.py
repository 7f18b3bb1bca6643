"""Tables of a simulation result with a battery or a queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from onepull.report.result_tables import HALF_WIDTH, runs
from onepull.report.table import Table
from onepull.report.table_cells import Estimate

if TYPE_CHECKING:  # importing the simulator loads a compiler, which tables do not need
    from onepull.simulation.buffered import BufferResult

BEST = "the best there is"
MEASURES_AT_ZERO = "None of these can be negative: an interval that would go below 0 begins at 0."


def buffer_summary(  # noqa: PLR0913 - a full statement
    result: BufferResult,
    counted: str,
    *,
    baseline: str | None = None,
    best: float | None = None,
    beside: Sequence[str] = ("level", "lost"),
    notes: Sequence[str] = (),
) -> Table:
    """Return the mean reward or cost, level and loss of every controller, one row each.

    Parameters
    ----------
    counted
        The measure that the buffer is judged by, `reward` or `cost`.
    baseline
        A controller to compare the others with, replication by replication.
    best
        The highest reachable mean, if it is known; it gets its own row.
    beside
        Further measures to show.

    Examples
    --------
    >>> import numpy as np
    >>> from onepull.simulation.buffered import BufferResult
    >>> ones = np.ones((2, 2))
    >>> measured = {"reward": np.array([[1.0, 3.0], [5.0, 9.0]]), "level": ones, "lost": 0 * ones}
    >>> table = buffer_summary(BufferResult(["all", "drift"], 10, measured), "reward",
    ...                         baseline="all", best=9.5)
    >>> table.title
    'Means a slot over 10 slots, 2 replications'
    >>> [(row["controller"], row["reward"], row["vs all"]) for row in table.records()]
    [('all', 2.0, None), ('drift', 7.0, 5.0), ('the best there is', 9.5, None)]
    """
    measures = [counted, *beside]
    columns = ["controller", *measures]
    told = [
        HALF_WIDTH,
        "level: what is stored at the beginning of a slot. lost: what arrived and found no room.",
    ]
    if baseline is not None:
        columns.append(f"vs {baseline}")
        told.append(
            f"vs {baseline}: mean difference in {counted} to {baseline} in the same replication."
        )
    rows: list[list[Any]] = []
    differences = result.rows(baseline) if baseline is not None else result.rows()
    for row, difference in zip(result.rows(), differences, strict=True):
        cells: list[Any] = [_estimate(row, m) for m in measures]
        if baseline is not None:
            is_base = row["controller"] == baseline
            cells.append(None if is_base else _estimate(difference, counted))
        rows.append([row["controller"], *cells])
    means = [cell for row in rows for cell in row[1 : len(measures) + 1]]
    least = min(float(result.measured[m].min()) for m in measures)
    if least >= 0 and any(half > mean for mean, half in means):
        told.append(MEASURES_AT_ZERO)
    if best is not None:
        rows.append([BEST, best, *[None] * (len(columns) - 2)])
        told.append(f"{BEST}: long-run mean with known laws, by dynamic programming.")
    title = f"Means a slot over {result.horizon:,} slots, {runs(result.replications)}"
    return Table(title, columns, rows, [*told, *notes])


def buffer_tidy(result: BufferResult, baseline: str | None = None) -> Table:
    """Return the full result: a row for each controller, every measure with its interval.

    The interval of a measure that is never negative is cut off at 0.

    >>> import numpy as np
    >>> from onepull.simulation.buffered import BufferResult
    >>> buffer_tidy(BufferResult(["all"], 10, {"reward": np.array([[1.0, 3.0]])})).columns
    ['controller', 'horizon', 'replications', 'reward', 'reward_low', 'reward_high']
    """
    rows = [
        {
            "controller": row.pop("controller"),
            "horizon": row.pop("horizon"),
            "replications": result.replications,
            **row,
        }
        for row in result.rows()
    ]
    for c, row in enumerate(rows):
        for measure, values in result.measured.items():
            if values[c].min() >= 0:
                row[f"{measure}_low"] = max(0.0, row[f"{measure}_low"])
    if baseline is not None:
        for row, difference in zip(rows, result.rows(baseline), strict=True):
            del difference["controller"], difference["horizon"]
            row |= {f"{name} vs baseline": value for name, value in difference.items()}
    columns = list(rows[0])
    return Table("All measures", columns, [[row[name] for name in columns] for row in rows])


def _estimate(row: dict[str, Any], measure: str) -> Estimate:
    return Estimate(row[measure], row[f"{measure}_high"] - row[measure])
