"""Points where a reward jumps, or changes between flat and not flat, along one state field."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from onepull.payoff import Payoff, State
from onepull.payoff.reward import slack

PROBES = 9  # between two knots
BREAK_HALVINGS = 60
STEEP = 4.0  # a step this many times larger than its neighbours may be a jump


def breaks_of(payoff: Payoff, context: State, knots: list[float]) -> set[float]:
    """Return the points where a context's reward jumps, or is flat on one side only.

    The reward is monotone in the state.  It is computed at a few points between knots, so
    narrower steps are not found.

    >>> from onepull import Finite, Interval, Problem
    >>> def cuts(reward):
    ...     problem = Problem(
    ...         arms=["a"], context={"y": Finite([2])}, state={"x": Interval(0, 4)}, reward=reward
    ...     )
    ...     return breaks_of(problem.payoff, (2.0,), [0.0, 1.5, 4.0])
    >>> cuts("min(x, y)"), cuts("x <= y"), cuts("x + 5 * (x > 1.3)"), cuts("x * y")
    ({2.0}, {2.0}, {1.3}, set())
    """
    probes = np.unique(np.concatenate([np.linspace(a, b, PROBES) for a, b in pairwise(knots)]))
    rewards = np.broadcast_to(payoff.vector(*context, probes), len(probes))
    close = slack(float(rewards.min()), float(rewards.max()))
    steps = np.abs(np.diff(rewards))
    flat = steps <= close
    width = knots[-1] - knots[0]

    def reward(x: float) -> float:
        return float(payoff.scalar(*context, x))

    found = set()
    for i in np.flatnonzero(flat[:-1] != flat[1:]).tolist():
        # The reward is flat on one side of probe i+1 and not on the other.
        inner, outer = (i + 1, i + 2) if flat[i] else (i + 1, i)
        level, a, b = float(rewards[i + 1]), float(probes[inner]), float(probes[outer])
        for _ in range(BREAK_HALVINGS):
            middle = (a + b) / 2
            if abs(reward(middle) - level) <= close:
                a = middle
            else:
                b = middle
        found.add(_plain((a + b) / 2, width))
    beside = np.maximum(np.append(steps[1:], 0.0), np.append(0.0, steps[:-1]))
    for i in np.flatnonzero(~flat & (steps > STEEP * beside + close)).tolist():
        a, b = float(probes[i]), float(probes[i + 1])
        for _ in range(BREAK_HALVINGS):
            middle = (a + b) / 2
            if abs(reward(middle) - reward(a)) >= abs(reward(b) - reward(middle)):
                b = middle
            else:
                a = middle
        if abs(reward(b) - reward(a)) > steps[i] / 2:  # a jump, not a steep slope
            found.add(_plain((a + b) / 2, width))
    return found


def _plain(point: float, width: float) -> float:
    """Round a point to few digits, so that a state can be exactly equal to it."""
    for digits in range(13):
        if abs(round(point, digits) - point) <= 1e-8 * width:
            return round(point, digits)
    return point
