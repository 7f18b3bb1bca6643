"""Messages of the service: one JSON object a line, or plain text for somebody who watches."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any

import msgspec

from onepull.html import printable

LOGGER = logging.getLogger("onepull.service")


class JsonLines(logging.Formatter):
    """Writes a message as one line of JSON.

    Examples
    --------
    >>> record = logging.makeLogRecord({"msg": "listening", "fields": {"port": 1}, "created": 0})
    >>> JsonLines().format(record)
    '{"time":"1970-01-01T00:00:00.000Z","level":"info","message":"listening","port":1}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return a message as a line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{moment}.{int(record.created % 1 * 1000):03d}Z",
            "level": record.levelname.lower().replace("level none", "info"),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


class PlainLines(logging.Formatter):
    """Writes a message as text.

    Examples
    --------
    >>> PlainLines().format(logging.makeLogRecord({"msg": "ready", "fields": {"port": 1}}))
    'onepull: ready port=1'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return a message as a line, with its traceback if it has one."""
        fields = getattr(record, "fields", {})
        told = "".join(f" {name}={printable(str(value))}" for name, value in fields.items())
        text = f"onepull: {printable(record.getMessage())}{told}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def start_logging(how: str) -> None:
    """Write messages to standard error; `how` is "json", "plain" or "auto"."""
    plain = how == "plain" or (how == "auto" and sys.stderr.isatty())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainLines() if plain else JsonLines())
    for name, level in (("onepull.service", logging.INFO), ("uvicorn.error", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False


def tell(message: str, /, level: int = logging.INFO, **fields: Any) -> None:
    """Write a message with its fields."""
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, message, extra={"fields": fields})


def tell_error(message: str, error: BaseException, /, **fields: Any) -> None:
    """Write an error of ours with its traceback."""
    LOGGER.error(message, exc_info=error, extra={"fields": fields})
