"""Choose an arm for each request when the payoff formula is known but the arms are not.

Pulling an arm shows its state; because the formula is known, that one state teaches the
estimate for every context.
"""

from onepull.distributions import Discrete
from onepull.errors import (
    ContextError,
    DeclarationError,
    FormulaError,
    InputError,
    MergeError,
    OnepullError,
    ParameterError,
    ProblemError,
    RewardError,
    SaveFileError,
    StateError,
    UnknownArm,
)
from onepull.factor import Factorisation, Grid, Table
from onepull.formula import Formula
from onepull.payoff import Fact, Payoff, Reward
from onepull.policies import (
    CCB,
    DCB,
    UCB1,
    DoublingCCB,
    Explanation,
    FixedArm,
    Genie,
    Greedy,
    MultiUCB,
    Policy,
    Random,
)
from onepull.problem import Problem
from onepull.spaces import Box, Finite, Interval
from onepull.statistics import ArmStatistics

__version__ = "0.1.0"

__all__ = [
    "CCB",
    "DCB",
    "UCB1",
    "ArmStatistics",
    "Box",
    "ContextError",
    "DeclarationError",
    "Discrete",
    "DoublingCCB",
    "Explanation",
    "Fact",
    "Factorisation",
    "Finite",
    "FixedArm",
    "Formula",
    "FormulaError",
    "Genie",
    "Greedy",
    "Grid",
    "InputError",
    "Interval",
    "MergeError",
    "MultiUCB",
    "OnepullError",
    "ParameterError",
    "Payoff",
    "Policy",
    "Problem",
    "ProblemError",
    "Random",
    "Reward",
    "RewardError",
    "SaveFileError",
    "StateError",
    "Table",
    "UnknownArm",
]
