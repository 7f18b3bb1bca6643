"""Batches of observations: columns in, rows out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from onepull.errors import InputError


def columns_of(given: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the columns as lists; raises InputError unless all have the same length."""
    columns = {name: _column(name, values) for name, values in given.items()}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"all columns must have the same length, given {shown}")
    return columns


def _column(name: str, values: Any) -> list[Any]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(f"{name} takes a column of values, given {values!r}")
    return list(values)


def rows(columns: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of columns of the same length as dictionaries by column name."""
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))
