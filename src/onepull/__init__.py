"""Choose an arm for each request when the payoff formula is known but the arms are not.

Pulling an arm shows its state; because the formula is known, that one state teaches the
estimate for every context.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onepull.distributions import Discrete
    from onepull.environment import Environment
    from onepull.errors import (
        ClusterError,
        ContextError,
        DeclarationError,
        FormulaError,
        InputError,
        MergeError,
        MissingExtra,
        OnepullError,
        ParameterError,
        ProblemError,
        RewardError,
        SaveFileError,
        StateError,
        UnknownArm,
    )
    from onepull.experiments import Experiment, ResultFolder
    from onepull.factor import Factorisation, Grid, Table
    from onepull.formula import Formula
    from onepull.payoff import Fact, Payoff, Reward
    from onepull.policies import (
        CCB,
        DCB,
        DSEE,
        UCB1,
        DoublingCCB,
        EpsilonGreedy,
        Explanation,
        FixedArm,
        Genie,
        Greedy,
        MultiUCB,
        Policy,
        Random,
        UCB1Epsilon,
        UpperConfidence,
    )
    from onepull.problem import Problem
    from onepull.simulation import Result, simulate
    from onepull.spaces import Box, Finite, Interval
    from onepull.statistics import ArmStatistics

__version__ = "0.1.0"

# Where each public name lives.  A name is imported when it is first used, so that the command
# line starts quickly and the library never needs what the simulator does.
_HOMES = {
    "distributions": ["Discrete"],
    "environment": ["Environment"],
    "errors": [
        "ClusterError",
        "ContextError",
        "DeclarationError",
        "FormulaError",
        "InputError",
        "MergeError",
        "MissingExtra",
        "OnepullError",
        "ParameterError",
        "ProblemError",
        "RewardError",
        "SaveFileError",
        "StateError",
        "UnknownArm",
    ],
    "experiments": ["Experiment", "ResultFolder"],
    "factor": ["Factorisation", "Grid", "Table"],
    "formula": ["Formula"],
    "payoff": ["Fact", "Payoff", "Reward"],
    "policies": [
        "CCB",
        "DCB",
        "DSEE",
        "UCB1",
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
    ],
    "problem": ["Problem"],
    "simulation": ["Result", "simulate"],
    "spaces": ["Box", "Finite", "Interval"],
    "statistics": ["ArmStatistics"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "CCB",
    "DCB",
    "DSEE",
    "UCB1",
    "ArmStatistics",
    "Box",
    "ClusterError",
    "ContextError",
    "DeclarationError",
    "Discrete",
    "DoublingCCB",
    "Environment",
    "EpsilonGreedy",
    "Experiment",
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
    "MissingExtra",
    "MultiUCB",
    "OnepullError",
    "ParameterError",
    "Payoff",
    "Policy",
    "Problem",
    "ProblemError",
    "Random",
    "Result",
    "ResultFolder",
    "Reward",
    "RewardError",
    "SaveFileError",
    "StateError",
    "Table",
    "UCB1Epsilon",
    "UnknownArm",
    "UpperConfidence",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'onepull' has no attribute {name!r}")
    value = getattr(import_module(f"onepull.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
