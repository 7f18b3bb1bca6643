"""Bodies of requests: JSON that is read into the type that a route takes."""

from __future__ import annotations

from typing import Any

import msgspec

from onepull.decoding import complaint
from onepull.service.http.problem_details import Refused, words_of


class Body:
    """Reads the bodies of a route.

    Examples
    --------
    >>> Body(dict[str, float]).decode(b'{"a": "b"}')
    Traceback (most recent call last):
    onepull.service.http.problem_details.Refused: 'a' must be a number, given 'b'
    """

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._decode = msgspec.json.Decoder(kind).decode

    def decode(self, body: bytes) -> Any:
        """Return a body as a value; raises Refused if it is not what the route takes."""
        if not body:
            raise Refused(400, "the body is empty; send JSON", kind="NotJSON")
        try:
            return self._decode(body)
        except msgspec.ValidationError as error:
            told = complaint(error, self._kind, _plain(body), table="an object")
            words = told.words if told.path else f"the body {told.words}"
            raise Refused(422, words_of(words), kind="InvalidBody", field=told.path) from None


def _plain(body: bytes) -> Any:
    """Return a body as plain values, UNSET if it is too deep, or a number too large."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return msgspec.UNSET
