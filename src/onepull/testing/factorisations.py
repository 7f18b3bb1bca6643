"""The checks for factorisations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from onepull.errors import ContextError
from onepull.factor import Dense, Factorisation
from onepull.problem import Problem
from onepull.testing.random_data import random_points

BuildFactorisation: TypeAlias = Callable[[Problem], Factorisation]

POINTS_CHECKED = 200


def product_equals_reward_within_error(build: BuildFactorisation, problem: Problem) -> None:
    """φ(y)·ψ(x) equals g(y, x) up to the stated error."""
    factor, payoff = build(problem), problem.payoff
    for context, state in _points(problem):
        product = float(np.dot(factor.phi(context), np.asarray(factor.psi(state))))
        reward = payoff.scalar(*context, *state)
        slack = 1e-9 * max(1.0, abs(reward))
        assert abs(product - reward) <= factor.error + slack, (
            f"φ·ψ is {product} and g is {reward} at context {context}, state {state}; "
            f"the stated error is {factor.error}"
        )


def looking_equals_the_product(build: BuildFactorisation, problem: Problem) -> None:
    """`look` returns φ(y)·means for every arm."""
    factor = build(problem)
    means = np.random.default_rng(1).random((factor.features, 5))
    for context, _ in _points(problem):
        fields = problem.context.fields(context)
        estimates = factor.look(means, fields)[0]
        np.testing.assert_allclose(estimates, factor.phi(context) @ means, rtol=1e-9)


def bounds_hold(build: BuildFactorisation, problem: Problem) -> None:
    """φ(y)·ψ(x) lies within the bounds of `look` for every state."""
    factor = build(problem)
    means = np.zeros((factor.features, 1))
    for context, state in _points(problem):
        _, low, high = factor.look(means, problem.context.fields(context))
        product = float(np.dot(factor.phi(context), np.asarray(factor.psi(state))))
        slack = 1e-9 * max(1.0, abs(low), abs(high))
        assert low - slack <= product <= high + slack, (
            f"φ·ψ is {product} at context {context}, state {state}, outside [{low}, {high}]"
        )


def many_contexts_give_what_each_gives(build: BuildFactorisation, problem: Problem) -> None:
    """`phi_many` and `bounds_many` agree with `phi` and `bounds`, row by row."""
    factor = build(problem)
    if not isinstance(factor, Dense):
        return
    points = _points(problem)
    contexts = [context for context, _ in points]
    # Compare φ·ψ, not φ: a solver may split weight between nearly equal features either way.
    psi = np.array([factor.psi(state) for _, state in points])
    many = (factor.phi_many(np.array(contexts)) * psi).sum(axis=1)
    each = (np.array([factor.phi(c) for c in contexts]) * psi).sum(axis=1)
    np.testing.assert_allclose(many, each, rtol=1e-9, atol=1e-9)
    lows, highs = factor.bounds_many(np.array(contexts))
    bounds = np.column_stack([lows, highs])
    np.testing.assert_allclose(bounds, [factor.bounds(c) for c in contexts], rtol=1e-9, atol=1e-12)


def features_are_as_many_as_said(build: BuildFactorisation, problem: Problem) -> None:
    """φ and ψ have `features` entries, all finite."""
    factor = build(problem)
    for context, state in _points(problem):
        for vector in (factor.phi(context), np.asarray(factor.psi(state))):
            assert vector.shape == (factor.features,), (
                f"expected shape ({factor.features},), got {vector.shape}"
            )
            assert np.all(np.isfinite(vector)), f"not finite: {vector}"


def contexts_outside_are_refused(build: BuildFactorisation, problem: Problem) -> None:
    """An invalid context raises `ContextError`."""
    factor = build(problem)
    means = np.zeros((factor.features, 1))
    good = random_points(problem.context, 1, np.random.default_rng(2))[0]
    name = problem.context.names[0]
    values = [{**good, name: value} for value in (math.nan, 1e300, "1")]
    missing: list[dict[str, Any]] = [{}] if problem.context.has_fields else []
    for bad in (*missing, {**good, "other": 1.0}, *values):
        try:
            factor.look(means, bad)
        except ContextError:
            continue
        raise AssertionError(f"the invalid context {bad} was accepted")


FACTORISATION_CHECKS: list[Callable[[BuildFactorisation, Problem], None]] = [
    product_equals_reward_within_error,
    looking_equals_the_product,
    bounds_hold,
    many_contexts_give_what_each_gives,
    features_are_as_many_as_said,
    contexts_outside_are_refused,
]


def _points(problem: Problem) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    generator = np.random.default_rng(3)
    contexts = random_points(problem.context, POINTS_CHECKED, generator)
    states = random_points(problem.outcome, POINTS_CHECKED, generator)
    return [
        (problem.context.read(context), problem.outcome.read(state))
        for context, state in zip(contexts, states, strict=True)
    ]
