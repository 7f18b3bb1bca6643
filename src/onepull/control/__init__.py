"""Control of batteries and queues: how much to draw from a buffer, and on which arm to use it."""

from onepull.control.buffer import Backlog, Battery, Buffer
from onepull.control.buffer_environment import (
    BufferEnvironment,
    harvesting_battery,
    metered_backlog,
)
from onepull.control.controller import Controller, Myopic, SlotChoice
from onepull.control.drift_plus_penalty import DriftPlusPenalty
from onepull.control.dynamic_programming import LevelAction, LevelPlan, best_plan
from onepull.control.planned_controllers import BatteryPlan, Planned

__all__ = [
    "Backlog",
    "Battery",
    "BatteryPlan",
    "Buffer",
    "BufferEnvironment",
    "Controller",
    "DriftPlusPenalty",
    "LevelAction",
    "LevelPlan",
    "Myopic",
    "Planned",
    "SlotChoice",
    "best_plan",
    "harvesting_battery",
    "metered_backlog",
]
