"""The result of a simulation: regret and pulls of every policy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.errors import MissingExtra, ParameterError
from onepull.html import block, note, printable, table

if TYPE_CHECKING:  # figures are drawn when they are asked for
    from matplotlib.figure import Figure

AT_ZERO = "Regret is never negative here: an interval that would go below 0 begins at 0."
QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975, 0.99)

# The 97.5 % quantile of Student's t: a table for 1 to 4 degrees of freedom; for more, the terms
# of the Cornish-Fisher expansion in 1/freedom, polynomials in the normal quantile.
STUDENT_T = (12.7062, 4.30265, 3.18245, 2.77645)
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

    Regrets are kept for each replication, so that policies can be compared in pairs.  Pulls are
    summed.
    """

    start: int
    stop: int
    regrets: Array  # [policy, replication, checkpoint]
    pulls: NDArray[np.int64]  # [policy, checkpoint, arm], summed
    best_pulls: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Trace:
    """One replication, trial by trial.

    Attributes
    ----------
    policies
        Their names, in order.
    contexts
        `[trial, field]`.
    arms
        `[policy, trial]`: the positions of the arms pulled; -1 if none was pulled.
    regrets
        `[policy, trial]`: the regret up to and including the trial.
    """

    policies: list[str]
    contexts: Array
    arms: NDArray[np.int64]
    regrets: Array


@dataclass(frozen=True, slots=True)
class Result:
    """Regret and pulls of every policy at every checkpoint.

    Attributes
    ----------
    policies
        Their names, in order.
    parameters
        The parameters of each policy.
    arms
        The names of the arms.
    checkpoints
        The trials at which regret and pulls were recorded; the last is the horizon.
    regrets
        `[policy, replication, checkpoint]`.
    pulls, best_pulls
        Mean pulls of each arm, `[policy, checkpoint, arm]`: all of them, and those in which the
        arm was the best.
    storage
        How many numbers each policy keeps.
    notes
        How to read the numbers.

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

        With a baseline, each row also has the mean paired difference to that policy and its
        95 % confidence interval.
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
        """Return the regret of a policy at the horizon, a number for each replication."""
        return self.regrets[self.find(policy), :, -1]

    def find(self, policy: str, what: str = "policy") -> int:
        """Return the position of a policy; an error says `what` the name was given for."""
        if policy not in self.policies:
            raise ParameterError(f"unknown {what} {policy!r}; there are {', '.join(self.policies)}")
        return self.policies.index(policy)

    def interval_notes(self) -> list[str]:
        """Return a note if the interval of a mean at the horizon goes below 0 and regret cannot.

        Regret can be negative with realised rewards or a budget only.
        """
        intervals = map(mean_and_half_width, self.regrets[:, :, -1])
        is_below = any(mean < half for mean, half in intervals)
        return [AT_ZERO] if is_below and self.regrets.min() >= 0 else []

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
        """Return the table of `rows` as a pandas DataFrame.

        Raises `MissingExtra` if pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise MissingExtra("to_pandas needs pandas: pip install pandas") from None
        return pandas.DataFrame(self.rows(baseline))

    def plot(
        self,
        divide_by: Literal["nothing", "log", "root"] = "nothing",
        *,
        policies: Sequence[str] | None = None,
        title: str | None = None,
        log_x: bool = True,
        log_y: bool = False,
    ) -> Figure:
        """Draw the mean regret of each policy against the trial, with its 95 % confidence band.

        A notebook shows the figure.  Save it with `onepull.report.save(figure, "regret.svg")`.
        Needs the `simulate` extra.

        Parameters
        ----------
        divide_by
            Divide regret by "nothing", by ln n ("log") or by √n ("root").
        policies
            Which policies to draw; all by default.
        title
            The title of the figure.
        log_x, log_y
            Whether an axis is logarithmic.

        Examples
        --------
        >>> result = Result(
        ...     policies=["DCB"], parameters=[{}], arms=["a"], checkpoints=np.array([1, 10]),
        ...     regrets=np.array([[[0.0, 1.0], [0.0, 3.0]]]), pulls=np.ones((1, 2, 1)),
        ...     best_pulls=np.ones((1, 2, 1)), storage=[2],
        ... )
        >>> result.plot().axes[0].get_xlabel()
        'trial n'
        """
        # By name: figures are made from results, so their module is in a layer above this one.
        figures = import_module("onepull.report.figures")
        figure = figures.regret(
            self, divide_by, policies=policies, title=title, log_x=log_x, log_y=log_y
        )
        # Without pyplot, a notebook shows a figure only if it knows how to draw itself.
        figure._repr_svg_ = partial(figures.svg, figure)
        shown: Figure = figure
        return shown

    def __str__(self) -> str:
        """Return the regret of every policy at the horizon as text."""
        t, runs = student(self.replications), f"{self.replications} replications"
        lines = [f"regret at trial {self.horizon:,}, {runs}, mean ± 95 % confidence interval"]
        width = max(len(printable(name)) for name in self.policies)
        lines += [
            f"  {printable(row['policy']):<{width}}"
            f"  {row['regret']:>12,.2f} ± {t * row['standard_error']:,.2f}"
            f"  (95 % of runs {row['q2.5']:,.1f} to {row['q97.5']:,.1f})"
            for row in self.final()
        ]
        return "\n".join([*lines, *self.interval_notes()])

    def _repr_html_(self) -> str:
        """Return the same table for a notebook."""
        columns, t = ("policy", "regret", "± 95 %", "95 % of runs"), student(self.replications)
        rows = [
            (
                row["policy"],
                f"{row['regret']:,.2f}",
                f"{t * row['standard_error']:,.2f}",
                f"{row['q2.5']:,.1f} to {row['q97.5']:,.1f}",
            )
            for row in self.final()
        ]
        title = f"regret at trial {self.horizon:,}, {self.replications} replications"
        return block(table(title, columns, rows), *map(note, [*self.interval_notes(), *self.notes]))


def mean_and_error(values: Array) -> tuple[float, float]:
    """Return the mean and its standard error, which is nan for one value."""
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


def student(count: int) -> float:
    """Return the half-width of a 95 % confidence interval of a mean, in standard errors.

    This is the 97.5 % quantile of Student's t with count - 1 degrees of freedom, to four digits:
    from a table for up to four, from an expansion for more.

    >>> [round(student(count), 2) for count in (2, 6, 31, 1000)]
    [12.71, 2.57, 2.04, 1.96]
    """
    freedom = float(count - 1)
    if freedom < 1:
        return math.nan
    if count <= len(STUDENT_T) + 1:
        return STUDENT_T[count - 2]
    return math.fsum(term * freedom**-power for power, term in enumerate(EXPANSION))


def joined_blocks(blocks: Iterable[Block]) -> tuple[Array, Array, Array]:
    """Return the regrets of all blocks, in the order of replications, and the mean pulls."""
    ordered = sorted(blocks, key=lambda block: block.start)
    regrets = np.concatenate([block.regrets for block in ordered], axis=1)
    count = regrets.shape[1]
    pulls = _sum([block.pulls for block in ordered]) / count
    best = _sum([block.best_pulls for block in ordered]) / count
    return regrets, pulls, best


def _sum(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    total: NDArray[np.int64] = np.sum(parts, axis=0)
    return total
