"""Choose an arm for each request when the payoff formula is known but the arms are not.

Pulling an arm shows its state; because the formula is known, that one state teaches the
estimate for every context.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onepull.control import (
        Backlog,
        Battery,
        BatteryPlan,
        BufferEnvironment,
        DriftPlusPenalty,
        Myopic,
    )
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
        CoarseKL,
        ContextualZooming,
        DirichletThompson,
        DiscountedKL,
        DiscountedUCB,
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
        PatientKL,
        Policy,
        Random,
        RandomizedUCB,
        RestartingUCB,
        SlidingWindowKL,
        SlidingWindowUCB,
        UCB1Epsilon,
        UpperConfidence,
        recommended,
    )
    from onepull.problem import Problem
    from onepull.simulation import Result, simulate, simulate_buffer
    from onepull.spaces import Box, Finite, Interval
    from onepull.statistics import ArmStatistics

__version__ = "0.1.0"

# Where each public name lives.  A name is imported when it is first used, so that the command
# line starts quickly and the library never needs what the simulator does.
_HOMES = {
    "control": [
        "Backlog",
        "Battery",
        "BatteryPlan",
        "BufferEnvironment",
        "DriftPlusPenalty",
        "Myopic",
    ],
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
        "PatientKL",
        "EmpiricalKL",
        "IMED",
        "EmpiricalBernstein",
        "DirichletThompson",
        "DiscountedKL",
        "DiscountedUCB",
        "KLUCB",
        "CCB",
        "DCB",
        "DSEE",
        "ILTCB",
        "UCB1",
        "UCBALP",
        "CoarseKL",
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
        "RestartingUCB",
        "SlidingWindowKL",
        "SlidingWindowUCB",
        "UCB1Epsilon",
        "UpperConfidence",
        "recommended",
    ],
    "problem": ["Problem"],
    "simulation": ["Result", "simulate", "simulate_buffer"],
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
    "Backlog",
    "Battery",
    "BatteryPlan",
    "Box",
    "BufferEnvironment",
    "ClusterError",
    "CoarseKL",
    "ContextError",
    "ContextualZooming",
    "DeclarationError",
    "DirichletThompson",
    "DiscountedKL",
    "DiscountedUCB",
    "Discrete",
    "DoublingCCB",
    "DriftPlusPenalty",
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
    "Myopic",
    "OnepullError",
    "ParameterError",
    "PatientKL",
    "Payoff",
    "Policy",
    "Problem",
    "ProblemError",
    "Random",
    "RandomizedUCB",
    "RestartingUCB",
    "Result",
    "ResultFolder",
    "Reward",
    "RewardError",
    "SaveFileError",
    "Sketch",
    "SlidingWindowKL",
    "SlidingWindowUCB",
    "StateError",
    "Table",
    "UCB1Epsilon",
    "UnknownArm",
    "UpperConfidence",
    "recommended",
    "simulate",
    "simulate_buffer",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'onepull' has no attribute {name!r}")
    value = getattr(import_module(f"onepull.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
