"""Sizing a policy before it is built: what each candidate keeps, loses and takes."""

from onepull.planning.options import Option
from onepull.planning.planner import Plan, plan

__all__ = ["Option", "Plan", "plan"]
