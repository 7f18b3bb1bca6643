"""Sizing a policy before it is built: what each candidate keeps, loses and takes."""

from onepull.planning.buffer_planner import BufferPlan, plan_buffer
from onepull.planning.option import Option
from onepull.planning.planner import Plan, plan

__all__ = ["BufferPlan", "Option", "Plan", "plan", "plan_buffer"]
