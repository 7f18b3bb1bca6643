"""The ASGI application: who may ask what, and the way to the handler.

Decisions and observations are most of the traffic and take a short cut past ASGI and the table of
routes; see `protocol`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from logging import ERROR
from typing import Any, NamedTuple

from onepull.errors import OnepullError
from onepull.service.handlers.deciding import ShortCut, answer_to, check_json, known_problem
from onepull.service.http.exchange import (
    COMMON_HEADERS,
    Answer,
    Exchange,
    Gone,
    Receive,
    Scope,
    Send,
    Stream,
    read_body,
    send_answer,
)
from onepull.service.http.problem_details import Refused, refusal
from onepull.service.http.routes import Route, find_route
from onepull.service.http.static_files import CONTENT_SECURITY, StaticFile
from onepull.service.keys import ANYBODY, KeyHolder, Role
from onepull.service.running.json_log import tell, tell_error
from onepull.service.service import Service
from onepull.service.settings import is_loopback

WRITE_SECONDS = 30.0  # that a client may take to accept a piece of a stream
MOST_HOSTS = 1000  # names and ports that are remembered
_NEEDS_KEY = ((b"www-authenticate", b'Bearer realm="onepull"'),)
_PAGE_HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),
)


class Later(NamedTuple):
    """A request that takes a short cut and is answered later: to where, since when, with what."""

    short: ShortCut
    url: bytes
    started: float
    future: asyncio.Future[Any]


class Application:
    """Answers HTTP requests to a service.

    Examples
    --------
    >>> from onepull.service import Service
    >>> callable(Application(Service.demonstration()))
    True
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._seen: set[bytes] = set()  # hosts that are allowed
        self._hosts = {name.lower().encode() for name in service.settings.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            return
        started = time.perf_counter()
        status = 0
        try:
            status = await self._answer(scope, receive, send)
        except Gone:
            pass
        except asyncio.CancelledError:  # the service does not wait any longer
            status = await self._refuse(scope, send, Refused(503, "the service is stopping"))
        except Exception as error:  # noqa: BLE001 - whatever happens, there is an answer
            status = await self._refuse(scope, send, error)
        self._count(scope["method"], scope["path"], status, started)

    def short_cut(self, url: bytes) -> ShortCut | None:
        """Return what answers the `POST` requests to a path past ASGI; None of most paths."""
        return self._service.short_cuts.get(url)

    def answer(
        self, short: ShortCut, url: bytes, headers: dict[bytes, bytes], body: bytes
    ) -> Answer | Later:
        """Answer a request that takes a short cut, or say what to wait for."""
        started = time.perf_counter()
        try:
            self._admit(headers, Role.WRITER)
            check_json(headers)
            found = short.work(self._service, short.router, body)
            if isinstance(found, asyncio.Future):
                return Later(short, url, started, found)
            answer = self._answer_to(short, started, found)
        except Exception as error:  # noqa: BLE001 - whatever happens, there is an answer
            answer = self._refusing(error, "POST", url.decode("ascii"))
        self._count("POST", url, answer.status, started)
        return answer

    def finished(self, later: Later) -> Answer:
        """Return the answer to a request that had to wait."""
        short, url, started, future = later
        try:
            answer = self._answer_to(short, started, future.result())
        except Exception as error:  # noqa: BLE001 - the same
            answer = self._refusing(error, "POST", url.decode("ascii"))
        self._count("POST", url, answer.status, started)
        return answer

    def _answer_to(self, short: ShortCut, started: float, found: Any) -> Answer:
        self._service.measures.measured(short.measure, time.perf_counter() - started)
        return answer_to(found)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await self._service.start()
                except OnepullError as error:
                    tell("cannot start", ERROR, reason=str(error))
                    await send({"type": "lifespan.startup.failed", "message": ""})
                except Exception as error:  # noqa: BLE001 - the server ends with the reason
                    tell_error("cannot start", error)
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                else:
                    await send({"type": "lifespan.startup.complete"})
            else:
                await self._service.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> int:
        """Answer a request by the table of routes, or with a file of the dashboard."""
        headers = dict(scope["headers"])
        if scope["method"] in ("GET", "HEAD"):
            file = self._service.files.find(scope["path"])
            if file is not None:
                self._check_host(headers)
                return await _send_file(send, headers, file)
        route, names = find_route(scope["method"], scope["raw_path"])
        known = ANYBODY if route.role is None else self._admit(headers, route.role)
        exchange = Exchange(scope, headers, names, known)
        await self._check_query(route, exchange)
        if route.takes is not None:
            check_json(headers)
            exchange.body = await read_body(receive, headers, self._service.settings.body)
        answer = await route.handler(self._service, exchange)
        if isinstance(answer, Stream) and scope["method"] == "HEAD":
            await answer.pieces.aclose()
            answer = Answer(b"", kind=answer.kind)
        if isinstance(answer, Stream):
            await self._send_stream(receive, send, answer)
            return 200
        await send_answer(send, answer)
        self._audit(route, exchange, answer)
        return answer.status

    async def _check_query(self, route: Route, exchange: Exchange) -> None:
        """Refuse a query with a parameter that is not known, since it may be misspelt."""
        context: Iterable[str] = ()
        if route.takes_context:
            fields = (await known_problem(self._service, exchange)).router.problem.context
            context = fields if fields.has_fields else ()
        route.check_query(exchange.query, context)

    def _admit(self, headers: dict[bytes, bytes], role: Role) -> KeyHolder:
        """Return who asks; raises Refused if they may not."""
        service = self._service
        if not service.keys.are_needed:
            self._check_host(headers)
            return ANYBODY
        given = headers.get(b"authorization", b"")
        known = service.keys.find(given)
        if known is None:
            detail = "this key is not known; `onepull key list` shows those that are"
            if not given.lower().startswith(b"bearer "):
                detail = "a key is needed: send it as `Authorization: Bearer KEY`"
            raise Refused(401, detail, kind="KeyNeeded", headers=_NEEDS_KEY)
        if known.role < role:
            detail = f"this needs a key with the role {role.name.lower()}; yours is "
            raise Refused(403, f"{detail}{known.role.name.lower()}", kind="RoleNeeded")
        return known

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        """Refuse names other than loopback if there are no keys to stop pages of other sites.

        A page can point its own name at this machine and then read what is answered.
        """
        if self._service.keys.are_needed:
            return
        given = headers.get(b"host", b"")
        if given in self._seen:
            return
        host = given.lower()
        name = host.rsplit(b":", 1)[0] if not host.endswith(b"]") else host
        if not is_loopback(name.strip(b"[]").decode("latin-1")) and name not in self._hosts:
            detail = "without keys the service answers to localhost only; see --keys and hosts"
            raise Refused(421, detail, kind="WrongHost")
        if len(self._seen) < MOST_HOSTS:
            self._seen.add(given)

    async def _send_stream(self, receive: Receive, send: Send, stream: Stream) -> None:
        """Send pieces until the stream ends or the client leaves."""
        headers = [(b"content-type", stream.kind), *stream.headers, *COMMON_HEADERS]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        gone = asyncio.ensure_future(_left(receive))
        pieces = stream.pieces.__aiter__()
        piece: asyncio.Future[bytes | None] | None = None
        try:
            while not gone.done():
                piece = asyncio.ensure_future(anext(pieces, None))
                await asyncio.wait({gone, piece}, return_when=asyncio.FIRST_COMPLETED)
                if not piece.done():
                    break
                body = piece.result()
                message = {"type": "http.response.body", "body": body or b""}
                async with asyncio.timeout(WRITE_SECONDS):
                    await send({**message, "more_body": body is not None})
                if body is None:
                    break
        except TimeoutError:
            tell("a client stopped reading a stream")
        finally:
            waiting = [task for task in (gone, piece) if task is not None]
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            await stream.pieces.aclose()

    async def _refuse(self, scope: Scope, send: Send, error: Exception) -> int:
        answer = self._refusing(error, scope["method"], scope["path"])
        try:
            await send_answer(send, answer)
        except RuntimeError as late:  # an answer had begun
            tell_error("an answer broke off", late, path=scope["path"][:200])
        return answer.status

    @staticmethod
    def _refusing(error: Exception, method: str, path: str) -> Answer:
        refused = refusal(error, conflict=422 if path.endswith("/decisions") else 409)
        if refused is None:
            tell_error("internal error", error, path=path[:200], method=method)
            refused = Refused(500, "an error of the service; its log has the details", kind="Ours")
        return Answer.refusing(refused)

    def _count(self, method: str, path: str | bytes, status: int, started: float) -> None:
        if status:
            self._service.measures.answered(status)
        if self._service.settings.log_requests:
            shown = path if isinstance(path, str) else path.decode("ascii")
            tell(
                "request", method=method, path=shown[:200], status=status,
                milliseconds=round((time.perf_counter() - started) * 1000, 3),
            )  # fmt: skip

    @staticmethod
    def _audit(route: Route, exchange: Exchange, answer: Answer) -> None:
        if route.role is Role.ADMIN and answer.status < 300:
            body = exchange.body[:1000].decode("utf-8", "replace")
            path = exchange.scope["path"][:200]
            tell("changed", by=exchange.known.name, method=route.method, path=path, body=body)


async def _left(receive: Receive) -> None:
    """Wait until the client leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_file(send: Send, headers: dict[bytes, bytes], file: StaticFile) -> int:
    tags = headers.get(b"if-none-match", b"")
    known = any(tag.strip().removeprefix(b"W/") in (file.etag, b"*") for tag in tags.split(b","))
    extra = ((b"etag", file.etag), *_PAGE_HEADERS)
    status, body = (304, b"") if tags and known else (200, file.content)
    lines = [(b"content-type", file.kind), *extra]
    if status == 200:
        lines.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})
    return status
