"""One cell of a table: as data keeps it, and as a reader sees it."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, NamedTuple

MISSING = "–"


class Span(NamedTuple):
    """From one number to another: read as one cell, kept as two columns.

    >>> shown(Span(-2.5, 1200.0))
    '−2.500 to 1,200'
    """

    low: float
    high: float


def is_number(value: Any) -> bool:
    """Tell whether a value is set flush right: numbers and spans, not truth values.

    >>> is_number(1.5), is_number(Span(0, 1)), is_number(True), is_number("1.5")
    (True, True, False, False)
    """
    return isinstance(value, (Real, Span)) and not isinstance(value, bool)


def plain(value: Any) -> Any:
    """Return the value in plain Python, ready for JSON: what is not finite becomes None.

    >>> import numpy as np
    >>> plain(np.float64(0.5)), plain(np.int64(3)), plain(float("nan")), plain("DCB")
    (0.5, 3, None, 'DCB')
    """
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def shown(value: Any) -> str:
    """Return the value as read: four or five digits that count, thousands set apart.

    >>> [shown(v) for v in (17103, 1150.234, 14.3021, 0.000123456, -2.0, None, True)]
    ['17,103', '1,150', '14.30', '0.0001235', '−2', '–', 'yes']
    """
    if isinstance(value, Span):
        if all(math.isnan(end) for end in value):
            return MISSING
        return f"{shown(value.low)} to {shown(value.high)}"
    value = value.item() if hasattr(value, "item") else value
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return _signed(f"{value:,}")
    return _signed(_decimal(float(value))) if isinstance(value, Real) else str(value)


def _decimal(value: float) -> str:
    size = abs(value)
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if size >= 1e15:
        return f"{value:.4g}"
    if value.is_integer() or size >= 999.95:
        return f"{value:,.0f}"
    if size < 0.99995:
        return f"{value:.4g}"
    return f"{value:.{3 - math.floor(math.log10(size))}f}"


def _signed(text: str) -> str:
    """Set a minus sign, which is as wide as a digit, for the hyphen."""
    return f"−{text[1:]}" if text.startswith("-") else text
