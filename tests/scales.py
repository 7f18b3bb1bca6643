"""Every policy of the registry on rewards of any size, driven from its signature."""

from __future__ import annotations

import inspect
import math
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from onepull import Discrete, Finite, Genie, Interval, Problem
from onepull.errors import MergeError, ParameterError
from onepull.policies import Policy

ARMS = ("a", "b", "c")
CONTEXTS: dict[str, Finite | Interval] = {"listed": Finite([1, 2, 4]), "interval": Interval(0.5, 4)}
STATES: dict[str, Finite | Interval] = {
    "listed": Finite([0, 1, 2, 3, 4]),
    "interval": Interval(0, 4),
}


@cache  # an analysis of a reward takes longer than any test of a policy with it
def problem(reward: str, context: str = "listed", state: str = "listed") -> Problem:
    """Return a problem with this reward of y and x."""
    return Problem(
        arms=ARMS, context={"y": CONTEXTS[context]}, state={"x": STATES[state]}, reward=reward
    )


def build(kind: type[Policy], problem: Problem, **given: Any) -> Policy | None:
    """Return a policy with what its signature asks for; None if it is not for this problem."""
    takes = inspect.signature(kind).parameters
    if kind is Genie:
        ends = [[space.low for space in problem.state.values()]]
        ends += [[space.high for space in problem.state.values()]]
        given["states"] = {
            arm: Discrete(ends, [(j + 1) / 9, 1 - (j + 1) / 9]) for j, arm in enumerate(ARMS)
        }
    if "arm" in takes:
        given["arm"] = ARMS[1]
    if "costs" in takes:
        given |= {"costs": {"b": 0.25, "c": 0.5}, "budget": 100.0, "horizon": 300}
    widths = {n: s.width / 3.5 for n, s in problem.context.items() if isinstance(s, Interval)}
    if "delta" in takes and (widths or takes["delta"].default is inspect.Parameter.empty):
        given["delta"] = widths or 1.0
    make: Any = kind  # a policy has parameters of its own
    try:
        policy: Policy = make(problem, **given)
    except ParameterError:
        return None
    return policy


def play(policy: Policy, trials: int, seed: int = 5) -> list[str]:
    """Return the arms chosen in some trials; draws do not depend on what was chosen before."""
    luck = np.random.default_rng(seed)
    (context,), (state,) = policy.problem.context.values(), policy.problem.state.values()
    chosen = []
    for _ in range(trials):
        y, *shares = luck.random(1 + len(ARMS)).tolist()
        request = _at(context, y)
        arm = policy.choose(y=request)
        chosen.append(arm)
        j = ARMS.index(arm)
        policy.observe(arm, y=request, x=_at(state, shares[j] ** (1 + j)))
    return chosen


def _at(space: Any, share: float) -> float:
    if isinstance(space, Finite):
        return space.values[int(share * len(space.values))]
    return float(space.low + share * space.width)


def use_everything(policy: Policy) -> None:
    """Learn, explain, save, load and merge; no number may be NaN."""
    (space,) = policy.problem.context.values()
    contexts = [_at(space, share) for share in (0.0, 0.99)]
    twin = type(policy)._rebuilt(policy.problem, policy._written()) if _is_saved(policy) else None
    for trials in (1, 2, 20):
        play(policy, trials, seed=trials)
        for y in contexts:
            told = policy.explain(y=y)
            numbers = [(row.estimate, row.bonus, row.index, row.chance) for row in told.arms]
            assert not any(n is not None and math.isnan(n) for row in numbers for n in row), told
            assert str(told)
            policy.choose(y=y, eligible=ARMS[1:])
    if twin is not None:
        loaded = type(policy).from_bytes(policy.to_bytes(), problem=policy.problem)
        for y in contexts:
            assert loaded.explain(y=y) == policy.explain(y=y)
        play(twin, 5)
        with suppress(MergeError):
            policy.merge(twin)
        for y in contexts:
            assert not any(math.isnan(index) for index in policy.indices(y=y))
            policy.choose(y=y)


def _is_saved(policy: Policy) -> bool:
    return not isinstance(policy, Genie)  # its distributions are not saved
