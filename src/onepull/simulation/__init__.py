"""The compiled simulator: many replications of policies on an environment, on the same draws."""

from onepull.simulation.buffered import BufferResult, simulate_buffer
from onepull.simulation.replicate import simulate
from onepull.simulation.result import Result
from onepull.simulation.simulation import Simulation

__all__ = ["BufferResult", "Result", "Simulation", "simulate", "simulate_buffer"]
