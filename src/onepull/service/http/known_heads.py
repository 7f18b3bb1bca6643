"""Heads of requests that were read before, since clients send the same ones again and again."""

from __future__ import annotations

from typing import NamedTuple

END = b"\r\n\r\n"
LONGEST_HEAD = 2000  # bytes of a head that is remembered
MOST_HEADS = 1000  # heads that are remembered


class Head(NamedTuple):
    """What a head says: the path, the fields by their name in small letters, the body's length."""

    url: bytes
    fields: dict[bytes, bytes]
    length: int


class KnownHeads:
    r"""Heads by their bytes: the same bytes say the same.

    Only a request that arrived alone and in one piece is looked for and remembered.

    >>> heads = KnownHeads()
    >>> data = b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"
    >>> heads.remember(data, Head(b"/", {b"content-length": b"2"}, 2))
    >>> heads.find(data)[1], heads.find(data + b" ")
    (b'{}', None)
    """

    def __init__(self) -> None:
        self._heads: dict[bytes, Head] = {}

    def find(self, data: bytes) -> tuple[Head, bytes] | None:
        """Return the head and the body of a request, None if the head is not known."""
        start = data.find(END) + len(END)
        head = self._heads.get(data[:start])
        if head is None or start + head.length != len(data):
            return None
        return head, data[start:]

    def remember(self, data: bytes, head: Head) -> None:
        """Remember the head of a request, which was read."""
        start = len(data) - head.length
        if data.find(END) + len(END) != start or start > LONGEST_HEAD:
            return
        if len(self._heads) >= MOST_HEADS:
            self._heads.clear()
        self._heads[data[:start]] = head
