"""Ids that are ordered by time."""

from __future__ import annotations

import os
import re
import threading
import time

COUNT_DIGITS = [f"{count:03x}" for count in range(4096)]  # of the ids of a millisecond
AT_ONCE = 8192  # random bytes fetched from the system, since each call may lose Python's lock
VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}
VERSION_7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


class Ids:
    """Makes UUIDs of version 7: ordered by time, with 62 random bits.

    Ids increase even if the clock goes back.  Call it from one thread at a time, and make a new one
    after a fork.

    >>> ids = Ids()
    >>> one, two = ids.next(), ids.next()
    >>> one < two, len(one), one[14]
    (True, 36, '7')
    """

    __slots__ = ("_count", "_luck", "_milliseconds", "_time")

    def __init__(self) -> None:
        self._milliseconds = self._count = 0
        self._time = ""  # the first half of an id
        self._luck: list[str] = []  # the second halves of ids to come

    def next(self) -> str:
        """Return the next id."""
        now = time.time_ns() // 1_000_000
        if now > self._milliseconds:
            self._begin(now)
        else:
            self._count += 1
            if self._count == len(COUNT_DIGITS):
                self._begin(self._milliseconds + 1)
        if not self._luck:
            self._luck = _halves(os.urandom(AT_ONCE).hex())
        return self._time + COUNT_DIGITS[self._count] + self._luck.pop()

    def _begin(self, milliseconds: int) -> None:
        self._milliseconds, self._count = milliseconds, 0
        text = f"{milliseconds:012x}"
        self._time = f"{text[:8]}-{text[8:]}-7"


def _halves(luck: str) -> list[str]:
    """Return the second halves of ids from random digits, 16 for each.

    >>> _halves("0123456789abcdef")
    ['-8123-456789abcdef']
    """
    pieces = (luck[at : at + 16] for at in range(0, len(luck), 16))
    return [f"-{VARIANT[piece[0]]}{piece[1:4]}-{piece[4:]}" for piece in pieces]


_own = threading.local()


def new_id() -> str:
    """Return a UUID of version 7: ordered by time within a thread, with 62 random bits.

    >>> new_id() < new_id()
    True
    """
    ids: Ids | None = getattr(_own, "ids", None)
    if ids is None or _own.process != os.getpid():
        ids = _own.ids = Ids()
        _own.process = os.getpid()
    return ids.next()


def time_of(id_: str) -> float | None:
    """Return the time of an id of version 7 in seconds since the epoch, None of any other.

    >>> time_of("01890a5d-ac96-774b-bcce-b302099a8057")
    1688096058.518
    >>> time_of("order 66") is None
    True
    """
    if VERSION_7.fullmatch(id_) is None:
        return None
    return int(id_[:8] + id_[9:13], 16) / 1000
