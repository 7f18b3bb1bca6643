"""Read observations: the state, or the reward and its context."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.checks import real, shown
from onepull.errors import ContextError, InputError, RewardError
from onepull.payoff import State
from onepull.payoff.reward import slack
from onepull.problem import Problem
from onepull.spaces import FAILED


def observed_outcome(problem: Problem, arm: int, fields: Mapping[str, Any], reward: Any) -> State:
    """Return the outcome of a pull, either given or derived from the reward.

    `fields` may hold `failed`, which tells that the pull failed.
    """
    if FAILED in fields:
        _check_failed(problem, fields, reward)
        return problem.failed_outcome_of(arm)
    if reward is None:
        box = problem.state
        # Usually nothing but the state is given.
        if len(fields) != len(box.names) and _split(problem, fields)[0]:
            problem.context.read(fields)
        try:
            state = box.read(fields)
        except InputError:
            # A field of the context is not unknown, so that an error must not say so.
            state = box.read({name: fields[name] for name in _split(problem, fields)[1]})
    elif _split(problem, fields)[1]:
        raise InputError("give the state or the reward, not both")
    else:
        payoff = problem.payoff_of(problem.arms[arm])
        state = payoff.invert(_reward(reward), problem.context.read(fields))
    return state if problem.outcome is problem.state else problem.outcome_of(arm, state)


def rewarded_context(
    problem: Problem, arm: int, fields: Mapping[str, Any], reward: Any
) -> tuple[State, float]:
    """Return the context and the reward; raises InputError if the context is missing."""
    context, value = observed_reward(problem, arm, fields, reward)
    if context is None:
        raise problem.context.refusal({})
    return context, value


def observed_reward(
    problem: Problem, arm: int, fields: Mapping[str, Any], reward: Any
) -> tuple[State | None, float]:
    """Return the context, if given, and the reward, either given or computed from the state."""
    if FAILED in fields:
        _check_failed(problem, fields, reward)
        context = problem.context.read(fields)
        return context, problem.payoff.scalar(*context, *problem.failed_outcome_of(arm))
    given, state = _split(problem, fields) if fields else ([], [])
    if reward is None:
        context = _context(problem, fields)
        outcome = problem.outcome_of(arm, problem.state.read(fields))
        return context, problem.payoff.scalar(*context, *outcome)
    if state:
        raise InputError("give the state or the reward, not both")
    told = problem.context.read(fields) if given or problem.context.implied else None
    value = _reward(reward)
    check_reward(value, *problem.payoff.whole_range)
    return told, value


def check_reward(value: float, low: float, high: float) -> None:
    """Raise RewardError if a reward is outside its range, apart from rounding.

    >>> check_reward(1.7e9 + 1.6, 1.7e9 - 12.0, 1.7e9)
    Traceback (most recent call last):
    onepull.errors.RewardError: reward 1700000001.6 is impossible; expected 1699999988 to 1700000000
    """
    close = slack(low, high)
    if not low - close <= value <= high + close:
        raise RewardError(f"reward {value!r} is impossible; expected {low:.12g} to {high:.12g}")


def mean_state(problem: Problem, points: Array, shares: Array) -> dict[str, float] | None:
    """Return the mean of each number of the states shown, None if every pull failed.

    `points` holds one state per row, with whether the pull failed if pulls can fail.

    >>> from onepull import Interval
    >>> problem = Problem(arms=["a"], state={"x": Interval(0, 9)}, reward="x", failure=-1)
    >>> mean_state(problem, np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([0.25, 0.75]))
    {'x': 2.0}
    """
    if problem.failure is not None:
        shares = np.where(points[:, -1] > 0.0, 0.0, shares)
    total = float(np.sum(shares))
    if total <= 0.0:
        return None
    means = (shares @ points / total).tolist()
    words = problem.state.words
    pairs = zip(problem.state, means, strict=False)
    return {name: float(mean) for name, mean in pairs if name not in words}


def _check_failed(problem: Problem, fields: Mapping[str, Any], reward: Any) -> None:
    """Raise InputError if more than the context is given with a failure."""
    if reward is not None:
        raise InputError("give failed=True or the reward, not both")
    given, state = _split(problem, {name: fields[name] for name in fields if name != FAILED})
    if state:
        raise InputError(
            f"a failed pull shows no state, given {', '.join(sorted(state))}; leave it out"
        )
    if given:
        problem.context.read(fields)


def _context(problem: Problem, fields: Mapping[str, Any]) -> State:
    """Return the context; an error speaks of its fields alone."""
    try:
        return problem.context.read(fields)
    except ContextError:
        raise problem.context.refusal(problem.context.among(fields)) from None


def _split(problem: Problem, fields: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the context names and the state names among the fields; raises for other names."""
    ours, theirs, implied = problem.context.names, problem.state.names, problem.context.implied
    context = [name for name in fields if name in ours and name not in implied]
    state = [name for name in fields if name in theirs]
    if len(context) + len(state) < len(fields):
        raise problem.state.stray({*fields} - {*context, *state}, problem.context)
    return context, state


def _reward(reward: Any) -> float:
    if isinstance(reward, bool | np.bool_):  # a comparison counts as 1 or 0
        return float(reward)
    try:
        value = real(reward)
    except TypeError:
        raise RewardError(f"a reward must be one number, given {shown(reward)}") from None
    if not math.isfinite(value):
        raise RewardError(f"a reward must be finite, given {shown(reward)}")
    return value
