"""Summaries of regret as a share of DCB's: rows, tables, and how they compare with the aims."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from families import FAMILIES
from tables import interval

BASE = "DCB(0.01)"
LOCKED = 5.0  # times the median
AIMS = (0.15, 1.0, 0.001)  # mean of all families, the worst family, and the share of locked runs
PAPER_AIMS = {"7 channels": (0.20, 0.45), "4 channels": (0.80, None)}  # mean, p99


class Share(NamedTuple):
    """The regret of a policy in one problem, as shares of DCB's mean regret."""

    family: str
    policy: str
    horizon: int
    shares: list[float]
    base: float  # DCB's mean regret
    width: float  # the reward's range
    limit: float | None  # regret / (c ln T)


class Row(NamedTuple):
    """The results of a policy on a family; all but the last two are shares of DCB's mean regret."""

    family: str
    policy: str
    horizon: str
    mean: float  # over problems
    together: float  # all regret of the family
    p99: float  # over single runs
    worst: float
    locked: float  # the share of runs far above the median of their problem
    limits: float | None  # regret / (c ln T), over problems with c > 0


def row_of(found: list[Share]) -> Row:
    """Summarise the problems of a family for one policy."""
    every = np.concatenate([one.shares for one in found])
    locked = [np.array(one.shares) > LOCKED * np.median(one.shares) for one in found]
    limits = [one.limit for one in found if one.limit is not None]
    scale = [one.base / one.width for one in found]
    lost = sum(float(np.mean(one.shares)) * by for one, by in zip(found, scale, strict=True))
    return Row(
        found[0].family,
        found[0].policy,
        _horizons([one.horizon for one in found]),
        float(np.mean([np.mean(one.shares) for one in found])),
        lost / sum(scale),
        float(np.quantile(every, 0.99)),
        float(every.max()),
        float(np.concatenate(locked).mean()),
        float(np.median(limits)) if limits else None,
    )


def rows_of(found: list[Share]) -> list[Row]:
    """Return a row for each family and policy."""
    keys = dict.fromkeys((one.family, one.policy) for one in found)
    return [row_of([one for one in found if one[:2] == key]) for key in keys]


def overall(rows: list[Row]) -> list[Row]:
    """Return the mean over the families, and the worst of their tails."""
    found = []
    for policy in dict.fromkeys(row.policy for row in rows):
        own = [row for row in rows if row.policy == policy]
        limits = [row.limits for row in own if row.limits is not None]
        found.append(
            Row(
                f"{len(own)} families",
                policy,
                " / ".join(dict.fromkeys(row.horizon for row in own)),
                float(np.mean([row.mean for row in own])),
                float(np.mean([row.together for row in own])),
                max(row.p99 for row in own),
                max(row.worst for row in own),
                float(np.mean([row.locked for row in own])),
                float(np.mean(limits)) if limits else None,
            )
        )
    return found


def regrets(found: list[Share]) -> list[list[str]]:
    """Return the regret on the paper's channels itself, with intervals; none if there are none."""
    own = {(one.family, one.policy): one for one in found if one.family in PAPER_AIMS}
    if not own:
        return []
    head = [f"{name}: {told}" for name in PAPER_AIMS for told in ("regret ± 95 %", "95 % of runs")]
    cells = [["policy", *head]]
    for policy in dict.fromkeys(policy for _, policy in own):
        told = [policy]
        for name in PAPER_AIMS:
            if (name, policy) not in own:
                told += ["", ""]
                continue
            one = own[name, policy]
            lost = np.array(one.shares) * one.base
            low, high = np.quantile(lost, [0.025, 0.975])
            told += ["{:,.1f} ± {:.1f}".format(*interval(lost)), f"{low:,.1f} to {high:,.1f}"]
        cells.append(told)
    return cells


def tables(rows: list[Row], together: list[Row]) -> dict[str, list[list[str]]]:
    """Return the table of all families, that of every policy, and those of the channels."""
    families = [family for family in FAMILIES if any(row.family == family for row in rows)]
    by_name = {(row.family, row.policy): row for row in rows}
    policies = dict.fromkeys(row.policy for row in rows)
    wide = [["mean share of DCB", *families]]
    for policy in policies:
        cells = [by_name.get((family, policy)) for family in families]
        wide.append([policy, *("" if one is None else f"{one.mean:.3f}" for one in cells)])
    found = {"families": wide} if families else {}
    groups = {"all-families": together}
    for name in PAPER_AIMS:
        groups[name.replace(" ", "-")] = [row for row in rows if row.family == name]
    for name, group in groups.items():
        if not group:
            continue
        head = ["policy", "of", "T", "mean", "together", "p99", "worst", "locked", "× c ln T"]
        found[name] = [head]
        for row in group:
            told = (row.mean, row.together, row.p99, row.worst)
            limit = "" if row.limits is None else f"{row.limits:.2f}"
            first = [row.policy, row.family, row.horizon, *(f"{x:.3f}" for x in told)]
            found[name].append([*first, f"{row.locked:.2%}", limit])
    return found


def verdicts(rows: list[Row], together: list[Row]) -> Iterator[str]:
    """Yield how each policy compares with the aims."""
    for policy in dict.fromkeys(row.policy for row in rows if row.policy != BASE):
        own = {row.family: row for row in rows if row.policy == policy}
        told = []
        for name, (mean, p99) in PAPER_AIMS.items():
            if name in own:
                row = own[name]
                met = row.mean <= mean and (p99 is None or row.p99 <= p99)
                told.append(
                    f"{name} {row.mean:.3f}, p99 {row.p99:.2f}, T {row.horizon} {_mark(met)}"
                )
        for row in together:
            if row.policy == policy:
                worst = max((own[f] for f in own if f in FAMILIES), key=lambda one: one.mean)
                told += [
                    f"mean of {row.family} {row.mean:.3f} {_mark(row.mean <= AIMS[0])}",
                    f"worst {worst.family} {worst.mean:.3f} {_mark(worst.mean <= AIMS[1])}",
                    f"locked {row.locked:.3%} {_mark(row.locked <= AIMS[2])}",
                ]
        yield f"{policy}: " + "; ".join(told)


def _horizons(given: list[int]) -> str:
    return " / ".join(f"{horizon:,}" for horizon in sorted(set(given)))


def _mark(met: bool) -> str:  # noqa: FBT001 - it has no other argument
    return "(met)" if met else "(NOT MET)"
