"""Policies: a rule of exploration on shared knowledge, and `choose` and `observe`."""

from onepull.policies.base import Policy
from onepull.policies.dsee import DSEE
from onepull.policies.epsilon_greedy import EpsilonGreedy
from onepull.policies.explanation import ArmExplanation, Explanation
from onepull.policies.known_reward import CCB, DCB, DoublingCCB
from onepull.policies.reference import FixedArm, Genie, Greedy, Random
from onepull.policies.ucb1 import UCB1, MultiUCB, UCB1Epsilon
from onepull.policies.upper_confidence import UpperConfidence

__all__ = [
    "CCB",
    "DCB",
    "DSEE",
    "UCB1",
    "ArmExplanation",
    "DoublingCCB",
    "EpsilonGreedy",
    "Explanation",
    "FixedArm",
    "Genie",
    "Greedy",
    "MultiUCB",
    "Policy",
    "Random",
    "UCB1Epsilon",
    "UpperConfidence",
]
