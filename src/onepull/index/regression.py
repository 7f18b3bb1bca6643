"""The upper confidence bound of a regression whose noise depends on the context."""

from __future__ import annotations

from typing import Any

import numpy as np


def regression_bound(mean: Any, variance: Any, share: Any, trial: float, c: float) -> Any:
    """Return θ̂ + √(2c·ln(1 + n·v)·σ²·v), where σ²·v is the variance of θ̂; takes arrays.

    The share v is 1/m after m pulls in the same context.  Pulls in other contexts count for less.

    >>> float(regression_bound(1.0, 4.0, 0.25, 100, 0.5).round(4))   # 1 + √(ln 26)
    2.805
    """
    return mean + np.sqrt(2.0 * c * np.log1p(trial * share) * variance * share)
