"""Drawing one of several."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def drawn(
    choices: Sequence[int], chances: Sequence[float], generator: np.random.Generator | None
) -> int:
    """Return one of the choices, drawn with its chance; a sure one takes no luck."""
    if 1.0 in chances or generator is None:
        return choices[max(range(len(chances)), key=chances.__getitem__)]
    left = generator.random() * math.fsum(chances)
    last = 0
    for i, chance in enumerate(chances):
        if chance > 0:
            last = i
            left -= chance
            if left < 0:
                break
    return choices[last]
