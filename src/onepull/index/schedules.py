"""Schedules of exploration: the plain functions of ε-greedy and DSEE.

CPython calls them with numbers, and the simulator compiles them.
"""

from __future__ import annotations

from math import exp, log
from typing import Any

from onepull.index.rules import TurnRule

LONGEST_LOG = 43.0  # e^43 is about the largest trial that fits into 64 bits


def exploration_rate(trial: int, arms: int, c: float, gap: float) -> float:
    """Return ε_n = min(1, cK / (d² n)), the schedule of ε-greedy, where d is `gap`.

    >>> exploration_rate(10_000, 4, 5.0, 0.5)
    0.008
    """
    return min(1.0, c * arms / gap / gap / trial)


def drawn_evenly(u: float, rate: float, arms: int) -> int:
    """Return a uniformly drawn arm if the random number `u` from [0, 1) is below the rate, else -1.

    >>> drawn_evenly(0.03, 0.04, 8), drawn_evenly(0.5, 0.04, 8)
    (6, -1)
    """
    return min(int(u / rate * arms), arms - 1) if u < rate else -1


def batch_start(batch: int, before: int, arms: int, weight: float) -> int:
    """Return the trial at which DSEE's k-th batch of K pulls begins.

    DSEE explores until ⌈w ln n⌉ batches are done.  So batch k begins at the first n with
    w ln n > k - 1, or when the batch that began at trial `before` is over.

    >>> batch_start(1, 0, 4, 1.0), batch_start(2, 1, 4, 1.0), batch_start(4, 9, 4, 1.0)
    (1, 5, 21)
    """
    if batch == 1:
        return 1
    if batch - 1 > LONGEST_LOG * weight:
        return int(exp(LONGEST_LOG))  # beyond any trial
    due = int(exp((batch - 1) / weight))
    while weight * log(due) <= batch - 1:
        due += 1
    return max(due, before + arms)


def turn(starts: Any, trial: int, arms: int) -> int:
    """Return the arm whose turn it is at a trial, or -1 if none is explored.

    `starts` lists the trials at which batches begin, sorted; at least one is after the trial.

    >>> turn([1, 5, 9, 21], 6, 4), turn([1, 5, 9, 21], 13, 4)
    (1, -1)
    """
    low, high = 0, len(starts)
    while low < high:
        middle = (low + high) // 2
        if starts[middle] <= trial:
            low = middle + 1
        else:
            high = middle
    since = trial - starts[low - 1]
    return since if since < arms else -1


def greedy_turn(u: float, trial: int, arms: int, table: Any, c: float, gap: float) -> int:
    """Return a uniformly drawn arm with probability ε_n, else -1."""
    return drawn_evenly(u, exploration_rate(trial, arms, c, gap), arms)


def epsilon_greedy(c: float, gap: float) -> TurnRule:
    """Return the rule of ε-greedy.

    >>> rule = epsilon_greedy(5.0, 0.5)
    >>> rule.turn(0.001, 10_000, 4, (), *rule.parameters)
    0
    """
    return TurnRule(turn=greedy_turn, parameters=(c, gap), chance=exploration_rate)


def batch_starts(trial: int, arms: int, weight: float) -> list[int]:
    """Return the trials at which DSEE's batches begin, up to the first after a trial.

    >>> batch_starts(10, 4, 1.0)
    [1, 5, 9, 21]
    """
    starts = [1]
    while starts[-1] <= trial:
        starts.append(batch_start(len(starts) + 1, starts[-1], arms, weight))
    return starts


def batch_turn(u: float, trial: int, arms: int, table: Any, weight: float) -> int:
    """Return the arm whose turn it is in a batch of DSEE, or -1."""
    return turn(table, trial, arms)


def dsee(weight: float) -> TurnRule:
    """Return the rule of DSEE.

    >>> rule = dsee(1.0)
    >>> rule.turn(0.0, 6, 4, rule.table(6, 4, 1.0), *rule.parameters)
    1
    """
    return TurnRule(turn=batch_turn, table=batch_starts, parameters=(weight,))
