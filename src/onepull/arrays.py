"""The types of arrays."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
ArmNumbers: TypeAlias = NDArray[np.int64]  # positions in the problem's arms
