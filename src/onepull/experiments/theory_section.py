"""What is proved about regret, beside what was measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.environment import Environment
from onepull.errors import ParameterError
from onepull.policies import Policy
from onepull.report import Span, Table
from onepull.simulation import Result
from onepull.simulation.result import mean_and_error, student
from onepull.theory import graves_lai, guarantee

COLUMNS = [
    "policy",
    "regret",
    "95 % interval",
    "by gaps",
    "source",
    "gap-free",
    "in the limit",
    "least possible",
]
NOTES = {
    "regret": "regret: the mean, with its 95 % confidence interval.",
    "by gaps": "by gaps: the bound from the gaps of this environment, whose source is named.",
    "gap-free": "gap-free: δLT + 4G√(αKT ln T), whatever the laws are.",
    "in the limit": "in the limit: c ln n, which the policy's regret approaches as n grows.",
    "least possible": "least possible: c ln n, which no consistent policy stays below.",
}


def least_constant(environment: Environment) -> float | None:
    """Return the constant of ln n that no consistent policy is below, where there is one.

    There is none where laws change, and with continuous contexts, in which exploring may cost
    as little as one likes.

    >>> from onepull.environment import channel_selection, energy_harvesting
    >>> round(least_constant(channel_selection(7)), 1), least_constant(energy_harvesting())
    (26.6, None)
    """
    try:
        return graves_lai(environment).total
    except ParameterError:
        return None


def least_curve(environment: Environment, result: Result) -> dict[str, Array]:
    """Return the line that no consistent policy is below as n grows, to be drawn.

    >>> from onepull import DCB, simulate
    >>> from onepull.environment import channel_selection
    >>> channels = channel_selection(7)
    >>> result = simulate(
    ...     channels, {"DCB": DCB(channels.problem)}, horizon=100, replications=2, seed=1
    ... )
    >>> least_curve(channels, result)["least possible, as n grows"][-1].round(1)
    np.float64(122.6)
    """
    constant = least_constant(environment)
    if not constant:  # None, or nothing: where every arm is best somewhere
        return {}
    return {"least possible, as n grows": constant * np.log(result.checkpoints)}


def beside(environment: Environment, policies: Mapping[str, Policy], result: Result) -> Table:
    """Put what is proved about each policy's regret beside what was measured.

    Policies of which nothing is proved are left out, and columns that would be empty.

    >>> from onepull import DCB, simulate
    >>> from onepull.environment import channel_selection
    >>> channels = channel_selection(4)
    >>> policies = {"DCB": DCB(channels.problem)}
    >>> result = simulate(channels, policies, horizon=100, replications=2, seed=1)
    >>> beside(channels, policies, result).records()[0]["source"]
    'theorem 3'
    """
    horizon, least = result.horizon, least_constant(environment)
    log = math.log(horizon)
    rows: list[list[Any]] = []
    for name, policy in policies.items():
        regrets = result.regret(name)
        mean, error = mean_and_error(regrets)
        half = student(result.replications) * error
        found = guarantee(environment, policy, horizon)
        if not found.speaks:
            continue
        rows.append(
            [
                name,
                mean,
                Span(mean - half, mean + half),
                found.by_gaps,
                found.source if found.by_gaps is not None else None,
                found.gap_free,
                None if found.limit is None else found.limit * log,
                None if least is None else least * log,
            ]
        )
    kept = [i for i in range(len(COLUMNS)) if any(row[i] is not None for row in rows)]
    return Table(
        f"Theory beside measurement, n = {horizon:,}",
        [COLUMNS[i] for i in kept],
        [[row[i] for i in kept] for row in rows],
        [NOTES[COLUMNS[i]] for i in kept if COLUMNS[i] in NOTES],
    )
