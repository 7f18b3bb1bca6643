"""One choice of a policy, with what a log records of it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from onepull.errors import InputError
from onepull.policies.policy import Policy
from onepull.policies.request import Request
from onepull.spaces import FAILED


class Choice(NamedTuple):
    """An arm, and what is known about the choice.

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
    """

    arm: str
    chance: float | None
    estimate: float | None
    reason: str


def chosen(
    policy: Policy,
    context: Mapping[str, Any],
    eligible: Collection[str] | None,
    generator: Any = None,
) -> Choice:
    """Return what `policy.choose` returns, with a random generator for this choice alone.

    The generator has the methods of `numpy.random.Generator`.

    >>> from onepull import DCB, Finite, Interval, Problem
    >>> policy = DCB(Problem(
    ...     arms=["a", "b"], context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x * y"
    ... ))
    >>> chosen(policy, {"y": 1}, None, None)
    Choice(arm='a', chance=1.0, estimate=None, reason='never pulled')
    """
    # The parts of `choose` and `explain` that are needed here, and no others.
    reason = ""
    allowed: Sequence[int] = policy._everyone  # noqa: SLF001 - a part of policies
    if eligible is not None or policy._narrows:  # noqa: SLF001 - the same
        left = policy._narrowed(eligible)  # noqa: SLF001 - the same
        allowed, reason = left.allowed, left.reason
    request = tuple.__new__(Request, (context, policy._look(context), allowed))  # noqa: SLF001 - the same
    chance: float | None = 1.0
    if policy._generator is None:  # noqa: SLF001 - the same
        arm = policy._leader(request)  # noqa: SLF001 - the same
    else:
        own, policy._generator = policy._generator, generator  # noqa: SLF001 - the same
        try:
            if len(allowed) > 1:
                arm, chance = policy._draw_with_chance(request)  # noqa: SLF001 - the same
            else:
                arm = policy._draw(request)  # noqa: SLF001 - the same
        finally:
            policy._generator = own  # noqa: SLF001 - the same
    estimate = policy._estimate(request, arm)  # noqa: SLF001 - the same
    if estimate is not None and not math.isfinite(estimate):
        estimate = None
    if not reason:
        unseen = estimate is None and not policy._counts.observed[arm]  # noqa: SLF001 - the same
        reason = policy._unseen if unseen else policy._why()  # noqa: SLF001 - the same
    return Choice(policy._arms[arm], chance, estimate, reason)  # noqa: SLF001 - the same


def check_observation(
    policy: Policy, arm: str, fields: Mapping[str, Any], reward: Any, *, failed: bool
) -> None:
    """Raise what `policy.observe` would raise, and change nothing.

    >>> from onepull import DCB, Finite, Interval, Problem
    >>> policy = DCB(Problem(
    ...     arms=["a", "b"], context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x * y"
    ... ))
    >>> check_observation(policy, "c", {"x": 0.5}, None, failed=False)
    Traceback (most recent call last):
    onepull.errors.UnknownArm: unknown arm 'c'; the arms are a, b
    """
    if FAILED in fields:
        raise InputError("failed is told by failed=True")
    told = {**fields, FAILED: True} if failed else fields
    policy._knowledge.check(policy._find(arm), told, reward)  # noqa: SLF001 - a part of policies
