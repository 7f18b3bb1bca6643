"""HTTP from a socket, with limits: how long a head may be, how long it may take, how many."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from onepull.service.http.messages import ProblemDetails
from onepull.service.http.problem_details import MEDIA_TYPE, TITLES

CONTINUE = b"HTTP/1.1 100"


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
        if self._head is not None:
            head, self._head = self._head, None
            self._transport.write(head)

    def close(self) -> None:
        """Send what waits, and close."""
        self.flush()
        self._transport.close()


class LimitedProtocol(HttpToolsProtocol):
    """Closes connections that send a request too slowly, or too long a head.

    Uvicorn waits for the rest of a request as long as a client likes, so a few hundred idle
    clients would keep all connections.  The length of bodies is limited where they are read.
    """

    head: int
    seconds: float
    most: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._arrived = 0  # bytes of a head that is not complete
        self._is_in_head = True
        self._is_arriving = True
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock for the first request."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self._refuse(503, f"more than {self.most} connections")
            return
        self._timer = self.loop.call_later(self.seconds, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what has arrived; a request that is not complete keeps the clock running."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        # Most requests arrive at once and need no clock.
        if self._is_arriving and not self.transport.is_closing():
            if self._timer is None:
                self._timer = self.loop.call_later(self.seconds, self._too_slow)
            self._arrived += len(data)
            if self._is_in_head and self._arrived > self.head:
                self._refuse(431, f"the head of a request may have at most {self.head} bytes")

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        self._is_in_head = self._is_arriving = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that a head is complete."""
        self._is_in_head = False
        super().on_headers_complete()
        # The task that answers has not begun yet.
        self.cycle.transport = JoinedWrites(self.transport)  # type: ignore[assignment]  # all it uses

    def on_message_complete(self) -> None:
        """Stop the clock: a request has arrived."""
        self._is_arriving = False
        self._arrived = 0
        if self._timer is not None:
            self._stop_clock()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Send a head that had no body."""
        cycle: Any = self.cycle
        if cycle.response_complete:  # and not the next one, which is pipelined
            cycle.transport.flush()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP."""
        self._refuse(400, msg)

    def _stop_clock(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if self._arrived:
            self._refuse(408, f"a request must arrive within {self.seconds:g} s")
        else:
            self.transport.close()

    def _refuse(self, status: int, detail: str) -> None:
        body = msgspec.json.encode(ProblemDetails("about:blank", TITLES[status], status, detail))
        self._stop_clock()
        cycle: Any = self.cycle  # None before the first request
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self.transport.write(
                b"%scontent-type: %s\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s"
                % (STATUS_LINE[status], MEDIA_TYPE, len(body), body)
            )
        self.transport.close()


def limited_protocol(*, head: int, seconds: float, most: int) -> type[LimitedProtocol]:
    """Return the protocol with its limits.

    >>> limited_protocol(head=1024, seconds=5.0, most=10).head
    1024
    """
    limits = {"head": head, "seconds": seconds, "most": most}
    return type("BoundProtocol", (LimitedProtocol,), limits)
