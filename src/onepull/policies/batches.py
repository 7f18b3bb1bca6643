"""Batches of observations: columns in, rows out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from onepull.checks import shown
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
    if not isinstance(values, (str, bytes)):
        with suppress(TypeError):  # not iterable
            return list(values)
    raise InputError(f"{name} takes a column of values, given {shown(values)}")


def rows(columns: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of columns of the same length as dictionaries by column name."""
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))
