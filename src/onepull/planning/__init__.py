"""Sizing a policy before it is built: what each candidate keeps, loses and takes."""

from onepull.planning.buffer_planner import StoragePlan, plan_storage
from onepull.planning.option import Option
from onepull.planning.planner import Plan, plan

__all__ = ["Option", "Plan", "StoragePlan", "plan", "plan_storage"]
