"""Learn which option to use for each request, when you know how to score an outcome.

You know how to score an outcome; you do not know how each option behaves.  Pulling an arm shows
its state.  Because the formula that scores it is known, that one state teaches the estimate for
every context.

>>> from onepull import Interval, Problem, recommended
>>> policy = recommended(Problem(
...     arms=["wifi", "lte"],
...     context={"bits": Interval(1, 4)},
...     state={"capacity": Interval(0, 7)},
...     reward="min(bits, capacity)",
... ))
>>> arm = policy.choose(bits=3)
>>> policy.observe(arm, capacity=2.0)

Begin with `Problem`, `Finite`, `Interval` and `recommended`.  `Router` keeps a log, `simulate`
compares policies, and `onepull --help` lists the commands.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# A name is imported when it is first used, so that the command line starts quickly and the
# library never needs what the simulator does.

# Made by tools/public_names.py
if TYPE_CHECKING:
    from onepull.client import AsyncClient, Client
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
        ConflictError,
        ContextError,
        DeclarationError,
        FormulaError,
        InputError,
        MergeError,
        MissingExtra,
        NotFound,
        OnepullError,
        ParameterError,
        ProblemError,
        RewardError,
        SaveFileError,
        ServiceError,
        StateError,
        StoreError,
        UnknownArm,
    )
    from onepull.experiments import Experiment, ResultFolder
    from onepull.factor import ContextTable, Factorisation, Grid, Histogram, LowRank, Sketch
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
        AdaptiveKL,
        Choice,
        CoarseKL,
        ContextualZooming,
        Controls,
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
        Knowledge,
        LinearThompson,
        LinRel,
        LinUCB,
        Loaded,
        MeanPolicy,
        MixtureElimination,
        MultiUCB,
        PatientKL,
        Policy,
        Pull,
        Random,
        RandomizedUCB,
        RegressionUCB,
        Request,
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
    from onepull.router import BatchReceipt, Decision, Observation, Receipt, Router, RouterStats
    from onepull.simulation import Result, compile_decisions, simulate, simulate_buffer
    from onepull.spaces import Box, Finite, Interval
    from onepull.statistics import ArmStatistics
    from onepull.store import MemoryStore, PostgresStore, SQLiteStore, Store, open_store

_HOMES = {
    "client": ["AsyncClient", "Client"],
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
        "ConflictError",
        "ContextError",
        "DeclarationError",
        "FormulaError",
        "InputError",
        "MergeError",
        "MissingExtra",
        "NotFound",
        "OnepullError",
        "ParameterError",
        "ProblemError",
        "RewardError",
        "SaveFileError",
        "ServiceError",
        "StateError",
        "StoreError",
        "UnknownArm",
    ],
    "experiments": ["Experiment", "ResultFolder"],
    "factor": ["Factorisation", "Grid", "Histogram", "LowRank", "Sketch", "ContextTable"],
    "formula": ["Formula"],
    "index": ["MeanRule", "StateRule", "TurnRule"],
    "payoff": ["Fact", "Payoff", "Reward"],
    "problem": ["Problem"],
    "router": ["BatchReceipt", "Decision", "Observation", "Receipt", "Router", "RouterStats"],
    "simulation": ["Result", "compile_decisions", "simulate", "simulate_buffer"],
    "spaces": ["Box", "Finite", "Interval"],
    "statistics": ["ArmStatistics"],
    "store": ["MemoryStore", "PostgresStore", "SQLiteStore", "Store", "open_store"],
    "policies": [
        "Choice",
        "Controls",
        "Share",
        "Request",
        "Explanation",
        "Policy",
        "Absorbed",
        "Loaded",
        "Pull",
        "recommended",
        "MeanPolicy",
        "TurnPolicy",
        "shared",
        "Knowledge",
        "Stats",
        "StatePolicy",
        "Traits",
        "AdaptiveKL",
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
        "RegressionUCB",
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
    "AdaptiveKL",
    "ArmStatistics",
    "AsyncClient",
    "Backlog",
    "BatchReceipt",
    "Battery",
    "BatteryPlan",
    "Box",
    "BufferEnvironment",
    "Choice",
    "Client",
    "ClusterError",
    "CoarseKL",
    "ConflictError",
    "ContextError",
    "ContextTable",
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
    "Knowledge",
    "LinRel",
    "LinUCB",
    "LinearThompson",
    "Loaded",
    "LowRank",
    "MeanPolicy",
    "MeanRule",
    "MemoryStore",
    "MergeError",
    "MissingExtra",
    "MixtureElimination",
    "MultiUCB",
    "Myopic",
    "NotFound",
    "Observation",
    "OnepullError",
    "ParameterError",
    "PatientKL",
    "Payoff",
    "Policy",
    "PostgresStore",
    "Problem",
    "ProblemError",
    "Pull",
    "Random",
    "RandomizedUCB",
    "Receipt",
    "RegressionUCB",
    "Request",
    "RestartingUCB",
    "Result",
    "ResultFolder",
    "Reward",
    "RewardError",
    "Router",
    "RouterStats",
    "SQLiteStore",
    "SaveFileError",
    "ServiceError",
    "Share",
    "Sketch",
    "SlidingWindowKL",
    "SlidingWindowUCB",
    "StateError",
    "StatePolicy",
    "StateRule",
    "Stats",
    "Store",
    "StoreError",
    "Traits",
    "TurnPolicy",
    "TurnRule",
    "UCB1Epsilon",
    "UnknownArm",
    "UpperConfidence",
    "compile_decisions",
    "open_store",
    "recommended",
    "shared",
    "simulate",
    "simulate_buffer",
]
# To here.

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        # Python looks for the nearest name if it knows where.
        told = f"module 'onepull' has no attribute {name!r}"
        raise AttributeError(told, name=name, obj=sys.modules[__name__])
    value = getattr(import_module(f"onepull.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
