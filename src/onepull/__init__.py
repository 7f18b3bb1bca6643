"""Learn which option to use for each request, when you know how to score an outcome.

You know how to score an outcome; you do not know how each option behaves.  Pulling an arm shows
its state.  Because the formula that scores it is known, that one state teaches the estimate for
every context.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# A name is imported when it is first used, so that the command line starts quickly and the
# library never needs what the simulator does.

# Made by tools/public_names.py
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
    from onepull.index import MeanRule, StateRule, TurnRule
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
        Absorbed,
        CoarseKL,
        ContextualZooming,
        Controls,
        Decision,
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
        MeanPolicy,
        MixtureElimination,
        MultiUCB,
        PatientKL,
        Policy,
        Pull,
        Random,
        RandomizedUCB,
        RestartingUCB,
        Share,
        SlidingWindowKL,
        SlidingWindowUCB,
        StatePolicy,
        Stats,
        Traits,
        TurnPolicy,
        UCB1Epsilon,
        UpperConfidence,
        recommended,
        shared,
    )
    from onepull.problem import Problem
    from onepull.simulation import Result, simulate, simulate_buffer
    from onepull.spaces import Box, Finite, Interval
    from onepull.statistics import ArmStatistics

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
    "index": ["MeanRule", "StateRule", "TurnRule"],
    "payoff": ["Fact", "Payoff", "Reward"],
    "problem": ["Problem"],
    "simulation": ["Result", "simulate", "simulate_buffer"],
    "spaces": ["Box", "Finite", "Interval"],
    "statistics": ["ArmStatistics"],
    "policies": [
        "Controls",
        "Share",
        "Decision",
        "Explanation",
        "Policy",
        "Absorbed",
        "Pull",
        "recommended",
        "MeanPolicy",
        "TurnPolicy",
        "shared",
        "Stats",
        "StatePolicy",
        "Traits",
        "CCB",
        "DoublingCCB",
        "CoarseKL",
        "ContextualZooming",
        "DCB",
        "DSEE",
        "DirichletThompson",
        "DiscountedKL",
        "DiscountedUCB",
        "EmpiricalBernstein",
        "EmpiricalKL",
        "EpochGreedy",
        "EpsilonGreedy",
        "FixedArm",
        "Genie",
        "Greedy",
        "Random",
        "ILTCB",
        "IMED",
        "KLUCB",
        "LinRel",
        "LinUCB",
        "LinearThompson",
        "MixtureElimination",
        "MultiUCB",
        "PatientKL",
        "RandomizedUCB",
        "RestartingUCB",
        "SlidingWindowKL",
        "SlidingWindowUCB",
        "UCB1",
        "UCB1Epsilon",
        "UCBALP",
        "UpperConfidence",
    ],
}

__all__ = [
    "CCB",
    "DCB",
    "DSEE",
    "ILTCB",
    "IMED",
    "KLUCB",
    "UCB1",
    "UCBALP",
    "Absorbed",
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
    "Controls",
    "Decision",
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
    "MeanPolicy",
    "MeanRule",
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
    "Pull",
    "Random",
    "RandomizedUCB",
    "RestartingUCB",
    "Result",
    "ResultFolder",
    "Reward",
    "RewardError",
    "SaveFileError",
    "Share",
    "Sketch",
    "SlidingWindowKL",
    "SlidingWindowUCB",
    "StateError",
    "StatePolicy",
    "StateRule",
    "Stats",
    "Table",
    "Traits",
    "TurnPolicy",
    "TurnRule",
    "UCB1Epsilon",
    "UnknownArm",
    "UpperConfidence",
    "recommended",
    "shared",
    "simulate",
    "simulate_buffer",
]
# To here.

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'onepull' has no attribute {name!r}")
    value = getattr(import_module(f"onepull.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
