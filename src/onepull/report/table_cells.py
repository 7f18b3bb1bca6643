"""The cells of a table: their plain values for CSV and JSON, and their text for a reader."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

from onepull.checks import is_numeral
from onepull.html import printable

MISSING = "–"
PLUS_MINUS = "± 95 %"  # the half-width of the 95 % confidence interval of a mean, everywhere
FORMULAS = tuple("=+-@＝＋－＠")  # what a formula begins with in a spreadsheet
LEAST_WHOLE = 999.95  # from here on, numbers are shown without decimals
MOST_DIGITS = 6  # significant digits of a mean beside its half-width


class Span(NamedTuple):
    """A range of numbers, shown in one cell and written as two columns.

    >>> cell_text(Span(-2.5, 1200.0))
    '−2.500 to 1,200'
    """

    low: float
    high: float


class Estimate(NamedTuple):
    """A mean with the half-width of its 95 % confidence interval.

    One cell for a reader, rounded to two significant digits of the half-width; two columns
    as data.  The half-width is not a number where there is a single run.

    >>> cell_text(Estimate(17118.84, 26.54)), cell_text(Estimate(14.9025, 0.8423))
    ('17,119 ± 27', '14.90 ± 0.84')
    """

    mean: float
    half_width: float


def is_number(value: Any) -> bool:
    """Tell whether a cell is aligned right: numbers, ranges and estimates, but not booleans.

    >>> is_number(1.5), is_number(Span(0, 1)), is_number(True), is_number("1.5")
    (True, True, False, False)
    """
    return isinstance(value, (Real, Span, Estimate)) and not isinstance(value, bool)


def json_value(value: Any) -> Any:
    """Return a plain Python value that JSON can hold; NaN and infinities become None.

    >>> import numpy as np
    >>> [json_value(v) for v in (np.float64(0.5), np.int64(3), float("nan"), "DCB")]
    [0.5, 3, None, 'DCB']
    """
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def cell_text(value: Any) -> str:
    """Return the text of a cell: numbers with four or five significant digits.

    >>> [cell_text(v) for v in (17103, 1150.234, 14.3021, 0.000123456, -2.0, None, True)]
    ['17,103', '1,150', '14.30', '0.0001235', '−2', '–', 'yes']
    """
    if isinstance(value, Span):
        return _span(*value)
    if isinstance(value, Estimate):
        return _estimate(*value)
    value = value.item() if hasattr(value, "item") else value
    if value is None or isinstance(value, bool):
        return {None: MISSING, True: "yes", False: "no"}[value]
    if isinstance(value, Integral):
        return _signed(f"{value:,}")
    return _signed(_decimal(float(value))) if isinstance(value, Real) else printable(str(value))


def column_texts(cells: Sequence[Any]) -> list[str]:
    """Return the texts of the cells of a column.

    If four digits say all of each number, all have equally many decimals.

    >>> column_texts([0.7, 1.2, None]), column_texts([0.7, 1.2, 1.23456])
    (['0.7', '1.2', '–'], ['0.7', '1.200', '1.235'])
    """
    decimals = _decimals([float(cell) for cell in cells if _is_decimal(cell)])
    if decimals is None:
        return [cell_text(cell) for cell in cells]
    return [
        _signed(f"{float(cell) + 0.0:.{decimals}f}") if _is_decimal(cell) else cell_text(cell)
        for cell in cells
    ]


def spreadsheet_safe(value: Any) -> Any:
    """Return a cell for a CSV file; text that a spreadsheet would run gets an apostrophe.

    >>> [spreadsheet_safe(v) for v in ("=1+1", "@sum", "-2", "DCB", -2.5)]
    ["'=1+1", "'@sum", '-2', 'DCB', -2.5]
    """
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.lstrip().startswith(FORMULAS) and not is_numeral(text) else text


def _span(low: float, high: float) -> str:
    is_missing = math.isnan(low) and math.isnan(high)
    return MISSING if is_missing else f"{cell_text(low)} to {cell_text(high)}"


def _estimate(mean: float, half: float) -> str:
    if not (math.isfinite(mean) and math.isfinite(half)):
        return cell_text(mean)
    largest = max(abs(mean), half)
    if half <= largest * 10.0**-MOST_DIGITS:
        return f"{cell_text(mean)} ± 0"
    # Two significant digits of the half-width; it is rounded first, as 9.96 has none after it.
    decimals = 1 - math.floor(math.log10(float(f"{half:.1e}")))
    decimals = max(0, min(decimals, MOST_DIGITS - 1 - math.floor(math.log10(largest))))
    # Adding 0 turns a rounded -0.0 into 0.
    return f"{_signed(f'{round(mean, decimals) + 0.0:,.{decimals}f}')} ± {half:,.{decimals}f}"


def _is_decimal(cell: Any) -> bool:
    return isinstance(cell, Real) and not isinstance(cell, Integral) and math.isfinite(cell)


def _decimals(values: Sequence[float]) -> int | None:
    """Return how many decimals show all values exactly; None if some need more than four digits."""
    if any(abs(value) >= LEAST_WHOLE for value in values):
        return None
    if not all(_is_close(value, float(f"{value:.4g}")) for value in values):
        return None
    enough = (d for d in range(4) if all(_is_close(value, round(value, d)) for value in values))
    return next(enough, None)


def _is_close(value: float, rounded: float) -> bool:
    return math.isclose(value, rounded, rel_tol=1e-12)


def _decimal(value: float) -> str:
    size = abs(value)
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if size >= 1e15:
        return f"{value:.4g}"
    if value.is_integer() or size >= LEAST_WHOLE:
        return f"{value:,.0f}"
    if size < 0.99995:
        return f"{value:.4g}"
    return f"{value:.{3 - math.floor(math.log10(size))}f}"


def _signed(text: str) -> str:
    """Replace a leading hyphen by a minus sign, which is as wide as a digit."""
    return f"−{text[1:]}" if text.startswith("-") else text
