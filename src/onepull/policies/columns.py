"""Batches of observations: columns in, rows out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from onepull.errors import InputError


def column(name: str, values: Any) -> list[Any]:
    """Return a column as a list, refusing what is not one."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(f"{name} takes a column of values, given {values!r}")
    return list(values)


def rows(columns: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of columns of one length, each by name."""
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))
