"""The compiled simulator: many replications of policies on an environment, paired draw by draw."""

from onepull.simulation.result import Result
from onepull.simulation.simulate import Simulation, simulate

__all__ = ["Result", "Simulation", "simulate"]
