"""Batches of observations: columns in, rows out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from onepull.errors import InputError


def columns_of(given: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return columns of one length as lists, refusing what is not that."""
    columns = {name: _column(name, values) for name, values in given.items()}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"the columns must be of one length, given {shown}")
    return columns


def _column(name: str, values: Any) -> list[Any]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(f"{name} takes a column of values, given {values!r}")
    return list(values)


def rows(columns: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of columns of one length, each by name."""
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))
