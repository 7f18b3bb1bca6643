"""Errors as RFC 9457 describes them: which status, and which words."""

from __future__ import annotations

import re

import msgspec

from onepull.errors import (
    ConflictError,
    FormulaError,
    MissingExtra,
    NotFound,
    OnepullError,
    StoreError,
)
from onepull.html import printable
from onepull.router.spelling import in_json
from onepull.service.http.messages import ProblemDetails

MEDIA_TYPE = b"application/problem+json"
LONGEST_DETAIL = 2000  # characters of a detail
TITLES = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    408: "Request Timeout",
    409: "Conflict",
    412: "Precondition Failed",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    421: "Misdirected Request",
    422: "Unprocessable Content",
    428: "Precondition Required",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    503: "Service Unavailable",
}
_FIELD = re.compile(r"\bfield '([^']+)'")  # as our own messages name a field


class Refused(Exception):  # noqa: N818 - reads as what happened
    """A request that is answered with an error, raised inside the service only.

    >>> Refused(404, "no problem 'x'").details.title
    'Not Found'
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        kind: str = "",
        field: str = "",
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        super().__init__(detail)
        self.details = ProblemDetails(
            f"urn:onepull:error:{kind}" if kind else "about:blank",
            TITLES[status],
            status,
            detail,
            field,
        )
        self.headers = headers


def refusal(error: Exception, *, conflict: int = 409) -> Refused | None:
    """Return the answer to an error that a request caused; None if the fault is ours.

    A repeated id with another body is answered with the status `conflict`.

    >>> from onepull.errors import ContextError
    >>> refusal(ContextError("context field 'bits' is missing")).details
    ProblemDetails(type='urn:onepull:error:ContextError', title='Unprocessable Content', \
status=422, detail="context field 'bits' is missing", field='bits')
    >>> refusal(ContextError("pass relearn=True")).details.detail
    'pass "relearn": true'
    >>> refusal(ZeroDivisionError()) is None
    True
    """
    if isinstance(error, Refused):
        return error
    if isinstance(error, msgspec.DecodeError | RecursionError | UnicodeDecodeError):
        return Refused(400, f"the body is not JSON: {words_of(error)}", kind="NotJSON")
    if not isinstance(error, OnepullError):
        return None
    found = _FIELD.search(str(error))
    words = words_of(error)
    return Refused(
        _status(error, conflict),
        words if isinstance(error, FormulaError) else in_json(words),  # marks stay in their place
        kind=type(error).__name__,
        field=found.group(1) if found else "",
        headers=((b"retry-after", b"1"),) if isinstance(error, StoreError) else (),
    )


def _status(error: OnepullError, conflict: int) -> int:
    if isinstance(error, ConflictError):
        return conflict
    if isinstance(error, NotFound):
        return 404
    if isinstance(error, StoreError):
        return 503
    return 501 if isinstance(error, MissingExtra) else 422


def words_of(error: Exception | str) -> str:
    """Return the message of an error, printable and not too long."""
    text = printable(str(error), keep="\n")
    return text if len(text) <= LONGEST_DETAIL else f"{text[:LONGEST_DETAIL]}…"
