"""A formula as another mathematical library would compute it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

from onepull.formula import Formula
from onepull.formula import operations as op

ULPS = 4  # what numpy states as the largest error of its functions


def computed_elsewhere(formula: Formula, rng: random.Random) -> Callable[..., float]:
    """Return the formula on numbers with library functions that are off in the last digits."""
    off: dict[str, Any] = {}
    for name in ("_exp", "_log", "_log2", "_log10", "_log1p", "_pow"):
        off[name] = _off(op.NAMESPACE[name], 1.0 if name in ("_exp", "_pow") else 0.0, rng)
    source = f"lambda {', '.join(formula.names)}: _value"
    function: Callable[..., float] = eval(  # noqa: S307 - our own code
        op.program(source, {"_value": formula.body}), {**op.NAMESPACE, **off}
    )
    return function


def _off(exact: Callable[..., float], fixed: float, rng: random.Random) -> Callable[..., float]:
    """Return a function that errs, but takes no size of a value to the other side of `fixed`."""

    def function(*arguments: float) -> float:
        value = exact(*arguments)
        size = found = abs(value)
        if size in (0.0, fixed, math.inf):
            return value
        away = math.inf if rng.random() < 0.5 else 0.0
        for _ in range(rng.randint(0, ULPS)):
            found = math.nextafter(found, away)
        found = min(found, fixed) if size < fixed else max(found, fixed)
        return math.copysign(found, value)

    return function
