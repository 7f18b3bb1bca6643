"""The world a policy is tried in: how contexts arrive and how the arms' states are drawn."""

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
