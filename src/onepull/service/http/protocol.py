"""HTTP from a socket, with limits: how long a head may be, how long it may take, how many.

Decisions and observations are most of the traffic.  A request that is one of them, and has nothing
unusual about it, is answered as soon as it has arrived, without a task and without ASGI.  If its
head was read before, it is not read again.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from onepull.service.handlers.deciding import ShortCut
from onepull.service.http.app import Application, Later
from onepull.service.http.exchange import CLOSE_CONNECTION, Answer
from onepull.service.http.known_heads import Head, KnownHeads
from onepull.service.http.problem_details import Refused
from onepull.service.http.sending import JoinedWrites, lines_of, response

MOST_PIPELINED = 100  # requests of a connection that wait for the answers to earlier ones
LAST_CHANCE = 0.5  # seconds that a new connection has to send its request if the service stops


class ShortCycle:
    """A request that takes a short cut, with what uvicorn asks of a request and its answer."""

    message_event = asyncio.Event()  # for which nobody waits
    response_started = disconnected = False

    def __init__(self, *, keep_alive: bool) -> None:
        self.keep_alive = keep_alive
        self.response_complete = False


class LimitedProtocol(HttpToolsProtocol):
    """Closes connections that send a request too slowly, or too long a head.

    Uvicorn waits for the rest of a request as long as a client likes, so a few hundred idle
    clients would keep all connections.  The length of bodies is limited where they are read.
    """

    application: Application
    heads: KnownHeads
    head: int
    body: int
    seconds: float
    most: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._short: ShortCut | None = None
        self._fields: dict[bytes, bytes] = {}  # the head of a request that takes a short cut
        self._pieces: list[bytes] = []  # of its body
        self._arrived = 0  # bytes of a request that is not complete, since the last of its body
        self._has_body = False  # whether the data that came last has a piece of a body
        self._is_long = False  # whether they may be more than a head may have
        self._why: tuple[int, str] | None = None  # a request is refused that is being read
        self._is_in_head = True
        self._is_arriving = True
        self._completed = 0  # requests, with the data that came last
        self._keeps_alive = True
        self._without_upgrade: bytes | None = None  # the head of a request for another protocol
        self._heard = 0.0  # when a request came last, by the clock of the loop
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

    def shutdown(self) -> None:
        """Close when what runs is answered; on a new connection, a request is under way."""
        if self.cycle is None:
            self.loop.call_later(LAST_CHANCE, super().shutdown)
        else:
            super().shutdown()

    def data_received(self, data: bytes) -> None:
        """Read what has arrived; a request that is not complete keeps the clock running."""
        if self.transport.is_closing():
            return
        if not self._is_arriving and self._is_answered_at_once(data):
            return
        begins, self._completed = self._arrived == 0, 0
        self._is_long = self._arrived + len(data) > self.head
        self._has_body = False
        self._feed(data)
        if self.transport.is_closing():
            return
        # Most requests arrive at once and need no clock.
        if self._is_arriving:
            if self._timer is None:
                self._timer = self.loop.call_later(self.seconds, self._too_slow)
            if self._completed or self._has_body:  # how much came after that is not known
                self._arrived = 1
            else:
                self._arrived += len(data)
            if self._arrived > self.head:  # of a head, or of anything around pieces of a body
                self._refuse(431, self._head_limit)
        elif begins and self._completed == 1 and self._short is not None and self._keeps_alive:
            length = int(self._fields[b"content-length"])
            self.heads.remember(data, Head(self.url, self._fields, length))

    def _feed(self, data: bytes) -> None:
        """Let the parser read what has arrived.

        A request may ask for another protocol, as Java's client does with every one.  None is
        accepted, which a server may do.  But after such a head the parser stops, and a body would
        be lost.  So a new parser reads the head without that wish, and what follows.
        """
        self._unset_keepalive_if_required()
        try:
            while data:
                data = self._fed(data)
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")

    def _fed(self, data: bytes) -> bytes:
        """Let the parser read data; return what it is to read next."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as stopped:
            head, self._without_upgrade = self._without_upgrade, None
            if head is not None:  # else it is CONNECT, after which there is nothing to read
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
                (end,) = stopped.args
                return head + data[end:]
        return b""

    def _is_answered_at_once(self, data: bytes) -> bool:
        """Answer a request whose head was read before; return whether it is one."""
        found = self.heads.find(data)
        cycle: Any = self.cycle
        if found is None or self.flow.write_paused or not cycle.response_complete:
            return False
        head, body = found
        short = self.application.short_cut(head.url)
        if short is None:
            return False
        self._answer(short, head.url, head.fields, body, keep_alive=True)
        return True

    def _answer(
        self,
        short: ShortCut,
        url: bytes,
        fields: dict[bytes, bytes],
        body: bytes,
        *,
        keep_alive: bool,
    ) -> None:
        """Answer a request that takes a short cut, now or later."""
        found = self.application.answer(short, url, fields, body)
        if isinstance(found, Answer):
            self._send(found, keep_alive=keep_alive)
            return
        cycle: Any = ShortCycle(keep_alive=keep_alive)  # it has what is asked of one
        self.cycle = cycle
        found.future.add_done_callback(partial(self._answer_later, cycle, found))

    def _answer_later(self, cycle: ShortCycle, later: Later, _: object) -> None:
        answer = self.application.finished(later)
        cycle.response_complete = True
        self._send(answer, keep_alive=cycle.keep_alive)

    def _send(self, answer: Answer, *, keep_alive: bool) -> None:
        """Send an answer, unless the client has left."""
        if self.transport.is_closing():
            return
        if CLOSE_CONNECTION[0] in answer.headers:
            keep_alive = False
        self.transport.write(response(answer, keep_alive=keep_alive))
        if not keep_alive:
            self.transport.close()
        if self.pipeline or self.timeout_keep_alive_task is None:
            self._begin_next()
        else:  # the clock for idle connections goes on; it asks when the last request came
            self.server_state.total_requests += 1
        self._heard = self.loop.time()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that is idle, or look again later."""
        cycle: Any = self.cycle
        left = self._heard + self.timeout_keep_alive - self.loop.time()
        if not cycle.response_complete:
            left = self.timeout_keep_alive
        if left <= 0:
            super().timeout_keep_alive_handler()
            return
        self.timeout_keep_alive_task = self.loop.call_later(left, self.timeout_keep_alive_handler)

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        self._is_in_head = self._is_arriving = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take in a field of a head; those after a body are of no use."""
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Note that a head is complete."""
        self._is_in_head = False
        if self._is_long and len(lines_of(self.headers)) + len(self.url) > self.head:
            self._stop(431, self._head_limit)
        if len(self.pipeline) >= MOST_PIPELINED:
            self._stop(429, f"more than {MOST_PIPELINED} requests wait for earlier ones")
        if self.parser.should_upgrade():
            fields = [field for field in self.headers if field[0] != b"upgrade"]
            if len(fields) < len(self.headers):
                method, version = self.parser.get_method(), self.parser.get_http_version().encode()
                line = b"%s %s HTTP/%s\r\n" % (method, self.url, version)
                self._without_upgrade = line + lines_of(fields) + b"\r\n"
                return
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
        if is_busy or self.expect_100_continue:
            return None
        self._fields = dict(self.headers)
        length = self._fields.get(b"content-length", b"")
        if not length.isdigit() or int(length) > self.body:
            return None
        return short if self.parser.get_http_version() == "1.1" else None

    def on_body(self, body: bytes) -> None:
        """Take in a part of a body."""
        self._has_body = True
        if self._short is None:
            super().on_body(body)
        else:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Stop the clock: a request has arrived."""
        if self._without_upgrade is not None:
            return  # its body has not
        self._is_arriving = False
        self._completed += 1
        self._arrived = 0
        if self._timer is not None:
            self._stop_clock()
        if self._short is None:
            super().on_message_complete()
            return
        cycle: Any = ShortCycle(keep_alive=True)
        cycle.response_complete = True
        self.cycle = cycle
        self._keeps_alive = self.parser.should_keep_alive()
        body = b"".join(self._pieces)
        self._answer(self._short, self.url, self._fields, body, keep_alive=self._keeps_alive)

    def on_response_complete(self) -> None:
        """Send a head that had no body."""
        cycle: Any = self.cycle
        if cycle.response_complete:  # and not the next one, which is pipelined
            cycle.transport.flush()
        self._begin_next()

    def _begin_next(self) -> None:
        """Answer the next request that waits, and read on when none does."""
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, or what was refused while it was read."""
        self._refuse(*(self._why or (400, msg)))

    def _stop(self, status: int, detail: str) -> None:
        """Refuse the request that is being read; what follows is not read."""
        self._why = status, detail
        raise Refused(status, detail)

    @property
    def _head_limit(self) -> str:
        return f"the head of a request may have at most {self.head} bytes"

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
    own = {"application": application, "heads": KnownHeads()}
    return type("BoundProtocol", (LimitedProtocol,), {**own, **limits})
