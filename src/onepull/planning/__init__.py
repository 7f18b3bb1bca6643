"""Choose a policy for a problem: the storage, regret and time of every candidate."""

from onepull.planning.buffer_plan import BufferPlan
from onepull.planning.buffer_planner import plan_buffer
from onepull.planning.option import Option
from onepull.planning.planner import Plan, plan

__all__ = ["BufferPlan", "Option", "Plan", "plan", "plan_buffer"]
