"""The rule of PatientKL: explore an arm in the context where that costs least."""

from __future__ import annotations

from typing import Any

from onepull.index.empirical_kl import likely_cap, likely_index
from onepull.index.rules import comes_before, leading_law, leading_law_of_arms


def due_of_all(  # noqa: D103 - see `due_arm`
    values: Any, laws: Any, pulls: Any, means: Any, low: Any, top: Any, risk: float
) -> int:
    return leading_law(
        values, laws, pulls, means, low, top, risk, likely_index, likely_cap, True
    )  # fmt: skip


def due_of_each(  # noqa: D103 - see `due_arm`
    values: Any, laws: Any, pulls: Any, means: Any, low: Any, top: Any, risk: float
) -> int:
    return leading_law_of_arms(
        values, laws, pulls, means, low, top, risk, likely_index, True
    )  # fmt: skip


def due_arm(values: Any, laws: Any, pulls: Any, means: Any, low: Any, top: Any, risk: float) -> int:
    """Return the arm whose bound is the highest in a context.

    If arms have attributes, `values`, `low` and `top` have one entry for each arm.

    >>> due_arm([0.0, 1.0], [[0.5, 0.5], [0.5, 0.5]], [9, 1], [0.5, 0.5], 0.0, 1.0, 2.0)
    1
    >>> each = [[0.0, 1.0], [0.0, 0.1]], [[0.5, 0.5], [0.5, 0.5]], [9, 1], [0.5, 0.05]
    >>> due_arm(*each, [0.0, 0.0], [1.0, 0.1], 2.0)
    0
    """
    due = due_of_all if isinstance(low, float) else due_of_each
    return due(values, laws, pulls, means, low, top, risk)


def patient_leader(  # noqa: C901, PLR0912 - plain loops and arguments, for a compiler
    values: Any,
    laws: Any,
    pulls: Any,
    means: Any,
    lows: Any,
    tops: Any,
    slacks: Any,
    risk: float,
    here: int,
    absent: Any,
    patience: int,
) -> int:
    """Return the arm to pull if exploration waits for the context where it costs least.

    An arm is due if its bound is the highest in some context and its mean is not.  It is pulled
    in the context where its mean is closest to the best, among the contexts of the last
    `patience` trials.  Elsewhere the best mean is played; of several, the least pulled.

    Parameters
    ----------
    values, means, lows, tops
        By context: the reward of every state, every arm's mean, and the reward's bounds.  If arms
        have attributes, rewards and bounds are by context and arm.
    slacks
        By context: the difference up to which rewards count as equal.
    here
        The current context.
    absent
        The trials since each context last occurred.

    Examples
    --------
    The second arm is due in both contexts, and costs 0.3 in one and 0.09 in the other.

    >>> values, laws = [[0, 1], [0, 0.3]], [[0.2, 0.8], [0.5, 0.5]]
    >>> means, slacks = [[0.8, 0.5], [0.24, 0.15]], [0.0, 0.0]
    >>> told = (values, laws, [90, 4], means, [0.0, 0.0], [1.0, 0.3], slacks, 4.6)
    >>> [patient_leader(*told, here, [1, 3], 10) for here in (0, 1)]
    [0, 1]
    >>> patient_leader(*told, 0, [1, 11], 10)   # the other context has not occurred for too long
    1
    """
    arms, contexts = len(pulls), len(absent)
    for j in range(arms):
        if pulls[j] == 0:
            return j
    best = 0
    for j in range(arms):
        if means[here][j] > means[here][best]:
            best = j
    enough = means[here][best] - slacks[here]
    for j in range(arms):
        if means[here][j] >= enough and comes_before(j, pulls[j], best, pulls[best], True):
            best = j
    for i in range(contexts):
        if absent[i] > patience and i != here:
            continue
        leader = 0
        for j in range(arms):
            if means[i][j] > means[i][leader]:
                leader = j
        due = due_arm(values[i], laws, pulls, means[i], lows[i], tops[i], risk)
        if means[i][leader] - means[i][due] <= slacks[i]:
            continue
        cheapest, least = here, means[here][best] - means[here][due]
        for k in range(contexts):
            if absent[k] <= patience:
                top = means[k][0]
                for j in range(arms):
                    top = max(top, means[k][j])
                if top - means[k][due] < least - slacks[k]:
                    cheapest, least = k, top - means[k][due]
        if cheapest == here:
            return due
    return best
