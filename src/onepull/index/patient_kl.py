"""The rule of PatientKL: explore an arm in the context where that costs least."""

from __future__ import annotations

from typing import Any

from onepull.index.empirical_kl import likely_cap, likely_index
from onepull.index.empirical_likelihood import rounding
from onepull.index.rules import comes_before, leading_law


def patient_leader(  # noqa: C901, PLR0912 - plain loops and arguments, for a compiler
    values: Any,
    laws: Any,
    pulls: Any,
    means: Any,
    lows: Any,
    tops: Any,
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
        By context: the reward of every state, every arm's mean, and the reward's bounds.
    here
        The current context.
    absent
        The trials since each context last occurred.

    Examples
    --------
    The second arm is due in both contexts, and costs 0.3 in one and 0.09 in the other.

    >>> values, laws = [[0, 1], [0, 0.3]], [[0.2, 0.8], [0.5, 0.5]]
    >>> told = (values, laws, [90, 4], [[0.8, 0.5], [0.24, 0.15]], [0, 0], [1, 0.3], 4.6)
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
    enough = means[here][best] - rounding(lows[here], tops[here])
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
        due = leading_law(
            values[i], laws, pulls, means[i], lows[i], tops[i], risk, likely_index, likely_cap, True
        )
        if means[i][leader] - means[i][due] <= rounding(lows[i], tops[i]):
            continue
        cheapest, least = here, means[here][best] - means[here][due]
        for k in range(contexts):
            if absent[k] <= patience:
                top = means[k][0]
                for j in range(arms):
                    top = max(top, means[k][j])
                if top - means[k][due] < least - rounding(lows[k], tops[k]):
                    cheapest, least = k, top - means[k][due]
        if cheapest == here:
            return due
    return best
