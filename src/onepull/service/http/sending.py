"""Answers as they are written to a socket."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from onepull.service.http.exchange import CLOSE_CONNECTION, COMMON_HEADERS, JSON, Answer, head_of

CONTINUE = b"HTTP/1.1 100"


def lines_of(headers: Any) -> bytes:
    """Return the fields of a head, a line each."""
    return b"".join(b"%s: %s\r\n" % header for header in headers)


_USUAL = (
    STATUS_LINE[200] + lines_of([(b"content-type", JSON), *COMMON_HEADERS]) + b"content-length: "
)


def response(answer: Answer, *, keep_alive: bool = True) -> bytes:
    r"""Return an answer as it is sent.

    >>> response(Answer(b"{}")).endswith(b"content-length: 2\r\n\r\n{}")
    True
    """
    if answer.status == 200 and keep_alive and not answer.headers:
        return b"%s%d\r\n\r\n%s" % (_USUAL, len(answer.body), answer.body)
    headers = head_of(answer)
    if not keep_alive and CLOSE_CONNECTION[0] not in headers:
        headers += CLOSE_CONNECTION
    return b"%s%s\r\n%s" % (STATUS_LINE[answer.status], lines_of(headers), answer.body)


class JoinedWrites:
    """A transport that sends the head of an answer together with the first piece of its body.

    Each write is a system call, after which a thread waits for the interpreter again.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head: bytes | None = None
        self._is_begun = False
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        """Send data; the head waits for what follows."""
        if self.is_closing():
            return  # the client has left
        if self._is_begun:
            if self._head is not None:
                data, self._head = self._head + data, None
            self._transport.write(data)
        elif data.startswith(CONTINUE):
            self._transport.write(data)
        else:
            self._head, self._is_begun = data, True

    def flush(self) -> None:
        """Send a head that nothing follows."""
        if self._head is not None and not self.is_closing():
            head, self._head = self._head, None
            self._transport.write(head)

    def close(self) -> None:
        """Send what waits, and close."""
        self.flush()
        self._transport.close()
