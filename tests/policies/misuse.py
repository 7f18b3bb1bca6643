"""Values that no parameter expects, constructors to give them to, and calls of every method.

`CONSTRUCTORS` has every public constructor with arguments that work.  `refusals` throws every
value of `ODD` at every parameter.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from problems import PAPER_ARMS, channels, coded, harvesting

import onepull
from onepull import Finite, Interval, Policy, Problem, Reward, distributions
from onepull.distributions import Uniform
from onepull.policies.registry import registered

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 1000, 10**5, 10**7, 10**12, 2**31, 2**63, 2**64, 10**30,
    -(10**30), 10**400, 0.5, -0.5, 1.5, 1e-3, 1e-12, 1e-300, 5e-324, 1e6, 1e12, 1e300,
    math.nan, math.inf, -math.inf, "", "x", "0.1", "channel-1", "joint", "blind", "per-context",
    "histogram", "sketch", "sketch(9)", "sketch(10000000)", "sketch(1e9)", "sketch(-1)",
    "sketch(9", "low-rank(1e-12)", "low-rank(nan)", "low-rank(0.1)", "maps", "thresholds",
    "min(bits, capacity)", "a\0b", "\ud800", b"x", [], [1], [[1]], ["channel-1"], ["1", "bits"],
    [["channel-1"] * 4], [[["channel-1"]]], [math.nan] * 4, [0.25] * 4, [None], {}, {"a": 1},
    {1: 2}, {"channel-1": 1}, {"channel-1": ["1"]}, {"power": 0.5}, {"power": 1e-12},
    {"power": None}, {"power": 0.5, "x": 1}, (), set(), frozenset({"x"}), object(), 1j,
    np.int64(3), np.int8(-1), np.uint64(2**63), np.float32(0.5), np.float64("nan"), np.bool_(1),
    np.str_("channel-1"), np.array([1.0]), np.array(3), np.array([]), np.zeros((2, 2)),
    np.array(["channel-1"]), Decimal("0.5"), Fraction(1, 2), len, lambda: 1, range(3), Uniform,
    {np.str_("power"): 0.5}, [[np.str_("channel-1")] * 4], {np.str_("channel-1"): 1.0},
    np.str_("joint"), np.str_("maps"), Uniform(0, 1), Finite([1]), Interval(0, 1),
    np.random.default_rng(1), int, Ellipsis,
)  # fmt: skip

SPENT = {"costs": {"channel-1": 1.0}, "budget": 10.0, "horizon": 100}
NEEDED: Mapping[str, Mapping[str, Any]] = {
    "CCB": {"delta": 0.1},
    "FixedArm": {"arm": "channel-1"},
    "Genie": {"states": PAPER_ARMS},
    "UCBALP": SPENT,
    "MixtureElimination": {**SPENT, "policies": "thresholds"},
}


def states_listed() -> Problem:
    """A problem that every policy with a histogram takes."""
    problem = channels(3)
    return Problem(
        arms=problem.arms,
        context=problem.context,
        state={"capacity": Finite(range(8))},
        reward="min(bits, capacity)",
    )


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "channels": lambda: channels(3),
    "harvesting": lambda: harvesting(3),
    "listed": states_listed,
    "coded": coded,
}


def _constructors() -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    for name, kind in registered().items():
        for at, problem in PROBLEMS.items():
            given = {"problem": problem(), **NEEDED.get(name, {})}
            if _works(kind, given):
                yield f"{name}-{at}", kind, given
    for name in ("ContextTable", "Histogram", "Sketch", "LowRank", "Grid"):
        for at, problem in PROBLEMS.items():
            kind, given = getattr(onepull, name), {"problem": problem()}
            given |= {"delta": 0.1} if name == "Grid" else {}
            if _works(kind, given):
                yield f"{name}-{at}", kind, given
    for name, given in LAWS.items():
        yield name, getattr(distributions, name), given
    yield "recommended", onepull.recommended, {"problem": channels(3)}
    yield "for_horizon", onepull.CCB.for_horizon, {"problem": harvesting(3), "horizon": 100}
    yield "Finite", Finite, {"values": [1, 2]}
    yield "Interval", Interval, {"low": 0, "high": 1}
    yield "Reward", Reward, {"source": "min(bits, capacity)", "low": 0, "high": 4}
    yield (
        "Problem",
        Problem,
        {
            "arms": ["a"],
            "context": {"bits": Finite([1])},
            "state": {"capacity": Interval(0, 1)},
            "reward": "min(bits, capacity)",
        },
    )


LAWS: dict[str, dict[str, Any]] = {
    "Beta": {"a": 2, "b": 2, "low": 0, "high": 1},
    "Discrete": {"values": [1, 2], "probabilities": [0.5, 0.5]},
    "Exponential": {"mean": 1},
    "Gamma": {"mean": 1, "shape": 2},
    "InOrder": {"values": [1, 2]},
    "LogNormal": {"mean": 0, "sd": 1},
    "Nakagami": {"snr_db": 3, "m": 1},
    "Rayleigh": {"snr_db": 3},
    "Rician": {"snr_db": 3, "k": 1},
    "TruncatedNormal": {"mean": 0, "sd": 1, "low": -1, "high": 1},
    "Uniform": {"low": 0, "high": 1},
}


def _works(kind: Callable[..., Any], given: dict[str, Any]) -> bool:
    try:
        kind(**given)
    except onepull.OnepullError:
        return False
    return True


CONSTRUCTORS = {name: (kind, given) for name, kind, given in _constructors()}


def refusals(name: str) -> Iterator[tuple[str, Any, Callable[[], Any]]]:
    """Return each parameter of a constructor, each odd value, and the call with it."""
    kind, given = CONSTRUCTORS[name]
    for parameter in inspect.signature(kind).parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            for value in ODD:
                call = {**given, parameter.name: value}
                yield parameter.name, value, partial(kind, **call)


def calls(
    policy: Policy, arm: str, pull: dict[str, Any]
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Return calls of every public method of a policy with odd values, each with a description."""
    context = policy.problem.context.among(pull)
    field, state = policy.problem.context.names[0], policy.problem.state.names[0]
    for value in ODD:
        tried: dict[str, Callable[[Any], Any]] = {
            "choose eligible": lambda v: policy.choose(eligible=v, **context),
            "choose context": lambda v: policy.choose(**{**context, field: v}),
            "explain eligible": lambda v: policy.explain(eligible=v, **context),
            "explain context": lambda v: policy.explain(**{**context, field: v}),
            "estimates": lambda v: policy.estimates(**{**context, field: v}),
            "indices": lambda v: policy.indices(**{**context, field: v}),
            "observe arm": lambda v: policy.observe(v, **pull),
            "observe state": lambda v: policy.observe(arm, **{**pull, state: v}),
            "observe context": lambda v: policy.observe(arm, **{**pull, field: v}),
            "observe reward": lambda v: policy.observe(arm, reward=v, **context),
            "observe more": lambda v: policy.observe(arm, **pull, other=v),
            "many arms": lambda v: policy.observe_many(v, **{k: [x] for k, x in pull.items()}),
            "many states": lambda v: policy.observe_many(
                [arm], **{k: v if k == state else [x] for k, x in pull.items()}
            ),
            "many rewards": lambda v: policy.observe_many(
                [arm], reward=v, **{k: [x] for k, x in context.items()}
            ),
            "pulled": lambda v: policy.pulled(v, **context),
            "pulled context": lambda v: policy.pulled(arm, **{**context, field: v}),
            "gave_up": lambda v: policy.gave_up(v, **context),
            "add_arm": policy.add_arm,
            "remove_arm": policy.remove_arm,
            "merge": policy.merge,
            "reseed": policy.reseed,
            "save": policy.save,
            "load": type(policy).load,
            "from_bytes": type(policy).from_bytes,
            "storage_after": policy.storage_after,
        }
        for what, call in tried.items():
            if not (what == "save" and isinstance(value, str)):  # a good path
                yield f"{what} {_shown(value)}", partial(call, value)


def _shown(value: Any) -> str:
    return "10**400" if isinstance(value, int) and abs(value) > 10**100 else repr(value)[:40]
