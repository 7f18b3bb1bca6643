"""Probability distributions (laws) of states and contexts: their means and samples."""

from onepull.distributions.combined import Independent, Switching
from onepull.distributions.continuous import (
    Beta,
    Continuous,
    Exponential,
    Gamma,
    LogNormal,
    Nakagami,
    Rayleigh,
    Rician,
    TruncatedNormal,
    Uniform,
)
from onepull.distributions.discrete import Discrete, InOrder, empirical, scaled_bernoulli
from onepull.distributions.distribution import Distribution
from onepull.distributions.failing import Failing
from onepull.distributions.mixtures import Clipped, Mixture, Truncated

__all__ = [
    "Beta",
    "Clipped",
    "Continuous",
    "Discrete",
    "Distribution",
    "Exponential",
    "Failing",
    "Gamma",
    "InOrder",
    "Independent",
    "LogNormal",
    "Mixture",
    "Nakagami",
    "Rayleigh",
    "Rician",
    "Switching",
    "Truncated",
    "TruncatedNormal",
    "Uniform",
    "empirical",
    "scaled_bernoulli",
]
