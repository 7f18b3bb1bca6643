"""Simulated environments: the laws of contexts and of the arms' states."""

from onepull.environment.applications import (
    channel_selection,
    energy_harvesting,
    metered_channels,
    offloading,
)
from onepull.environment.environment import Environment

__all__ = [
    "Environment",
    "channel_selection",
    "energy_harvesting",
    "metered_channels",
    "offloading",
]
