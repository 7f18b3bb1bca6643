"""The world a policy is tried in: how contexts arrive and how the arms' states are drawn."""

from onepull.environment.applications import (
    channel_selection,
    energy_harvesting,
    metered_channels,
    offloading,
)
from onepull.environment.buffered import (
    BufferEnvironment,
    harvesting_battery,
    metered_backlog,
)
from onepull.environment.environment import Environment

__all__ = [
    "BufferEnvironment",
    "Environment",
    "channel_selection",
    "energy_harvesting",
    "harvesting_battery",
    "metered_backlog",
    "metered_channels",
    "offloading",
]
