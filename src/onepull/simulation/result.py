"""What a simulation found, as tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.errors import ParameterError

QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975, 0.99)

# The 97.5 % quantile of Student's t: for 1 to 4 degrees of freedom, and for more the terms
# of the Cornish-Fisher expansion in 1/freedom, polynomials in the normal quantile.
FEW = (12.7062, 4.30265, 3.18245, 2.77645)
Z = 1.959964
EXPANSION = (
    Z,
    (Z**3 + Z) / 4,
    (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96,
    (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / 384,
    (79 * Z**9 + 776 * Z**7 + 1482 * Z**5 - 1920 * Z**3 - 945 * Z) / 92160,
)


@dataclass(frozen=True, slots=True)
class Block:
    """Replications `start` to `stop` of every policy.

    Regrets are kept for each replication, so that policies can be compared pair by pair;
    pulls are summed.
    """

    start: int
    stop: int
    regrets: Array  # [policy, replication, checkpoint]
    pulls: NDArray[np.int64]  # [policy, checkpoint, arm], summed
    best_pulls: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Trace:
    """One replication, trial by trial."""

    policies: list[str]
    contexts: Array  # [trial, field]
    arms: NDArray[np.int64]  # [policy, trial], positions in the problem's arms; -1 for none
    regrets: Array  # [policy, trial], summed up to and including the trial


@dataclass(frozen=True, slots=True)
class Result:
    """Regret and pulls of every policy at every checkpoint.

    Attributes
    ----------
    policies
        Their names, in order.
    regrets
        `[policy, replication, checkpoint]`.
    pulls, best_pulls
        Mean pulls of each arm, `[policy, checkpoint, arm]`: all, and those in which the arm
        was the best.

    Examples
    --------
    >>> result = Result(
    ...     policies=["DCB"], parameters=[{}], arms=["a"], checkpoints=np.array([10]),
    ...     regrets=np.array([[[1.0], [3.0]]]), pulls=np.array([[[10.0]]]),
    ...     best_pulls=np.array([[[9.0]]]), storage=[2],
    ... )
    >>> row = result.final()[0]
    >>> row["regret"], row["standard_error"], row["worst"]
    (2.0, 1.0, 3.0)
    """

    policies: list[str]
    parameters: list[dict[str, Any]]
    arms: list[str]
    checkpoints: NDArray[np.int64]
    regrets: Array
    pulls: Array
    best_pulls: Array
    storage: list[int]
    notes: list[str] = field(default_factory=list)

    @property
    def replications(self) -> int:
        """The number of replications."""
        return int(self.regrets.shape[1])

    @property
    def horizon(self) -> int:
        """The last checkpoint."""
        return int(self.checkpoints[-1])

    def rows(self, baseline: str | None = None) -> list[dict[str, Any]]:
        """Return a tidy table: a row for each policy and checkpoint.

        With a baseline, each row has the mean paired difference to it and its 95 % interval.
        """
        base = None if baseline is None else self.regrets[self.find(baseline, "baseline")]
        return [
            self._row(p, c, base)
            for p in range(len(self.policies))
            for c in range(len(self.checkpoints))
        ]

    def final(self, baseline: str | None = None) -> list[dict[str, Any]]:
        """Return the rows of the last checkpoint."""
        return [row for row in self.rows(baseline) if row["trial"] == self.horizon]

    def regret(self, policy: str) -> Array:
        """Return the regrets of a policy at the horizon, one a replication."""
        return self.regrets[self.find(policy), :, -1]

    def find(self, policy: str, what: str = "policy") -> int:
        """Return the position of a policy; `what` it was given as is told if there is none."""
        if policy not in self.policies:
            raise ParameterError(f"unknown {what} {policy!r}; there are {', '.join(self.policies)}")
        return self.policies.index(policy)

    def _row(self, p: int, c: int, base: Array | None) -> dict[str, Any]:
        regrets = self.regrets[p, :, c]
        mean, error = mean_and_error(regrets)
        row: dict[str, Any] = {
            "policy": self.policies[p],
            **self.parameters[p],
            "trial": int(self.checkpoints[c]),
            "replications": self.replications,
            "regret": mean,
            "standard_error": error,
        }
        for q, value in zip(QUANTILES, np.quantile(regrets, QUANTILES), strict=True):
            row[f"q{100 * q:g}"] = float(value)
        row["worst"] = float(regrets.max())
        if base is not None:
            difference, spread = mean_and_error(regrets - base[:, c])
            half = student(self.replications) * spread
            row["difference"] = difference
            row["difference_low"] = difference - half
            row["difference_high"] = difference + half
        for j, arm in enumerate(self.arms):
            row[f"pulls[{arm}]"] = float(self.pulls[p, c, j])
            row[f"best_pulls[{arm}]"] = float(self.best_pulls[p, c, j])
        row["storage"] = self.storage[p]
        return row

    def to_pandas(self, baseline: str | None = None) -> Any:
        """Return the tidy table as a pandas DataFrame, if pandas is installed."""
        import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: PLC0415, ICN001

        return pandas.DataFrame(self.rows(baseline))

    def __str__(self) -> str:
        """Show the regret of every policy at the horizon, with its 95 % half-width."""
        t, runs = student(self.replications), f"{self.replications} replications"
        lines = [f"regret at trial {self.horizon:,}, {runs}, mean ± 95 % confidence interval"]
        width = max(map(len, self.policies))
        lines += [
            f"  {row['policy']:<{width}}"
            f"  {row['regret']:>12,.2f} ± {t * row['standard_error']:,.2f}"
            f"  (95 % of runs {row['q2.5']:,.1f} to {row['q97.5']:,.1f})"
            for row in self.final()
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show the same table in a notebook."""
        columns = ("policy", "regret", "± 95 %", "95 % of runs")
        head, t = "".join(f"<th>{h}</th>" for h in columns), student(self.replications)
        body = "".join(
            f"<tr><td>{escape(row['policy'])}</td><td>{row['regret']:,.2f}</td>"
            f"<td>{t * row['standard_error']:,.2f}</td>"
            f"<td>{row['q2.5']:,.1f} – {row['q97.5']:,.1f}</td></tr>"
            for row in self.final()
        )
        caption = f"regret at trial {self.horizon:,}, {self.replications} replications"
        return f"<table><caption>{caption}</caption><tr>{head}</tr>{body}</table>"


def mean_and_error(values: Array) -> tuple[float, float]:
    """Return the mean and its standard error; the latter is unknown for one value."""
    error = float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
    return float(values.mean()), error


def mean_and_half_width(values: Array) -> tuple[float, float]:
    """Return the mean and the half-width of its 95 % confidence interval, by Student's t.

    >>> mean, half_width = mean_and_half_width(np.array([1.0, 2.0, 3.0, 4.0]))
    >>> mean, round(half_width, 3)
    (2.5, 2.054)
    """
    mean, error = mean_and_error(values)
    return mean, student(len(values)) * error


def confidence_interval(values: Array) -> tuple[float, float]:
    """Return the 95 % confidence interval of the mean, cut off at 0 if no value is negative.

    >>> confidence_interval(np.array([0.0, 1.0]))[0]
    0.0
    """
    mean, half = mean_and_half_width(values)
    low = mean - half
    return max(low, 0.0) if low < 0 <= values.min() else low, mean + half


def student(count: int) -> float:
    """Return how many standard errors the 95 % confidence interval of a mean reaches.

    The 97.5 % quantile of Student's t with count - 1 degrees of freedom, to four digits:
    a table where there are few, from five on the expansion in their number.

    >>> [round(student(count), 2) for count in (2, 6, 31, 1000)]
    [12.71, 2.57, 2.04, 1.96]
    """
    freedom = float(count - 1)
    if freedom < 1:
        return math.nan
    if count <= len(FEW) + 1:
        return FEW[count - 2]
    return math.fsum(term * freedom**-power for power, term in enumerate(EXPANSION))


def joined(blocks: Iterable[Block]) -> tuple[Array, Array, Array]:
    """Return the regrets of all blocks in the order of replications, and the mean pulls."""
    ordered = sorted(blocks, key=lambda block: block.start)
    regrets = np.concatenate([block.regrets for block in ordered], axis=1)
    count = regrets.shape[1]
    pulls = _sum([block.pulls for block in ordered]) / count
    best = _sum([block.best_pulls for block in ordered]) / count
    return regrets, pulls, best


def _sum(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    total: NDArray[np.int64] = np.sum(parts, axis=0)
    return total
