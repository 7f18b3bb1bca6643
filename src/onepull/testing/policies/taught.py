"""Policies that have learned from random pulls, and how the checks compare them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from onepull.policies import Explanation, Policy
from onepull.problem import Problem
from onepull.testing.random_data import observations, random_points

BuildPolicy: TypeAlias = Callable[[Problem], Policy]

PULLS = 40
PROBLEMS = 32  # as many are remembered, since all checks of all policies begin with the same ones


def declare(behaviour: str, trait: str) -> str:
    """Return the hint that names the trait to declare."""
    return f"if {behaviour} by design, declare the trait {trait}"


ORDER = declare("the order of observations matters", "order_matters=True")


def has(policy: Policy, trait: str) -> bool:
    """Return a trait of a policy by its name."""
    return bool(getattr(policy.traits, trait))


@lru_cache(PROBLEMS)
def contexts(problem: Problem) -> list[dict[str, Any]]:
    """Return random contexts, always the same."""
    return random_points(problem.context, 15, np.random.default_rng(1))


@lru_cache(PROBLEMS)
def distinct_contexts(problem: Problem) -> list[dict[str, Any]]:
    """Return each context once, for checks that get the same answer if they ask again."""
    drawn = contexts(problem)
    return [context for i, context in enumerate(drawn) if context not in drawn[:i]]


def taught(build: BuildPolicy, problem: Problem) -> Policy:
    """Return a policy that has learned from random pulls, always the same."""
    policy = build(problem)
    observe(policy, observations(problem, PULLS, np.random.default_rng(2)))
    return policy


def observe(policy: Policy, pulls: Iterable[dict[str, Any]]) -> None:
    """Let a policy learn from pulls, one after the other."""
    for pull in pulls:
        policy.observe(**pull)


def learned(policy: Policy) -> Any:
    """Return what a policy saves of what it has learned."""
    return json.loads(policy.to_bytes())["saved"]["learned"]


def assert_alike(one: Policy, two: Policy, hint: str) -> None:
    """Assert that two policies have the same trials, pulls and indices."""
    assert one.trials == two.trials, f"{one.trials} trials against {two.trials}; {hint}"
    for context in distinct_contexts(one.problem):
        rows = by_arm(one.explain(**context))
        for arm, row in by_arm(two.explain(**context)).items():
            same = rows[arm].pulls == row.pulls and near(rows[arm].index, row.index)
            assert same, f"pulls or index differ: {rows[arm]} against {row}; {hint}"


def by_arm(explanation: Explanation) -> dict[str, Any]:
    """Return the rows of an explanation by their arms."""
    return {row.arm: row for row in explanation.arms}


def near(one: float, two: float | None) -> bool:
    """Return whether two numbers are alike up to rounding."""
    return two is not None and math.isclose(one, two, rel_tol=1e-9, abs_tol=1e-9)
