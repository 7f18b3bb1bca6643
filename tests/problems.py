"""Problems that many tests use.

A problem never changes, so each is made once and what is derived from its reward is kept.
"""

from __future__ import annotations

import math
from functools import cache

from onepull import Discrete, Finite, Interval, Problem, Reward

# The paper's section "Numerical Simulation Results": P(X_j = j) = (8-j)/10, else 0.
PAPER_ARMS = {f"channel-{j}": Discrete([j, 0], [(8 - j) / 10, (2 + j) / 10]) for j in range(1, 8)}


@cache
def channels(count: int = 7) -> Problem:
    """Dynamic channel selection, as in the paper."""
    return Problem(
        arms=list(PAPER_ARMS)[:count],
        context={"bits": Finite([1, 2, 3, 4])},
        state={"capacity": Interval(0, 7)},
        reward="min(bits, capacity)",
    )


@cache
def harvesting(count: int = 4) -> Problem:
    """Power-aware channel selection, as in the paper."""
    return Problem(
        arms=list(PAPER_ARMS)[:count],
        context={"power": Interval(0, 1)},
        state={"gain": Interval(0, 7)},
        reward="log(1 + power * gain)",
    )


@cache
def offloading() -> Problem:
    """Two-field jobs on servers with two attributes."""
    return Problem(
        arms=["edge", "near", "far"],
        context={"megabytes": Finite([8, 64, 512]), "work": Finite([1e3, 1e5])},
        state={"link": Interval(50, 200), "speed": Interval(7000, 9000)},
        reward="-(megabytes / link + work / speed)",
    )


@cache
def mixed() -> Problem:
    """A finite and a continuous context field, and a state without upper end."""
    return Problem(
        arms=["a", "b", "c"],
        context={"weight": Finite([-1, 0.5, 2]), "size": Interval(1, 3)},
        state={"rate": Interval(0, math.inf)},
        reward="weight * min(size, rate)",
    )


@cache
def coded() -> Problem:
    """A reward in Python, finite states."""
    return Problem(
        arms=["a", "b", "c"],
        context={"need": Finite([1, 2, 5])},
        state={"have": Finite([0, 2, 4])},
        reward=Reward(lambda need, have: need if have >= need else 0.0),
    )


@cache
def worded() -> Problem:
    """Words and truth values, and states that are clipped."""
    return Problem(
        arms=["a", "b", "c"],
        context={"region": Finite(["eu", "us"]), "size": Finite([1, 3])},
        state={"rate": Interval(0, 4, outside="clip"), "warm": Finite([0, 1])},
        reward="min(size, rate) * (1 + warm) if region == 'eu' else rate / 2",
    )


@cache
def alone() -> Problem:
    """No context."""
    return Problem(arms=["a", "b", "c"], state={"rate": Interval(0, 4)}, reward="sqrt(rate)")


@cache
def failing() -> Problem:
    """Pulls that may fail, of arms with a price and a tier."""
    return Problem(
        arms={
            "a": {"price": 0.5, "tier": "gold"},
            "b": {"price": 0.25, "tier": "plain"},
            "c": {"price": 1.0, "tier": "plain"},
        },
        context={"size": Finite([1, 4])},
        state={"rate": Interval(0, 5)},
        reward="min(size, rate) * (1.5 if tier == 'gold' else 1) - price",
        failure="-2 - price * size",
    )


@cache
def endless() -> Problem:
    """Latencies without an upper bound, so that rewards have no lower one."""
    return Problem(
        arms=["a", "b", "c"],
        context={"tokens": Finite([1, 100])},
        state={"first": Interval(0, math.inf), "each": Interval(0, math.inf)},
        reward="-(first + tokens * each)",
    )


@cache
def served() -> Problem:
    """Arms with a price, pulls that may fail, and states without an upper end."""
    return failing().with_spaces(state={"rate": Interval(0, math.inf)})


@cache
def served_in_any_size() -> Problem:
    """The same with continuous contexts."""
    return served().with_spaces(context={"size": Interval(1, 4)})


FINITE = {
    "channels": channels,
    "offloading": offloading,
    "coded": coded,
    "worded": worded,
    "alone": alone,
}
# Problems that some policies refuse.
UNUSUAL = {"failing": failing, "endless": endless}
CONTINUOUS = {"harvesting": harvesting, "mixed": mixed}
