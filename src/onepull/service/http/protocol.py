"""HTTP from a socket, with limits: how long a head may be, how long it may take, how many.

Decisions and observations are most of the traffic.  A request that is one of them, and has nothing
unusual about it, is answered as soon as it has arrived, without a task and without ASGI.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from onepull.service.handlers.deciding import ShortCut
from onepull.service.http.app import Application, Asked
from onepull.service.http.exchange import CLOSE, JSON, PLAIN, Answer, head_of
from onepull.service.http.problem_details import Refused

CONTINUE = b"HTTP/1.1 100"


def _lines(headers: Any) -> bytes:
    return b"".join(b"%s: %s\r\n" % header for header in headers)


_USUAL = STATUS_LINE[200] + _lines([(b"content-type", JSON), *PLAIN]) + b"content-length: "


def response(answer: Answer, *, keep_alive: bool = True) -> bytes:
    r"""Return an answer as it is sent.

    >>> response(Answer(b"{}")).endswith(b"content-length: 2\r\n\r\n{}")
    True
    """
    if answer.status == 200 and keep_alive and not answer.headers:
        return b"%s%d\r\n\r\n%s" % (_USUAL, len(answer.body), answer.body)
    headers = head_of(answer)
    if not keep_alive and CLOSE[0] not in headers:
        headers += CLOSE
    return b"%s%s\r\n%s" % (STATUS_LINE[answer.status], _lines(headers), answer.body)


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


class ShortCycle:
    """A request that takes a short cut, with what uvicorn asks of a request and its answer."""

    message_event = asyncio.Event()  # for which nobody waits
    response_started = disconnected = False

    def __init__(self, protocol: LimitedProtocol, *, keep_alive: bool) -> None:
        self._protocol, self.keep_alive = protocol, keep_alive
        self.response_complete = False

    def reply(self, answer: Answer) -> None:
        """Send the answer, unless the client has left."""
        self.response_complete = True
        protocol = self._protocol
        if protocol.transport.is_closing():
            return
        keep_alive = self.keep_alive and CLOSE[0] not in answer.headers
        protocol.transport.write(response(answer, keep_alive=keep_alive))
        if not keep_alive:
            protocol.transport.close()
        HttpToolsProtocol.on_response_complete(protocol)


class LimitedProtocol(HttpToolsProtocol):
    """Closes connections that send a request too slowly, or too long a head.

    Uvicorn waits for the rest of a request as long as a client likes, so a few hundred idle
    clients would keep all connections.  The length of bodies is limited where they are read.
    """

    application: Application
    head: int
    body: int
    seconds: float
    most: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._short: ShortCut | None = None
        self._fields: dict[bytes, bytes] = {}  # the head of a request that takes a short cut
        self._pieces: list[bytes] = []  # of its body
        self._arrived = 0  # bytes of a head that is not complete
        self._is_in_head = True
        self._is_arriving = True
        self._has_completed = False  # whether a request has, with the data that came last
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
        self._has_completed = False
        super().data_received(data)
        # Most requests arrive at once and need no clock.
        if self._is_arriving and not self.transport.is_closing():
            if self._timer is None:
                self._timer = self.loop.call_later(self.seconds, self._too_slow)
            # After a request that is complete, how much of the data is of the next is not known.
            self._arrived += 1 if self._has_completed else len(data)
            if self._is_in_head and self._arrived > self.head:
                self._refuse(431, f"the head of a request may have at most {self.head} bytes")

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        self._is_in_head = self._is_arriving = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that a head is complete."""
        self._is_in_head = False
        self._short = self._short_cut()
        if self._short is not None:
            self._pieces = []
            return
        super().on_headers_complete()
        # The task that answers has not begun yet.
        self.cycle.transport = JoinedWrites(self.transport)  # type: ignore[assignment]  # all it uses

    def _short_cut(self) -> ShortCut | None:
        """Return what answers a request at once, None if anything about it is unusual."""
        short = self.application.short_cut(self.url)
        if short is None or self.parser.get_method() != b"POST":
            return None
        cycle: Any = self.cycle  # None before the first request
        is_busy = self.flow.write_paused or not (cycle is None or cycle.response_complete)
        if is_busy or self.expect_100_continue or self.parser.should_upgrade():
            return None
        self._fields = dict(self.headers)
        length = self._fields.get(b"content-length", b"")
        if not length.isdigit() or int(length) > self.body:
            return None
        return short if self.parser.get_http_version() == "1.1" else None

    def on_body(self, body: bytes) -> None:
        """Take in a part of a body."""
        if self._short is None:
            super().on_body(body)
        else:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Stop the clock: a request has arrived."""
        self._is_arriving = False
        self._has_completed = True
        self._arrived = 0
        if self._timer is not None:
            self._stop_clock()
        if self._short is None:
            super().on_message_complete()
            return
        cycle = ShortCycle(self, keep_alive=self.parser.should_keep_alive())
        self.cycle = cycle  # type: ignore[assignment]  # it has what is asked of one
        asked = Asked(self._short, self.url, time.perf_counter(), cycle.reply)
        self.application.answer(asked, self._fields, b"".join(self._pieces))

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
        self._stop_clock()
        cycle: Any = self.cycle  # None before the first request
        if cycle is None or cycle.response_complete or not cycle.response_started:
            answer = Answer.refusing(Refused(status, detail))
            self.transport.write(response(answer, keep_alive=False))
        self.transport.close()


def limited_protocol(
    application: Application, *, head: int, body: int, seconds: float, most: int
) -> type[LimitedProtocol]:
    """Return the protocol of an application with its limits."""
    limits = {"head": head, "body": body, "seconds": seconds, "most": most}
    return type("BoundProtocol", (LimitedProtocol,), {"application": application, **limits})
