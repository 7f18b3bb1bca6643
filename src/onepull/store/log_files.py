"""Logs as files for other programs: one event a line in JSON, or a table in Parquet."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from onepull.atomic_files import path_of
from onepull.errors import MissingExtra, ParameterError, StoreError
from onepull.store.events import Event, from_json
from onepull.store.store import Store

ROWS = 20_000  # written to Parquet at once
LINE_FILES = (".ndjson", ".jsonl")
PARQUET = ".parquet"
TEXTS = ("problem", "event", "id", "arm", "mode", "choice", "reason", "key", "by")
NUMBERS = ("time", "chance", "estimate", "expires_at", "reward")
FLAGS = ("failed", "late", "counts")
JSON_COLUMNS = ("context", "state")  # as JSON, since each problem has fields of its own


def export_log(
    store: Store, path: str | os.PathLike[str], problems: Sequence[str] | None = None
) -> int:
    """Write the events of a log to a new file, in order; return how many.

    The name tells the format: `.ndjson` or `.jsonl` for one event a line in JSON, `.parquet` for a
    table, whose column `body` holds the whole event in JSON.

    Parameters
    ----------
    problems
        The names of the problems; all by default.
    """
    target = path_of(path)
    kind = format_of(target)
    if target.exists():
        raise StoreError(f"{target} exists; give the name of a new file")
    events = in_order(store, problems)
    with _whole(target) as part:
        return _write_parquet(part, events) if kind == PARQUET else _write_lines(part, events)


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; the file is renamed when it is complete on disk."""
    part = target.with_name(f".{target.name}.part")
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as error:
        raise StoreError(f"{target}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)


def _write_lines(part: Path, events: Iterable[Any]) -> int:
    count = 0
    with part.open("wb") as file:
        for count, event in enumerate(events, start=1):  # noqa: B007 - the number of events
            file.write(line_of(event))
    return count


def import_log(store: Store, path: str | os.PathLike[str]) -> int:
    """Append the events of a file to a log that has none of its problems; return how many.

    All of them are stored or none.  The file must hold the log from its first event on.
    """
    source = path_of(path)
    kind = format_of(source)
    try:
        events = _read_parquet(source) if kind == PARQUET else list(_read_lines(source))
    except OSError as error:
        raise StoreError(f"{source}: {error.strerror or error}") from None
    present = set(store.problems())
    seen: set[str] = set()
    for i, event in enumerate(events, start=1):
        if event.problem in present:
            raise StoreError(
                f"the log has events of {event.problem!r} already; import into a new one"
            )
        if event.problem not in seen and type(event).__name__ != "Defined":
            raise StoreError(
                f"{source}: event {i} is the first of {event.problem!r} and not its definition, so "
                "the file is not a whole log; use a backup instead"
            )
        seen.add(event.problem)
    store.append(events)
    return len(events)


def in_order(store: Store, problems: Sequence[str] | None = None) -> Iterator[Any]:
    """Yield the events of some or all problems in the order of the log."""
    known = store.problems()
    names = known if problems is None else list(problems)
    for name in names:
        if name not in known:
            raise ParameterError(
                f"the log has no problem {name!r}; its problems are {', '.join(known) or 'none'}"
            )
    return heapq.merge(*(store.events(name) for name in names), key=lambda event: event.seq)


def line_of(event: Event) -> bytes:
    r"""Return an event as one line of JSON.

    >>> from onepull.store import Paused
    >>> line_of(Paused(seq=7, time=1.0, problem="default", arm="wifi"))
    b'{"event":"paused","seq":7,"time":1.0,"problem":"default","arm":"wifi"}\n'
    """
    return msgspec.json.encode(event) + b"\n"


def format_of(path: Path) -> str:
    """Return the format by a file's name; raises ParameterError if it is unknown.

    >>> format_of(Path("log.parquet"))
    '.parquet'
    """
    suffix = path.suffix.lower()
    if suffix not in (*LINE_FILES, PARQUET):
        raise ParameterError(
            f"the name must end in .ndjson, .jsonl or .parquet, given {path.name!r}"
        )
    return suffix


def _read_lines(source: Path) -> Iterator[Any]:
    with source.open("rb") as file:
        yield from _events(file, f"{source}, line")


def _events(texts: Iterable[Any], where: str) -> Iterator[Any]:
    for i, text in enumerate(texts, start=1):
        try:
            yield from_json(text if isinstance(text, (str, bytes)) else "")
        except StoreError as error:
            raise StoreError(f"{where} {i}: {error}") from None


def _read_parquet(source: Path) -> list[Any]:
    try:
        bodies = _parquet().read_table(source)["body"].to_pylist()
    except (ValueError, KeyError) as error:
        raise StoreError(f"{source} is not an exported log: {error}") from None
    return list(_events(bodies, f"{source}, row"))


def _parquet() -> Any:
    try:
        return import_module("pyarrow.parquet")
    except ImportError:
        raise MissingExtra("Parquet files need pyarrow: pip install pyarrow") from None


def _write_parquet(part: Path, events: Iterable[Any]) -> int:
    parquet, arrow = _parquet(), import_module("pyarrow")
    columns = [
        ("seq", arrow.int64()),
        *((name, arrow.string()) for name in TEXTS),
        *((name, arrow.float64()) for name in NUMBERS),
        *((name, arrow.bool_()) for name in FLAGS),
        *((name, arrow.string()) for name in (*JSON_COLUMNS, "body")),
    ]
    schema = arrow.schema(columns)
    count = 0
    with parquet.ParquetWriter(part, schema) as writer:
        rows: list[dict[str, Any]] = []
        for event in events:
            rows.append(_row(event))
            if len(rows) == ROWS:
                writer.write_table(arrow.Table.from_pylist(rows, schema))
                count += len(rows)
                rows = []
        writer.write_table(arrow.Table.from_pylist(rows, schema))
        return count + len(rows)


def _row(event: Event) -> dict[str, Any]:
    told = {name: getattr(event, name, None) for name in (*TEXTS, *NUMBERS, *FLAGS)}
    if isinstance(told["reward"], str):  # a formula, which `body` has
        told["reward"] = None
    parts = {
        name: None if value is None else msgspec.json.encode(value).decode()
        for name in JSON_COLUMNS
        if (value := getattr(event, name, None)) is not None
    }
    kind = type(event).__name__.lower()
    return {**told, **parts, "seq": event.seq, "event": kind, "body": line_of(event).decode()}
