"""Tables of a simulation's result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onepull.report.table import Table
from onepull.report.table_cells import Span

if TYPE_CHECKING:  # the simulator loads a compiler; a table of a result does not need it
    from onepull.simulation import Result

__all__ = ["Span", "Table", "pulls", "summary", "tidy"]


def summary(result: Result, baseline: str | None = None) -> Table:
    """Return what every policy lost by the horizon, a row for each.

    Parameters
    ----------
    baseline
        The policy that the others are compared with, replication by replication.

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
    columns = ["policy", "regret", "± s.e.", "95 % of runs", "p99", "worst"]
    notes = ["95 % of runs: from the 2.5th to the 97.5th percentile of the replications."]
    if baseline is not None:
        columns += [f"vs {baseline}", "95 % interval"]
        notes.append(
            f"vs {baseline}: the mean paired difference to {baseline} over the same draws, "
            "with the 95 % confidence interval of that mean."
        )
    rows = [
        [
            row["policy"],
            row["regret"],
            row["standard_error"],
            Span(row["q2.5"], row["q97.5"]),
            row["q99"],
            row["worst"],
            *([] if baseline is None else _difference(row, baseline)),
            row["storage"],
        ]
        for row in result.final(baseline)
    ]
    notes += ["storage: numbers kept by the policy."]
    title = f"Regret at trial {result.horizon:,}, {_runs(result)}"
    return Table(title, [*columns, "storage"], rows, [*notes, *result.notes])


def pulls(result: Result) -> Table:
    """Return how often every policy pulled every arm by the horizon, in the mean.

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
        f"Mean pulls by trial {result.horizon:,}, {_runs(result)}",
        ["policy", "arm", "pulls", "optimal", "non-optimal"],
        rows,
        ["optimal: pulls in a context for which no arm was better."],
    )


def tidy(result: Result, baseline: str | None = None) -> Table:
    """Return all there is: a row for each policy and checkpoint, every parameter a column.

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
    # The policies' parameters differ; each has its column, next to the policy.
    stated = [name for parameters in result.parameters for name in parameters]
    columns = list(dict.fromkeys(["policy", *stated, *(name for row in found for name in row)]))
    rows = [[row.get(column) for column in columns] for row in found]
    return Table(f"All checkpoints, {_runs(result)}", columns, rows, list(result.notes))


def _difference(row: dict[str, Any], baseline: str) -> list[Any]:
    if row["policy"] == baseline:
        return [None, None]
    return [row["difference"], Span(row["difference_low"], row["difference_high"])]


def _runs(result: Result) -> str:
    return "1 replication" if result.replications == 1 else f"{result.replications:,} replications"
