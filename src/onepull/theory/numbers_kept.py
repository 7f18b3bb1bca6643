"""The storage of policies: how many numbers they keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from onepull.policies import Policy

BYTES = 8  # a number in double precision


class Kept(NamedTuple):
    """The numbers that a policy keeps, and their size in bytes."""

    numbers: int
    bytes: int


def numbers_kept(policies: Mapping[str, Policy], horizon: int) -> dict[str, Kept]:
    """Return the storage of every policy at the horizon.

    DCB and CCB keep K(M+1) numbers, with M = width/δ cells for CCB; DoublingCCB those of its
    current phase; UCB1 2K and Multi-UCB 2MK.

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
