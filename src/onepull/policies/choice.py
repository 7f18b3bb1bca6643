"""One choice of a policy, with what a log records of it."""

from __future__ import annotations

from typing import NamedTuple


class Choice(NamedTuple):
    """An arm, and what is known about the choice, as `Policy.decide` returns it.

    Attributes
    ----------
    arm
        The arm.
    chance
        The probability with which it was chosen; None if that is not known.
    estimate
        Its estimated reward; None if there is no estimate.
    reason
        Why it was chosen, in a few words; `Policy.explain` tells more.

    Examples
    --------
    >>> from onepull import Finite, Problem, Random
    >>> policy = Random(Problem(arms=["a", "b"], state={"x": Finite([0, 1])}, reward="x"))
    >>> policy.decide({}).chance, policy.decide({}, eligible=["b"]).chance
    (0.5, 1.0)
    """

    arm: str
    chance: float | None
    estimate: float | None
    reason: str
