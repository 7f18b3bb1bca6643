"""How much each policy keeps in memory to learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from onepull.policies import Policy

BYTES = 8  # of a number in double precision


class Kept(NamedTuple):
    """What a policy keeps: so many numbers, and their size."""

    numbers: int
    bytes: int


def numbers_kept(policies: Mapping[str, Policy], horizon: int) -> dict[str, Kept]:
    """Return what every policy keeps after so many trials.

    K(M+1) numbers for DCB, K(M+1) with M = width/δ cells for CCB, that of its current phase
    for DoublingCCB, 2K for UCB1 and 2MK for Multi-UCB.

    >>> from onepull import DCB, UCB1, MultiUCB
    >>> from onepull.environment import channel_selection
    >>> problem = channel_selection(7).problem
    >>> kept = numbers_kept(
    ...     {"UCB1": UCB1(problem), "Multi-UCB": MultiUCB(problem), "DCB": DCB(problem)}, 1000
    ... )
    >>> {name: numbers for name, (numbers, _) in kept.items()}
    {'UCB1': 14, 'Multi-UCB': 56, 'DCB': 35}
    >>> kept["DCB"].bytes
    280
    """
    numbers = {name: policy.storage_after(horizon) for name, policy in policies.items()}
    return {name: Kept(count, BYTES * count) for name, count in numbers.items()}
