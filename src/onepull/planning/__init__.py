"""Sizing a policy before it is built: what each candidate keeps, loses and takes."""

from onepull.planning.options import Option
from onepull.planning.planner import Plan, plan
from onepull.planning.stored import StoragePlan, plan_storage

__all__ = ["Option", "Plan", "StoragePlan", "plan", "plan_storage"]
