"""What a plan is: a policy made ready for one environment.

A plan is made once for a policy and an environment.  `begin` gives a runner for one
replication, and the runner takes the policy through stretches of trials.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onepull.simulation.trials import Stretch
from onepull.simulation.world import World

Arms: TypeAlias = NDArray[np.int64]  # the position of the arm chosen at each trial


class Runner(Protocol):
    """One policy in one replication."""

    def run(self, stretch: Stretch, world: World, chosen: Arms) -> None:
        """Go through a stretch of trials, writing the arm chosen at each."""


class Prepared(ABC):
    """A policy made ready for one environment."""

    is_compiled = True
    nanoseconds = 60.0  # about how long a trial takes

    @abstractmethod
    def begin(self, own_key: int) -> Runner:
        """Return a runner that has seen nothing; the key is for its own luck, if it has any."""


class FunctionRunner:
    """A runner that is one function."""

    def __init__(self, run: Callable[[Stretch, World, Arms], None]) -> None:
        self.run = run
