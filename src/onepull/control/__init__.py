"""How much to spend or to send, around any policy: contexts that depend on past choices."""

from onepull.control.controller import Controller, Decision, Myopic
from onepull.control.drift_plus_penalty import DriftPlusPenalty
from onepull.control.planned import BatteryPlan, Planned
from onepull.control.planning import Option, Plan, best_plan
from onepull.control.storage import Backlog, Battery, Storage

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
