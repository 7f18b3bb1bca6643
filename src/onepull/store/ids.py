"""Ids that are ordered by time."""

from __future__ import annotations

import os
import re
import threading
import time

VERSION_7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


class _Clock(threading.local):
    """The newest time that a thread has put into an id, which never goes back."""

    milliseconds = 0
    count = 0


_clock = _Clock()


def new_id() -> str:
    """Return a UUID of version 7: ordered by time, with 62 random bits.

    Ids of one thread increase even if the clock goes back.

    >>> one, two = new_id(), new_id()
    >>> one < two, len(one), one[14]
    (True, 36, '7')
    """
    now = time.time_ns() // 1_000_000
    if now > _clock.milliseconds:
        _clock.milliseconds, _clock.count = now, 0
    else:
        _clock.count += 1
        if _clock.count == 4096:  # of 12 bits
            _clock.milliseconds, _clock.count = _clock.milliseconds + 1, 0
    luck = int.from_bytes(os.urandom(8), "big") >> 2
    text = f"{_clock.milliseconds:012x}7{_clock.count:03x}{1 << 63 | luck:016x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def time_of(id_: str) -> float | None:
    """Return the time of an id of version 7 in seconds since the epoch, None of any other.

    >>> time_of("01890a5d-ac96-774b-bcce-b302099a8057")
    1688067157.142
    >>> time_of("order 66") is None
    True
    """
    if VERSION_7.fullmatch(id_) is None:
        return None
    return int(id_[:8] + id_[9:13], 16) / 1000
