"""One request and its answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import parse_qs

import msgspec

from onepull.service.http.problem_details import MEDIA_TYPE, Refused
from onepull.service.keys import KeyHolder

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]

JSON = b"application/json"
CLOSE_CONNECTION = ((b"connection", b"close"),)
MOST_QUERY_FIELDS = 100
# Answers are about the moment, and are what they say they are.
COMMON_HEADERS: Headers = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]


class Gone(Exception):  # noqa: N818 - reads as what happened
    """The client has left; there is nobody to answer."""


class Answer(msgspec.Struct, frozen=True):
    """What is sent back.

    Examples
    --------
    >>> Answer(b"{}").status
    200
    """

    body: bytes
    status: int = 200
    kind: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()

    @classmethod
    def of(cls, value: Any, status: int = 200, **headers: str) -> Answer:
        """Return a value as JSON, in which infinite numbers are null.

        >>> Answer.of({"index": float("inf")}, etag='"1"').body
        b'{"index":null}'
        """
        lines = tuple((n.replace("_", "-").encode(), v.encode()) for n, v in headers.items())
        return cls(msgspec.json.encode(value), status, JSON, lines)

    @classmethod
    def refusing(cls, refused: Refused) -> Answer:
        """Return an error as RFC 9457 describes it."""
        body = msgspec.json.encode(refused.details)
        return cls(body, refused.details.status, MEDIA_TYPE, refused.headers)


class Stream(msgspec.Struct, frozen=True):
    """What is sent back piece by piece."""

    pieces: AsyncGenerator[bytes, None]
    kind: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Exchange:
    """A request as a handler sees it.

    Attributes
    ----------
    headers
        Its headers by their name in small letters.
    names
        The variable parts of its path, such as the name of a problem.
    known
        Whose key it has.
    body
        Its body.
    """

    def __init__(
        self, scope: Scope, headers: dict[bytes, bytes], names: dict[str, str], known: KeyHolder
    ) -> None:
        self.scope = scope
        self.headers = headers
        self.names = names
        self.known = known
        self.body = b""

    @property
    def query(self) -> dict[str, list[str]]:
        """The fields of the query."""
        text = self.scope["query_string"]
        try:
            return parse_qs(
                text.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_QUERY_FIELDS,
                errors="strict",
            )  # fmt: skip
        except (ValueError, UnicodeDecodeError):
            raise Refused(400, "the query cannot be read", kind="InvalidQuery") from None

    def number(self, name: str, default: float, least: float, most: float) -> float:
        """Return a number of the query."""
        given = self.query.get(name)
        if given is None:
            return default
        try:
            value = float(given[-1])
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            detail = f"{name} must be a number from {least:g} to {most:g}, given {given[-1][:60]!r}"
            raise Refused(422, detail, kind="InvalidQuery", field=name)
        return value

    def whole(self, name: str, default: int, least: int, most: int) -> int:
        """Return a whole number of the query."""
        given = self.query.get(name)
        if given is None:
            return default
        text = given[-1]
        if not (text.isascii() and text.isdigit() and len(text) < 20) or not (
            least <= int(text) <= most
        ):
            detail = f"{name} must be a whole number from {least} to {most}, given {text[:60]!r}"
            raise Refused(422, detail, kind="InvalidQuery", field=name)
        return int(text)


def check_length(headers: dict[bytes, bytes], limit: int) -> None:
    """Refuse a body that says that it is too long; one without a length is counted."""
    declared = headers.get(b"content-length")
    if declared is not None and int(declared) > limit:
        raise too_long(limit)


def too_long(limit: int) -> Refused:
    """Return the refusal of a body that is too long."""
    return Refused(
        413, f"a body may have at most {limit:,} bytes", kind="TooLong", headers=CLOSE_CONNECTION
    )


async def read_body(receive: Receive, headers: dict[bytes, bytes], limit: int) -> bytes:
    """Return the whole body; raises Refused if it is too long, and Gone if the client leaves."""
    check_length(headers, limit)
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Gone
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        if len(body) > limit:
            raise too_long(limit)
        return body
    parts, length = [body], len(body)
    while message.get("more_body", False):
        if length > limit:
            raise too_long(limit)
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        parts.append(message.get("body", b""))
        length += len(parts[-1])
    if length > limit:
        raise too_long(limit)
    return b"".join(parts)


def head_of(answer: Answer) -> Headers:
    """Return the headers of an answer."""
    length = (b"content-length", str(len(answer.body)).encode())
    headers = [(b"content-type", answer.kind), length, *answer.headers]
    if not any(name == b"cache-control" for name, _ in answer.headers):
        headers += COMMON_HEADERS
    return headers


async def send_answer(send: Send, answer: Answer) -> None:
    """Send an answer."""
    start = {"type": "http.response.start", "status": answer.status, "headers": head_of(answer)}
    await send(start)
    await send({"type": "http.response.body", "body": answer.body})
