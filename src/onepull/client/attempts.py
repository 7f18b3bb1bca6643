"""Sending a request until it is answered or the time is up; the same for both clients.

Every request can be sent again without harm: decisions and observations carry an id that counts
once, and all other requests set something to a value.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote, urlsplit

import msgspec

from onepull import errors
from onepull.checks import shown
from onepull.errors import OnepullError, ParameterError, ServiceError
from onepull.router.spelling import in_python

AGAIN = frozenset({408, 425, 429, 502, 503, 504})  # the next attempt may go better
FIRST_WAIT, LONGEST_WAIT = 0.05, 2.0  # seconds between attempts
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0  # seconds without attempts after a failure
_luck = random.Random()  # noqa: S311 - spreads retries


class Call(NamedTuple):
    """A request to the service.

    Examples
    --------
    >>> Call.to("llm", "GET", "stats").path
    '/v1/problems/llm/stats'
    """

    method: str
    path: str
    body: bytes | None = None
    query: tuple[tuple[str, str], ...] = ()

    @classmethod
    def to(cls, problem: str, method: str, *parts: str, body: Any = None, query: Any = ()) -> Call:
        """Return a request about a problem."""
        path = "/".join(["/v1/problems", *(quote(part, safe="") for part in (problem, *parts))])
        return cls(method, path, None if body is None else msgspec.json.encode(body), tuple(query))


def address(url: Any) -> str:
    """Return the full address of a service; raises ParameterError if it is not valid.

    >>> address("127.0.0.1:8000"), address("https://router.example/"), address("localhost")
    ('http://127.0.0.1:8000', 'https://router.example', 'http://localhost')
    >>> address("ftp://router")
    Traceback (most recent call last):
    onepull.errors.ParameterError: url must be an address such as http://127.0.0.1:8000, \
given 'ftp://router'
    """
    text = str(url).strip()
    full = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(full)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_one = False
    if not is_one or any(letter.isspace() for letter in full):
        raise ParameterError(
            f"url must be an address such as http://127.0.0.1:8000, given {shown(url)}"
        )
    return full.rstrip("/")


class Reply(NamedTuple):
    """What came back."""

    status: int
    body: bytes
    retry_after: str | None = None


class Send(NamedTuple):
    """Ask the client to send a request, and to wait this long for the answer."""

    call: Call
    seconds: float


class Wait(NamedTuple):
    """Ask the client to wait."""

    seconds: float


class Keep(NamedTuple):
    """Ask the client to keep observations in its queue, and to deliver them later."""

    bodies: list[dict[str, Any]]


Step: TypeAlias = Send | Wait | Keep
Got: TypeAlias = "Reply | Exception | None"  # what the client sends back
Result = TypeVar("Result")
Steps: TypeAlias = Generator[Step, Got, Result]


class Breaker:
    """Pauses requests to a service that does not answer, for longer each time.

    Requests are answered from the fallback meanwhile, without any delay.

    Examples
    --------
    >>> breaker = Breaker()
    >>> breaker.is_open, breaker.failed(), breaker.is_open
    (False, None, True)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until = 0.0
        self._pause = FIRST_PAUSE

    @property
    def is_open(self) -> bool:
        """Whether no request is sent for now."""
        return self._clock() < self._until

    def failed(self) -> None:
        """Note that the service did not answer."""
        self._until = self._clock() + self._pause * _luck.uniform(0.75, 1.25)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def answered(self) -> None:
        """Note that it did."""
        self._until, self._pause = 0.0, FIRST_PAUSE


def attempts(
    call: Call, budget: float, breaker: Breaker, clock: Callable[[], float] = time.monotonic
) -> Steps[Reply]:
    """Return the reply, after as many attempts as the time allows; raises ServiceError.

    A generator that asks its driver to send and to wait.  The driver sends back the reply, or the
    exception that it got instead.
    """
    if breaker.is_open:
        raise ServiceError("the service did not answer; the client asks it again in some seconds")
    deadline = clock() + budget
    wait, last = FIRST_WAIT, ""
    while (left := deadline - clock()) > 0:
        got = yield Send(call, left)
        if isinstance(got, Reply):
            if got.status not in AGAIN:
                breaker.answered()
                return got
            last, wait = f"status {got.status}", max(wait, _asked_wait(got))
        else:
            last = f"{type(got).__name__}: {got}" if str(got) else type(got).__name__
        pause = min(wait * _luck.uniform(0.5, 1.0), LONGEST_WAIT)
        if clock() + pause >= deadline:
            break
        yield Wait(pause)
        wait *= 2
    breaker.failed()
    raise ServiceError(f"the service did not answer within {budget:g} s ({last or 'no time left'})")


def _asked_wait(reply: Reply) -> float:
    """Return how long the service asks to wait before the next request."""
    text = reply.retry_after or ""
    return float(text) if text.isascii() and text.isdigit() and len(text) < 5 else 0.0


def raise_for(reply: Reply) -> bytes:
    """Return the body of a reply; raises the error that the service names.

    >>> raise_for(Reply(422, b'{"type": "urn:onepull:error:UnknownArm", "detail": "no arm x"}'))
    Traceback (most recent call last):
    onepull.errors.UnknownArm: no arm x
    """
    if reply.status < 300:
        return reply.body
    try:
        details = msgspec.json.decode(reply.body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        details = {}
    raise error_of(details, reply.status)


def error_of(details: dict[str, Any], status: int) -> OnepullError:
    """Return the error that details name, as the library would raise it."""
    name = str(details.get("type", "")).rpartition(":")[2]
    told = in_python(str(details.get("detail") or details.get("title") or f"status {status}"))
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, OnepullError) and name != "FormulaError":
        return kind(told)
    if name == "FormulaError":  # has more arguments than its words
        return errors.ProblemError(told)
    if status in (401, 403):  # waiting would not help, so there is no fallback
        hint = "; pass its key as key=…" if status == 401 else ""
        return errors.InputError(f"the service refused the request: {told}{hint}")
    if status in (400, 413, 415, 422):
        return errors.InputError(told)
    return errors.NotFound(told) if status == 404 else ServiceError(f"{told} (status {status})")
