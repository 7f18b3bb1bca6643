"""What a router decides."""

from __future__ import annotations

import msgspec


class Decision(msgspec.Struct, frozen=True, gc=False):
    """An arm to pull, with the id under which its outcome is reported.

    Attributes
    ----------
    id
        The id, given by the caller or made by the router.
    arm
        The arm to pull.
    mode
        "live" if the policy chose it, "shadow" or "off" if it is the fallback.
    chance
        The probability with which it was chosen; None if that is not known.
    estimate
        Its estimated reward; None if there is no estimate.
    reason
        Why it was chosen, in a few words; `Router.explain` tells more.
    expires_at
        When the router stops waiting for the outcome, in seconds since the epoch.
    replayed
        Whether it is the stored answer to an id that was decided before.

    Examples
    --------
    >>> Decision("order 66", "wifi", "live", 1.0, 2.5, "highest index", 1790000000.0).arm
    'wifi'
    """

    id: str
    arm: str
    mode: str
    chance: float | None
    estimate: float | None
    reason: str
    expires_at: float
    replayed: bool = False
