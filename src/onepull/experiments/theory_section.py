"""Measured regret and proven bounds in one table, for reports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.environment import Environment
from onepull.errors import ParameterError
from onepull.policies import Policy
from onepull.report import Estimate, Table
from onepull.report.result_tables import HALF_WIDTH, runs
from onepull.simulation import Result
from onepull.simulation.result import AT_ZERO, mean_and_half_width
from onepull.theory import graves_lai, guarantee

THEORY_COLUMNS = [
    "policy",
    "regret",
    "by gaps",
    "source",
    "gap-free",
    "in the limit",
    "least possible",
]
THEORY_NOTES = {
    "regret": HALF_WIDTH,
    "by gaps": "by gaps: the bound that depends on the gaps of this environment, from `source`.",
    "gap-free": "gap-free: δLT + 4G√(αKT ln T), a bound for all laws.",
    "in the limit": "in the limit: c ln T, which the policy's regret approaches as T grows.",
    "least possible": "least possible: c ln T, a lower bound for consistent policies as T grows.",
}


def least_constant(environment: Environment) -> float | None:
    """Return the least constant of ln n of a consistent policy, or None if there is none.

    There is none if laws change, nor with continuous contexts, where exploration can be
    arbitrarily cheap.

    >>> from onepull.environment import channel_selection, energy_harvesting
    >>> round(least_constant(channel_selection(7)), 1), least_constant(energy_harvesting())
    (26.6, None)
    """
    try:
        return graves_lai(environment).total
    except ParameterError:
        return None


def least_curve(environment: Environment, result: Result) -> dict[str, Array]:
    """Return the asymptotic lower bound at every checkpoint, by the name of its line.

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
    if not constant:  # None, or 0 if every arm is optimal in some context
        return {}
    return {"least possible, as n grows": constant * np.log(result.checkpoints)}


def regret_and_bounds(
    environment: Environment, policies: Mapping[str, Policy], result: Result
) -> Table:
    """Return the measured regret and the proven bounds of each policy.

    Policies without a proven bound are left out, and so are empty columns.

    >>> from onepull import DCB, simulate
    >>> from onepull.environment import channel_selection
    >>> channels = channel_selection(4)
    >>> policies = {"DCB": DCB(channels.problem)}
    >>> result = simulate(channels, policies, horizon=100, replications=2, seed=1)
    >>> regret_and_bounds(channels, policies, result).records()[0]["source"]
    'theorem 3'
    """
    horizon, least = result.horizon, least_constant(environment)
    log = math.log(horizon)
    rows: list[list[Any]] = []
    for name, policy in policies.items():
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                found = guarantee(environment, policy, horizon)
        except OverflowError:  # the bound is larger than any float
            continue
        if not found.has_bound:
            continue
        rows.append(
            [
                name,
                Estimate(*mean_and_half_width(result.regret(name))),
                found.by_gaps,
                found.source if found.by_gaps is not None else None,
                found.gap_free,
                None if found.limit is None else found.limit * log,
                None if least is None else least * log,
            ]
        )
    kept = [i for i in range(len(THEORY_COLUMNS)) if any(row[i] is not None for row in rows)]
    notes = [THEORY_NOTES[THEORY_COLUMNS[i]] for i in kept if THEORY_COLUMNS[i] in THEORY_NOTES]
    if result.regrets.min() >= 0 and any(row[1].half_width > row[1].mean for row in rows):
        notes.insert(1, AT_ZERO)
    return Table(
        f"Measured regret and proven bounds at T = {horizon:,}, {runs(result.replications)}",
        [THEORY_COLUMNS[i] for i in kept],
        [[row[i] for i in kept] for row in rows],
        notes,
    )
