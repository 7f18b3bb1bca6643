"""The interface of a prepared policy, which the simulator runs.

A policy is prepared once for an environment.  `begin` returns a runner for one replication, and
the runner runs the policy through stretches of trials.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol, TypeAlias

from onepull.arrays import ArmNumbers
from onepull.simulation.trials import Stretch
from onepull.simulation.world import World

Arms: TypeAlias = ArmNumbers  # the arm chosen at each trial


class Runner(Protocol):
    """One policy in one replication."""

    def run(self, stretch: Stretch, world: World, chosen: Arms) -> None:
        """Run a stretch of trials, and write the arm chosen at each into `chosen`."""


class Prepared(ABC):
    """A policy prepared for one environment."""

    is_compiled = True
    nanoseconds = 60.0  # approximate time per trial

    @abstractmethod
    def begin(self, own_key: int) -> Runner:
        """Return a new runner for one replication; `own_key` seeds its random numbers."""


class FunctionRunner:
    """A runner made of one function."""

    def __init__(self, run: Callable[[Stretch, World, Arms], None]) -> None:
        self.run = run
