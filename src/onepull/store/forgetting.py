"""Which ids are known to be settled after their events were deleted.

Ids of version 7 tell when they were made.  So all of them up to a time can be refused without
keeping any.  Other ids, and those of a clock that ran ahead, are kept by name.
"""

from __future__ import annotations

from collections.abc import Iterable

from onepull.store.ids import time_of

MILLISECOND = 0.001


def horizon_of(times: Iterable[float], now: float) -> float:
    """Return the time up to which ids are refused, given when deleted outcomes were written.

    >>> horizon_of([5.0, 7.0], now=100.0), horizon_of([1e12], now=100.0)
    (7.0, 100.0)
    """
    return min(max(times, default=0.0), now)


def is_old(id_: str, horizon: float) -> bool:
    """Return whether an id tells that it was made before a time.

    >>> is_old("01890a5d-ac96-774b-bcce-b302099a8057", 1.7e9), is_old("order 66", 1.7e9)
    (True, False)
    """
    born = time_of(id_)
    # An id tells the millisecond only, so one of the same millisecond may be younger.
    return born is not None and born + MILLISECOND <= horizon
