"""Invalid calls that every policy must reject."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from onepull.policies import Policy
from onepull.problem import Problem


def bad_calls(
    policy: Policy, problem: Problem, arm: str, pull: dict[str, Any], context: dict[str, Any]
) -> Iterable[tuple[str, Callable[[], object]]]:
    """Return invalid calls, each with a description of what is wrong with it."""
    field, state = problem.context.names[0], problem.state.names[0]

    def choosing(value: Any) -> Callable[[], object]:
        return lambda: policy.choose(**{**context, field: value})

    def observing(value: Any) -> Callable[[], object]:
        return lambda: policy.observe(arm, **{**pull, state: value})

    def rewarding(value: Any) -> Callable[[], object]:
        return lambda: policy.observe(arm, reward=value, **context)

    for bad in (math.nan, math.inf, -math.inf, "3", None, [1.0], True, 1 + 0j):
        yield f"context {bad!r}", choosing(bad)
        yield f"state {bad!r}", observing(bad)
        if bad is not None and bad is not True:  # True counts as reward 1, and None as no reward
            yield f"reward {bad!r}", rewarding(bad)
    yield "a context too high", choosing(problem.context[field].high + 1)
    if not getattr(problem.state[state], "clips", False):  # then it is used as the nearest end
        yield "a state too high", observing(problem.state[state].high + 1)
    yield "a reward too high", rewarding(problem.payoff.whole_range[1] + 1)
    if problem.context.has_fields:
        yield "no context", policy.choose
    yield "an unknown context field", lambda: policy.choose(**context, unknown=1.0)
    yield "an unknown state field", lambda: policy.observe(arm, **pull, unknown=1.0)
    yield "no state", lambda: policy.observe(arm, **context)
    yield "state and reward", lambda: policy.observe(arm, reward=0.0, **pull)

    yield (
        "a pull in a context too high",
        lambda: policy.pulled(arm, **{**context, field: problem.context[field].high + 1}),
    )
    columns = {name: [value, value] for name, value in pull.items()}
    bad_last = {**columns, state: [pull[state], math.nan]}
    yield "a batch with a bad row", lambda: policy.observe_many([arm, arm], **bad_last)
    yield "columns of two lengths", lambda: policy.observe_many([arm], **columns)
    yield "a merge with itself", lambda: policy.merge(policy)
    yield from _bad_arms(policy, arm, pull, context)


def _bad_arms(
    policy: Policy, arm: str, pull: dict[str, Any], context: dict[str, Any]
) -> Iterable[tuple[str, Callable[[], object]]]:
    def pulling(unknown: Any) -> Callable[[], object]:
        return lambda: policy.observe(unknown, **pull)

    def among(unknown: Any) -> Callable[[], object]:
        return lambda: policy.choose(eligible=[unknown], **context)

    def announcing(unknown: Any) -> Callable[[], object]:
        return lambda: policy.pulled(unknown, **context)

    for unknown in ("no such arm", None, 0, ["a"]):
        yield f"arm {unknown!r}", pulling(unknown)
        yield f"announced arm {unknown!r}", announcing(unknown)
        yield f"eligible {unknown!r}", among(unknown)
    yield "no eligible arm", lambda: policy.choose(eligible=[], **context)
    yield "eligible as text", lambda: policy.choose(eligible=arm, **context)
    yield "an arm twice", lambda: policy.add_arm(arm)
    yield "an unknown arm to remove", lambda: policy.remove_arm("no such arm")
