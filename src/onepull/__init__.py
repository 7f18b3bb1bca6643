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
    from onepull.factor import Factorisation, Grid, Histogram, LowRank, Sketch, Table
    from onepull.formula import Formula
    from onepull.payoff import Fact, Payoff, Reward
    from onepull.policies import (
        CCB,
        DCB,
        DSEE,
        ILTCB,
        IMED,
        KLUCB,
        UCB1,
        UCBALP,
        ContextualZooming,
        DirichletThompson,
        DoublingCCB,
        EmpiricalBernstein,
        EmpiricalKL,
        EpochGreedy,
        EpsilonGreedy,
        Explanation,
        FixedArm,
        Genie,
        Greedy,
        LinearThompson,
        LinRel,
        LinUCB,
        MixtureElimination,
        MultiUCB,
        Policy,
        Random,
        RandomizedUCB,
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
    "factor": ["Factorisation", "Grid", "Histogram", "LowRank", "Sketch", "Table"],
    "formula": ["Formula"],
    "payoff": ["Fact", "Payoff", "Reward"],
    "policies": [
        "EmpiricalKL",
        "IMED",
        "EmpiricalBernstein",
        "DirichletThompson",
        "KLUCB",
        "CCB",
        "DCB",
        "DSEE",
        "ILTCB",
        "UCB1",
        "UCBALP",
        "ContextualZooming",
        "DoublingCCB",
        "EpochGreedy",
        "EpsilonGreedy",
        "Explanation",
        "FixedArm",
        "Genie",
        "Greedy",
        "LinRel",
        "LinUCB",
        "LinearThompson",
        "MixtureElimination",
        "MultiUCB",
        "Policy",
        "Random",
        "RandomizedUCB",
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
    "ILTCB",
    "IMED",
    "KLUCB",
    "UCB1",
    "UCBALP",
    "ArmStatistics",
    "Box",
    "ClusterError",
    "ContextError",
    "ContextualZooming",
    "DeclarationError",
    "DirichletThompson",
    "Discrete",
    "DoublingCCB",
    "EmpiricalBernstein",
    "EmpiricalKL",
    "Environment",
    "EpochGreedy",
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
    "Histogram",
    "InputError",
    "Interval",
    "LinRel",
    "LinUCB",
    "LinearThompson",
    "LowRank",
    "MergeError",
    "MissingExtra",
    "MixtureElimination",
    "MultiUCB",
    "OnepullError",
    "ParameterError",
    "Payoff",
    "Policy",
    "Problem",
    "ProblemError",
    "Random",
    "RandomizedUCB",
    "Result",
    "ResultFolder",
    "Reward",
    "RewardError",
    "SaveFileError",
    "Sketch",
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
