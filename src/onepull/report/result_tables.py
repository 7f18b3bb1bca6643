"""Tables of the regret and the pulls in a simulation result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onepull.report.table import Table
from onepull.report.table_cells import PLUS_MINUS, Estimate, Span

if TYPE_CHECKING:  # importing the simulator loads a compiler, which tables do not need
    from onepull.simulation import Result

__all__ = ["Estimate", "Span", "Table", "pulls", "runs", "summary", "tidy"]

HALF_WIDTH = f"{PLUS_MINUS}: half the width of the 95 % confidence interval of the mean."
OF_RUNS = "95 % of runs: from the 2.5th to the 97.5th percentile of the replications."


def summary(result: Result, baseline: str | None = None) -> Table:
    """Return the regret of every policy at the horizon, one row each.

    Parameters
    ----------
    baseline
        A policy to compare the others with, replication by replication.

    Examples
    --------
    >>> import numpy as np
    >>> from onepull.simulation import Result
    >>> result = Result(
    ...     policies=["DCB", "UCB1"], parameters=[{}, {}], arms=["a", "b"],
    ...     checkpoints=np.array([10]), regrets=np.array([[[1.0], [3.0]], [[6.0], [8.0]]]),
    ...     pulls=np.full((2, 1, 2), 5.0), best_pulls=np.full((2, 1, 2), 4.0), storage=[4, 2],
    ... )
    >>> table = summary(result, baseline="DCB")
    >>> table.title
    'Regret at trial 10, 2 replications'
    >>> [(row["policy"], row["regret"], row["vs DCB"]) for row in table.records()]
    [('DCB', 2.0, None), ('UCB1', 7.0, 5.0)]
    """
    from onepull.simulation.result import student  # noqa: PLC0415 - loads a compiler

    columns = ["policy", "regret", "95 % of runs", "p99", "worst"]
    notes = [HALF_WIDTH, OF_RUNS]
    if baseline is not None:
        columns.append(f"vs {baseline}")
        notes.append(
            f"vs {baseline}: mean difference to {baseline} in the same replication; negative is "
            "less regret."
        )
    t, found = student(result.replications), result.final(baseline)
    rows = [
        [
            row["policy"],
            Estimate(row["regret"], t * row["standard_error"]),
            Span(row["q2.5"], row["q97.5"]),
            row["q99"],
            row["worst"],
            *([] if baseline is None else [_difference(row, baseline)]),
            row["storage"],
        ]
        for row in found
    ]
    notes += [*result.interval_notes(), "storage: how many numbers the policy keeps."]
    title = f"Regret at trial {result.horizon:,}, {runs(result.replications)}"
    return Table(title, [*columns, "storage"], rows, [*notes, *result.notes])


def pulls(result: Result) -> Table:
    """Return the mean number of pulls of every arm by every policy at the horizon.

    Examples
    --------
    >>> import numpy as np
    >>> from onepull.simulation import Result
    >>> result = Result(
    ...     policies=["DCB"], parameters=[{}], arms=["a", "b"],
    ...     checkpoints=np.array([10]), regrets=np.array([[[1.0], [3.0]]]),
    ...     pulls=np.array([[[7.5, 2.5]]]), best_pulls=np.array([[[6.0, 0.0]]]), storage=[4],
    ... )
    >>> pulls(result).rows
    [['DCB', 'a', 7.5, 6.0, 1.5], ['DCB', 'b', 2.5, 0.0, 2.5]]
    """
    rows = [
        [policy, arm, float(total), float(best), float(total - best)]
        for policy, totals, bests in zip(
            result.policies, result.pulls[:, -1], result.best_pulls[:, -1], strict=True
        )
        for arm, total, best in zip(result.arms, totals, bests, strict=True)
    ]
    return Table(
        f"Mean pulls by trial {result.horizon:,}, {runs(result.replications)}",
        ["policy", "arm", "pulls", "optimal", "non-optimal"],
        rows,
        [
            "optimal: pulls in a context in which no arm is better.",
            "Means without an interval: pulls are stored as sums over replications.",
        ],
    )


def tidy(result: Result, baseline: str | None = None) -> Table:
    """Return the full result: a row for each policy and checkpoint, a column for each parameter.

    Examples
    --------
    >>> import numpy as np
    >>> from onepull.simulation import Result
    >>> result = Result(
    ...     policies=["DCB", "UCB1"], parameters=[{"epsilon": 0.01}, {}], arms=["a"],
    ...     checkpoints=np.array([1, 10]), regrets=np.zeros((2, 3, 2)),
    ...     pulls=np.ones((2, 2, 1)), best_pulls=np.ones((2, 2, 1)), storage=[4, 2],
    ... )
    >>> [row[:3] for row in tidy(result).rows]
    [['DCB', 0.01, 1], ['DCB', 0.01, 10], ['UCB1', None, 1], ['UCB1', None, 10]]
    """
    found = result.rows(baseline)
    # Policies have different parameters; each has a column, next to the policy's name.
    stated = [name for parameters in result.parameters for name in parameters]
    columns = list(dict.fromkeys(["policy", *stated, *(name for row in found for name in row)]))
    rows = [[row.get(column) for column in columns] for row in found]
    return Table(f"All checkpoints, {runs(result.replications)}", columns, rows, list(result.notes))


def runs(replications: int) -> str:
    """Return the number of replications in words, for a title.

    >>> runs(1), runs(1200)
    ('1 replication', '1,200 replications')
    """
    return "1 replication" if replications == 1 else f"{replications:,} replications"


def _difference(row: dict[str, Any], baseline: str) -> Estimate | None:
    if row["policy"] == baseline:
        return None
    return Estimate(row["difference"], row["difference_high"] - row["difference"])
