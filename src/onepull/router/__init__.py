"""Decisions that last: a problem, a policy and a log."""

from onepull.router.decision import Decision
from onepull.router.definition.redefinition import Redefinition
from onepull.router.pull import DecisionPull, RouterPull
from onepull.router.receipts import BatchReceipt, Observation, Receipt
from onepull.router.replay.replay import ArmInContext, Played, Replay, WhatIf
from onepull.router.router import Router
from onepull.router.router_stats import RouterStats

__all__ = [
    "ArmInContext",
    "BatchReceipt",
    "Decision",
    "DecisionPull",
    "Observation",
    "Played",
    "Receipt",
    "Redefinition",
    "Replay",
    "Router",
    "RouterPull",
    "RouterStats",
    "WhatIf",
]
