"""Tables of a simulation with a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from onepull.report.table import Table

if TYPE_CHECKING:  # the simulator loads a compiler; a table of a result does not need it
    from onepull.simulation.buffered import BufferResult

BEST = "the best there is"


def buffer_summary(  # noqa: PLR0913 - a full statement
    result: BufferResult,
    counted: str,
    *,
    baseline: str | None = None,
    best: float | None = None,
    beside: Sequence[str] = ("level", "lost"),
    notes: Sequence[str] = (),
) -> Table:
    """Return what every controller earned or paid, held and lost, a row for each.

    Parameters
    ----------
    counted
        What the buffer's account is kept in, `reward` or `cost`.
    baseline
        The controller that the others are compared with, replication by replication.
    best
        The most that can be had, if that is known: a row of its own.
    beside
        The measures that are shown too.

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
    columns = ["controller", *(name for m in measures for name in (m, f"± {m}"))]
    told = [
        "±: to either end of the 95 % confidence interval of the mean.",
        "level: what is in store at the beginning of a slot. lost: what found no room.",
    ]
    if baseline is not None:
        columns += [f"vs {baseline}", f"± vs {baseline}"]
        told.append(
            f"vs {baseline}: the mean paired difference in {counted} to it over the same draws."
        )
    rows: list[list[Any]] = []
    differences = result.rows(baseline) if baseline is not None else result.rows()
    for row, difference in zip(result.rows(), differences, strict=True):
        cells: list[Any] = [cell for m in measures for cell in _mean(row, m)]
        if baseline is not None:
            is_base = row["controller"] == baseline
            cells += [None, None] if is_base else _mean(difference, counted)
        rows.append([row["controller"], *cells])
    if best is not None:
        rows.append([BEST, best, *[None] * (len(columns) - 2)])
        told.append(f"{BEST}: in the long run, with everything known; by dynamic programming.")
    runs = "1 replication" if result.replications == 1 else f"{result.replications:,} replications"
    title = f"Means a slot over {result.horizon:,} slots, {runs}"
    return Table(title, columns, rows, [*told, *notes])


def buffer_tidy(result: BufferResult, baseline: str | None = None) -> Table:
    """Return all there is: a row for each controller, every measure with its interval.

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
    if baseline is not None:
        for row, difference in zip(rows, result.rows(baseline), strict=True):
            del difference["controller"], difference["horizon"]
            row |= {f"{name} vs baseline": value for name, value in difference.items()}
    columns = list(rows[0])
    return Table("All measures", columns, [[row[name] for name in columns] for row in rows])


def _mean(row: dict[str, Any], measure: str) -> list[float]:
    return [row[measure], (row[f"{measure}_high"] - row[f"{measure}_low"]) / 2]
