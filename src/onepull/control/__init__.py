"""How much to spend or to send, around any policy: contexts that depend on past choices."""

from onepull.control.buffer import Backlog, Battery, Storage
from onepull.control.controller import Controller, Decision, Myopic
from onepull.control.drift_plus_penalty import DriftPlusPenalty
from onepull.control.dynamic_programming import Option, Plan, best_plan
from onepull.control.planned_controllers import BatteryPlan, Planned

__all__ = [
    "Backlog",
    "Battery",
    "BatteryPlan",
    "Controller",
    "Decision",
    "DriftPlusPenalty",
    "Myopic",
    "Option",
    "Plan",
    "Planned",
    "Storage",
    "best_plan",
]
