"""Figures of a simulation result: regret and pulls against the trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from onepull.arrays import Array
from onepull.errors import ParameterError
from onepull.html import printable
from onepull.report.drawing import any_script, save, style, svg
from onepull.report.line_labels import label_ends, label_height

if TYPE_CHECKING:  # importing the simulator loads a compiler, and matplotlib takes 0.6 s
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from onepull.simulation import Result

__all__ = ["caption", "pulls", "regret", "save", "svg"]

# Okabe and Ito's palette for colour-blind readers, without yellow, which is pale on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# 7 colours, 4 strokes and 5 markers: the first 140 lines differ from each other.
STROKES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 2, 2)))
GREY = "#777777"  # for bounds, which were not measured
MARKERS = ("o", "s", "^", "D", "v")


@dataclass(frozen=True, slots=True)
class Divisor:
    """What regret is divided by."""

    of: Callable[[Array], Array]
    label: str


DIVISORS = {
    "nothing": Divisor(np.ones_like, "cumulative regret"),
    "log": Divisor(np.log, "cumulative regret / ln n"),
    "root": Divisor(np.sqrt, "cumulative regret / √n"),
}


def regret(  # noqa: PLR0913 - a full statement
    result: Result,
    divide_by: Literal["nothing", "log", "root"] = "nothing",
    *,
    title: str | None = None,
    policies: Sequence[str] | None = None,
    bounds: Mapping[str, ArrayLike] | None = None,
    log_x: bool = True,
    log_y: bool = False,
) -> Figure:
    r"""Draw mean regret against the trial, with the 95 % confidence band of the mean.

    Parameters
    ----------
    divide_by
        Divide regret by nothing, ln n or √n.  Trial 1, where ln n is 0, is not drawn.
    policies
        The policies to draw; by default all.  A policy has the same colour and marker in
        every figure of a result.
    bounds
        Further lines by name: one regret for each checkpoint.

    The band is cut off at 0 if no regret is negative.

    Examples
    --------
    >>> import numpy as np
    >>> from onepull.simulation import Result
    >>> result = Result(
    ...     policies=["DCB"], parameters=[{}], arms=["a"], checkpoints=np.array([1, 10, 100]),
    ...     regrets=np.array([[[0, 1.0, 2.0], [0, 3.0, 4.0]]]),
    ...     pulls=np.ones((1, 3, 1)), best_pulls=np.ones((1, 3, 1)), storage=[4],
    ... )
    >>> regret(result, "log").axes[0].get_ylabel()
    'cumulative regret / ln n\nmean of 2 runs, 95 % band'
    """
    if divide_by not in DIVISORS:
        raise ParameterError(f"divide_by must be one of {', '.join(DIVISORS)}, given {divide_by!r}")
    from onepull.simulation.result import student  # noqa: PLC0415 - loads a compiler

    chosen = result.policies if policies is None else list(policies)
    numbers = [result.find(policy) for policy in chosen]
    divisor = DIVISORS[divide_by]
    scale = divisor.of(result.checkpoints.astype(float))
    drawn = scale > 0
    if not drawn.any():
        raise ParameterError(
            f"regret / ln n needs a checkpoint after trial 1; the last is {result.horizon}"
        )
    rows, shape = result.rows(), (len(result.policies), -1)
    means = np.array([row["regret"] for row in rows]).reshape(shape)[:, drawn] / scale[drawn]
    errors = np.array([row["standard_error"] for row in rows]).reshape(shape)[:, drawn]
    bands = student(result.replications) * errors / scale[drawn]
    trials = result.checkpoints[drawn]
    log_y = log_y and bool((means[numbers] > 0).any())  # zeros have no logarithm
    curves = {
        name: values[drawn] / scale[drawn]
        for bound, given in (bounds or {}).items()
        for name, _, values in _curves(bound, given, result, {})
    }
    names = [*chosen, *curves]
    with style(), any_script():
        figure, axes = _sheet(names, title)
        for p in numbers:
            line = _line(axes, p, trials, means[p], log_y=log_y)
            low, high = means[p] - bands[p], means[p] + bands[p]
            low = np.where(result.regrets[p].min(axis=0)[drawn] >= 0, np.maximum(low, 0), low)
            axes.fill_between(trials, low, high, color=line.get_color(), alpha=0.18, linewidth=0)
        for stroke, values in zip(cycle(STROKES[1:]), curves.values()):
            shown = np.where(values > 0, values, np.nan) if log_y else values
            axes.plot(trials, shown, color=GREY, linestyle=stroke, linewidth=1.2)
        runs = result.replications
        spread = f"mean of {runs:,} runs, 95 % band" if runs > 1 else "one run"
        axes.set_ylabel(f"{divisor.label}\n{spread}")
        _scales(axes, trials, log_x=log_x, log_y=log_y)
        _label(figure, axes, names)
    return figure


def pulls(
    result: Result,
    policy: str,
    *,
    arms: Sequence[str] | None = None,
    bounds: Mapping[str, ArrayLike] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the mean pulls of each arm by a policy against the trial, on logarithmic scales.

    Parameters
    ----------
    arms
        The arms to draw; by default all.  An arm has the same colour and marker in every
        figure of a result.
    bounds
        Further lines by name: one number, one for each checkpoint, or an array
        `[checkpoint, arm]`, whose lines have the colours of the arms.

    Examples
    --------
    >>> import numpy as np
    >>> from onepull.simulation import Result
    >>> result = Result(
    ...     policies=["DCB"], parameters=[{}], arms=["a", "b"], checkpoints=np.array([1, 10]),
    ...     regrets=np.zeros((1, 2, 2)), pulls=np.array([[[1, 0], [8, 2]]]),
    ...     best_pulls=np.zeros((1, 2, 2)), storage=[4],
    ... )
    >>> figure = pulls(result, "DCB", bounds={"ln n": np.log(result.checkpoints), "three": 3})
    >>> figure.axes[0].get_xlabel()
    'trial n'
    """
    p = result.find(policy)
    chosen = {arm: _position(result.arms, arm) for arm in (result.arms if arms is None else arms)}
    curves = [
        (name, colour, stroke, values)
        for stroke, (bound, given) in zip(cycle(STROKES[1:]), (bounds or {}).items())
        for name, colour, values in _curves(bound, given, result, chosen)
    ]
    log_y = bool((result.pulls[p][:, list(chosen.values())] > 0).any())  # zeros have no logarithm
    with style(), any_script():
        names = [*chosen, *(name for name, *_ in curves)]
        figure, axes = _sheet(names, title or f"Pulls by {policy}")
        for j in chosen.values():
            _line(axes, j, result.checkpoints, result.pulls[p, :, j], log_y=log_y)
        for _, colour, stroke, values in curves:
            shown = np.where(values > 0, values, np.nan)
            axes.plot(result.checkpoints, shown, color=colour, linestyle=stroke, linewidth=1.2)
        runs = f"mean of {result.replications:,} runs" if result.replications > 1 else "one run"
        axes.set_ylabel(f"pulls of each arm\n{runs}")
        _scales(axes, result.checkpoints, log_x=True, log_y=log_y)
        _label(figure, axes, names)
    return figure


def caption(result: Result, *, band: bool = True) -> str:
    """Return what every caption of a figure states: T, the number of runs and the interval.

    Parameters
    ----------
    band
        Whether the figure has a band; `pulls` has none.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> caption(SimpleNamespace(horizon=1000, replications=20))
    'T = 1,000, mean of 20 runs; the band is the 95 % confidence interval of the mean.'
    >>> caption(SimpleNamespace(horizon=1000, replications=20), band=False)
    'T = 1,000, mean of 20 runs; no interval is drawn.'
    """
    if result.replications == 1:
        return f"T = {result.horizon:,}, one run; no interval is drawn."
    drawn = (
        "the band is the 95 % confidence interval of the mean" if band else "no interval is drawn"
    )
    return f"T = {result.horizon:,}, mean of {result.replications:,} runs; {drawn}."


def _sheet(names: Sequence[str], title: str | None) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure  # noqa: PLC0415 - for drawing only

    # High enough for every label at the right; constrained layout makes room for their width.
    height = 1.1 + sum(map(label_height, names)) / 72
    figure = Figure(figsize=(7.6, max(4.2, height)), layout="constrained")
    axes = figure.add_subplot()
    if title is not None:
        axes.set_title(printable(title, keep="\n"), parse_math=False, wrap=True)
    return figure, axes


def _line(axes: Axes, number: int, trials: Any, values: Array, *, log_y: bool) -> Any:
    """Draw one line; its colour, stroke and marker follow from `number`."""
    every = max(1, len(trials) // 8)
    (line,) = axes.plot(
        trials,
        # Leave out what a logarithmic scale cannot show, instead of drawing to the bottom.
        np.where(values > 0, values, np.nan) if log_y else values,
        color=COLOURS[number % len(COLOURS)],
        linestyle=STROKES[number % len(STROKES)],
        marker=MARKERS[number % len(MARKERS)],
        markevery=((number * every // 3 + every // 2) % every, every),
    )
    return line


def _scales(axes: Axes, trials: Any, *, log_x: bool, log_y: bool) -> None:
    """Set scales, limits and ticks."""
    from matplotlib import ticker  # noqa: PLC0415 - for drawing only

    axes.set_xlabel("trial n")
    axes.set_xscale("log" if log_x else "linear")
    axes.set_yscale("log" if log_y else "linear")
    for axis, log in ((axes.xaxis, log_x), (axes.yaxis, log_y)):
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: tick(value)))
        if log:
            axis.set_minor_formatter(ticker.LogFormatter(minor_thresholds=(1, 0.4)))
    if trials[0] < trials[-1]:
        axes.set_xlim(trials[0] if log_x else 0, trials[-1])
    if not log_y:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))


def _label(figure: Figure, axes: Axes, names: Sequence[str]) -> None:
    """Label the lines and fix the layout."""
    figure.draw_without_rendering()  # the places of the labels depend on their heights
    label_ends(axes, list(axes.lines), names)
    figure.draw_without_rendering()
    # A new layout at every drawing would move things by rounding errors, and two files of the
    # same figure would differ.
    figure.set_layout_engine("none")


def tick(value: float) -> str:
    """Return the text of a tick: a short number, without powers of ten.

    >>> [tick(v) for v in (0.05, 1, 2500, 20000, 3e6)]
    ['0.05', '1', '2,500', '20,000', '3M']
    """
    text = f"{value / 1e6:,g}M" if abs(value) >= 1e6 else f"{value:,.6g}"
    return text.replace("-", "−")


def _curves(
    name: str, given: ArrayLike, result: Result, arms: Mapping[str, int]
) -> Iterator[tuple[str, str, Array]]:
    """Yield the name, the colour and the values of each line of a bound."""
    values, count = np.asarray(given, float), len(result.checkpoints)
    if values.shape == (count, len(result.arms)):
        for arm, j in arms.items():
            yield f"{arm}, {name}", COLOURS[j % len(COLOURS)], values[:, j]
    elif values.shape in {(), (count,)}:
        yield name, GREY, np.broadcast_to(values, (count,))
    else:
        raise ParameterError(
            f"bound {name!r} must be one number, one for each of the {count} checkpoints, "
            f"or an array of shape {(count, len(result.arms))} [checkpoint, arm], "
            f"given an array of shape {values.shape}"
        )


def _position(arms: Sequence[str], arm: str) -> int:
    if arm not in arms:
        raise ParameterError(f"unknown arm {arm!r}; there are {', '.join(arms)}")
    return list(arms).index(arm)
