"""Delayed and lost feedback, by arm."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from onepull.checks import real
from onepull.distributions import Discrete, Distribution
from onepull.errors import ParameterError, UnknownArm

Delay: TypeAlias = Distribution | float  # a law, or a constant delay


def delays_by_arm(
    arms: Sequence[str], delays: Delay | Mapping[str, Delay]
) -> dict[str, Distribution]:
    """Return the law of each arm's delay, from one for all arms or some by arm (default 0).

    >>> delays_by_arm(["wifi", "lte"], {"lte": 3})
    {'wifi': Discrete([0.0], [1.0]), 'lte': Discrete([3.0], [1.0])}
    """
    given = delays if isinstance(delays, Mapping) else dict.fromkeys(arms, delays)
    _check_arms(arms, given, "delays")
    return {arm: _delay(arm, given.get(arm, 0)) for arm in arms}


def losses_by_arm(arms: Sequence[str], losses: float | Mapping[str, float]) -> dict[str, float]:
    """Return the probability that an arm's feedback is lost, from one for all or some by arm.

    >>> losses_by_arm(["wifi", "lte"], {"lte": 0.2})
    {'wifi': 0.0, 'lte': 0.2}
    """
    given = losses if isinstance(losses, Mapping) else dict.fromkeys(arms, losses)
    _check_arms(arms, given, "losses")
    return {arm: _loss(arm, given.get(arm, 0.0)) for arm in arms}


def _check_arms(arms: Sequence[str], given: Iterable[str], where: str) -> None:
    for arm in given:
        if arm not in arms:
            raise UnknownArm(
                f"unknown arm {arm!r} among the {where}; the arms are {', '.join(arms)}"
            )


def _delay(arm: str, given: Any) -> Distribution:
    law: Distribution
    if isinstance(given, Distribution):
        law = given
    else:
        try:
            law = Discrete([real(given)], [1])
        except TypeError:
            raise ParameterError(
                f"the delay of {arm!r} must be a law or a number of trials, given {given!r}"
            ) from None
    if law.fields != 1 or len(law.pieces()) > 1:
        raise ParameterError(
            f"the delay of {arm!r} must be a law of one number that never switches, given {law!r}"
        )
    low = law.support[0][0]
    if not 0.0 <= low < math.inf:
        raise ParameterError(f"the delay of {arm!r} must be 0 or more, given {given!r}")
    return law


def _loss(arm: str, given: Any) -> float:
    try:
        loss = real(given)
    except TypeError:
        loss = math.nan
    if not 0.0 <= loss <= 1.0:
        raise ParameterError(
            f"the loss of {arm!r} must be a probability from 0 to 1, given {given!r}"
        )
    return loss
