"""Policies: how knowledge is shared, an index rule on top, and `choose` and `observe`."""

from onepull.policies.base import Policy
from onepull.policies.explanation import ArmExplanation, Explanation
from onepull.policies.known_reward import CCB, DCB, DoublingCCB
from onepull.policies.reference import FixedArm, Genie, Greedy, Random
from onepull.policies.ucb1 import UCB1, MultiUCB

__all__ = [
    "CCB",
    "DCB",
    "UCB1",
    "ArmExplanation",
    "DoublingCCB",
    "Explanation",
    "FixedArm",
    "Genie",
    "Greedy",
    "MultiUCB",
    "Policy",
    "Random",
]
