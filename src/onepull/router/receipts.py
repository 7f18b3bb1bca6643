"""An observation as it is told to a router, and the receipts that the router gives."""

from __future__ import annotations

from typing import Any

import msgspec

from onepull.errors import OnepullError


class Observation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The outcome of a decision, as one of many.

    Attributes
    ----------
    id
        The id of the decision.
    arm
        The arm that was pulled; needed if the router does not know the id, or if another arm was
        pulled than the one that it chose.
    state, reward, failed
        What was seen: the state by field, the reward, or that the pull failed.
    context
        The context; needed only where the router does not know the id.
    gave_up
        Whether no outcome will come; then there is neither state nor reward.

    Examples
    --------
    >>> Observation(id="order 66", state={"seconds": 0.7}).failed
    False
    """

    id: str
    arm: str | None = None
    state: dict[str, Any] | None = None
    reward: float | None = None
    failed: bool = False
    context: dict[str, Any] | None = None
    gave_up: bool = False


class Receipt(msgspec.Struct, frozen=True):
    """What became of an observation: it is on disk, and counts once.

    Attributes
    ----------
    id
        The id of the decision.
    learned
        Whether the policy learns from it.  It does not if it came before (`duplicate`), or if an
        expiry was learned in its place (`late`).
    duplicate
        Whether the same observation was reported before.
    late
        Whether the pull had been given up, or had expired.
    seq
        Its place in the log.

    Examples
    --------
    >>> Receipt("order 66", learned=True, seq=12).duplicate
    False
    """

    id: str
    learned: bool
    duplicate: bool = False
    late: bool = False
    seq: int = 0


class BatchReceipt(msgspec.Struct, frozen=True):
    """What became of many observations.

    Attributes
    ----------
    learned
        How many the policy learns from, late ones included.
    duplicates
        How many were reported before.
    late
        How many came after their pull was given up or had expired.
    rejected
        The position of each one that was refused, and the error.
    seq
        The place in the log of the last one that was accepted, None if none was.

    Examples
    --------
    >>> BatchReceipt(learned=3, duplicates=1, late=0).rejected
    ()
    """

    learned: int
    duplicates: int
    late: int
    rejected: tuple[tuple[int, OnepullError], ...] = ()
    seq: int | None = None
