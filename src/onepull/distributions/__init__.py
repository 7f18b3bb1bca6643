"""Probability distributions (laws) of states and contexts: their means and samples."""

from onepull.distributions.bounded_laws import Beta, TruncatedNormal, Uniform
from onepull.distributions.combined import Independent, Switching
from onepull.distributions.continuous import Continuous
from onepull.distributions.discrete import Discrete, InOrder, empirical, scaled_bernoulli
from onepull.distributions.distribution import Distribution
from onepull.distributions.fading import Nakagami, Rayleigh, Rician
from onepull.distributions.failing import Failing
from onepull.distributions.mixtures import Clipped, Mixture, Truncated
from onepull.distributions.positive_laws import Exponential, Gamma, LogNormal

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
