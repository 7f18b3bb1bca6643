"""Laws on finitely many points: given explicitly, sampled from a trace, or replayed in order."""

from __future__ import annotations

import csv
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Self

import numpy as np

from onepull.arrays import Array
from onepull.checks import shown
from onepull.distributions.distribution import Distribution
from onepull.errors import MissingExtra, ParameterError
from onepull.spaces import Box, Space

MOST_SHOWN_VALUES = 16


class Discrete(Distribution):
    """Finitely many states with their probabilities.

    A state is a number or a word or, with several fields, a row of them.

    >>> Discrete([0, 3], [0.5, 0.5]).expectation(lambda x: np.minimum(2.0, x))
    1.0
    >>> Discrete([["eu", 3], ["us", 5]], [0.5, 0.5])
    Discrete([['eu', 3.0], ['us', 5.0]], [0.5, 0.5])
    """

    is_recorded = False  # whether it was read from a file

    def __init__(
        self, values: Sequence[Any] | Array, probabilities: Sequence[float] | Array
    ) -> None:
        try:
            rows, self.words = _numbered(values)
            weights = np.array(probabilities, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ParameterError(
                f"Discrete takes states of equal length and numbers as probabilities, "
                f"given {shown(values)} and {shown(probabilities)}"
            ) from None
        rows = rows[:, None] if rows.ndim == 1 else rows
        if rows.ndim != 2 or weights.shape != (len(rows),) or not rows.size:
            raise ParameterError(
                f"Discrete takes one probability per state, given {shown(values)} and "
                f"{shown(probabilities)}"
            )
        if not np.all(np.isfinite(rows)):
            raise ParameterError(f"Discrete takes finite states, given {shown(values)}")
        if not np.all(weights >= 0) or abs(weights.sum() - 1.0) > 1e-9:
            raise ParameterError(
                f"Discrete takes probabilities that sum to 1, given {shown(probabilities)}"
            )
        self.values = rows
        self.probabilities = weights / weights.sum()
        self.fields = rows.shape[1]

    def __repr__(self) -> str:
        """Show states and probabilities; if there are many, their number and a checksum."""
        if len(self.values) > MOST_SHOWN_VALUES or self.is_secret:
            return f"{type(self).__name__}({self._outline()})"
        return f"Discrete({self._written()}, {self.probabilities.tolist()})"

    def _written(self) -> list[Any]:
        """Return the states as they were given."""
        rows: list[list[Any]] = self.values.tolist()
        for place, words in enumerate(self.words):
            for row in rows if words else ():
                row[place] = words[int(row[place])]
        return [row[0] for row in rows] if self.fields == 1 else rows

    def on(self, box: Box) -> Self:
        """Return the law with the numbers that a space gives to words."""
        if not any(self.words) or len(box) != self.fields:
            return self
        twin = copy(self)
        twin.values = self.values.copy()
        for place, (words, (name, space)) in enumerate(zip(self.words, box.items(), strict=True)):
            if words:
                numbers = np.array([self._accepted(space, word, name) for word in words])
                twin.values[:, place] = numbers[self.values[:, place].astype(np.int64)]
        twin.words = tuple(box.words.get(name, ()) for name in box)
        return twin

    def between(self, low: float, high: float) -> tuple[float, Discrete | None]:
        """Return the probability of values from `low` to `high`, and the law given such a value."""
        values = self.values[:, 0]
        kept = (values >= low) & (values <= high) & (self.probabilities > 0)
        mass = float(self.probabilities[kept].sum())
        if not mass:
            return 0.0, None
        return mass, Discrete(values[kept], self.probabilities[kept] / mass)

    def clipped(self, ends: Sequence[tuple[float, float]]) -> Self:
        """Return the law with each field moved to the nearest end of its interval."""
        if self.lies_within(ends):
            return self
        twin = copy(self)
        twin.values = np.clip(self.values, *np.array(ends).T)
        return twin

    def _accepted(self, space: Space, word: str, name: str) -> float:
        try:
            return space.accept(word)
        except (TypeError, ValueError):
            what = "a word" if self.is_secret else repr(word)
            raise ParameterError(f"{name} can be {what}, which is not {space}") from None

    @property
    def is_secret(self) -> bool:
        """Whether it holds words of a file, which no error shows: the file may be no trace."""
        return self.is_recorded and any(self.words)

    def _outline(self) -> str:
        checksum = zlib.crc32(self.values.tobytes() + self.probabilities.tobytes())
        return f"<{len(self.values)} states, checksum {checksum:08x}>"

    @property
    def atoms(self) -> tuple[Array, Array]:
        """The states and their probabilities."""
        return self.values, self.probabilities

    @property
    def support(self) -> list[tuple[float, float]]:
        """The lowest and the highest value of each field."""
        low, high = self.values.min(axis=0), self.values.max(axis=0)
        return list(zip(low.tolist(), high.tolist(), strict=True))

    def expectation(self, function: Callable[..., Array]) -> float:
        """Return the mean of a vectorised function of the fields."""
        return float(np.dot(self.probabilities, function(*self.values.T)))

    def rule(self, nodes: int) -> tuple[Array, Array]:
        """Return the states and probabilities, which are exact for any number of nodes."""
        del nodes
        return self.atoms

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` samples, one per row."""
        return self.values[generator.choice(len(self.values), size, p=self.probabilities)]


def _numbered(values: Any) -> tuple[Array, tuple[tuple[str, ...], ...]]:
    """Return rows of numbers, with the words of each field that has words."""
    try:
        return np.array(values, dtype=np.float64), ()
    except (TypeError, ValueError):
        rows = np.array(values, dtype=object)
    columns = list(rows[:, None].T if rows.ndim == 1 else rows.T)
    words = []
    for place, column in enumerate(columns):
        is_text = [isinstance(value, str) for value in column]
        numbers: dict[str, int] = {}
        if all(is_text):
            columns[place] = np.array([numbers.setdefault(str(w), len(numbers)) for w in column])
        words.append(tuple(numbers))
    return np.column_stack(columns).astype(np.float64), tuple(words)


def scaled_bernoulli(value: float, probability: float) -> Discrete:
    """Return the law that is `value` with the given probability and 0 otherwise.

    >>> scaled_bernoulli(3, 0.5)
    Discrete([3.0, 0.0], [0.5, 0.5])
    """
    return Discrete([value, 0.0], [probability, 1.0 - probability])


class InOrder(Discrete):
    """Points taken one after the other, starting again after the last.

    Use it for a deterministic cycle of contexts, or to replay a trace as recorded.  Means give
    equal weight to every point.

    >>> InOrder([1, 2, 2]).expectation(lambda x: x)
    1.6666666666666665
    """

    in_order = True

    def __init__(self, values: Sequence[Any] | Array) -> None:
        is_list = isinstance(values, Sequence) and not isinstance(values, str)
        if not is_list and not np.ndim(values):
            raise ParameterError(f"InOrder takes a list of points, given {shown(values)}")
        count = max(1, len(values))
        try:
            super().__init__(values, np.full(count, 1.0 / count))
        except ParameterError:
            raise ParameterError(
                "InOrder takes a list of points, each a finite number, a word or a list of them of "
                f"the same length, given {shown(values)}"
            ) from None

    def __repr__(self) -> str:
        """Show the points; if there are many, their number and a checksum."""
        if len(self.values) > MOST_SHOWN_VALUES or self.is_secret:
            return f"InOrder({self._outline()})"
        return f"InOrder({self._written()})"

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return the first `size` points; the generator is not used."""
        del generator
        return np.resize(self.values, (size, self.fields))


def empirical(path: str | Path, columns: Sequence[str], *, in_order: bool = False) -> Discrete:
    """Return the law of the rows of a CSV or Parquet trace.

    Parameters
    ----------
    columns
        The columns of the trace, one for each field, in the order of the fields.
    in_order
        Replay the rows as recorded instead of sampling from them.
    """
    given: Any = columns  # perhaps from a file
    is_list = isinstance(given, Sequence) and not isinstance(given, str) and len(given) > 0
    if not is_list or not all(isinstance(name, str) for name in given):
        raise ParameterError(f"columns takes a list of column names, given {columns!r}")
    found = read_columns(path)
    if not isinstance(in_order, bool):
        raise ParameterError(f"in_order must be true or false, given {in_order!r}")
    listed = [_column(found, name, path) for name in columns]
    rows = list(zip(*listed, strict=True)) if len(listed) > 1 else listed[0]
    law = InOrder(rows) if in_order else Discrete(rows, np.full(len(rows), 1.0 / len(rows)))
    law.is_recorded = True
    return law


def read_columns(path: str | Path) -> Mapping[str, Sequence[Any]]:
    """Return the columns of a CSV or Parquet file by name."""
    file = Path(path)
    if not file.is_file():
        raise ParameterError(f"trace {str(path)!r}: no such file")
    if file.suffix == ".parquet":
        return _read_parquet(file)
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            header, *rows = list(csv.reader(lines)) or [[]]
    except UnicodeDecodeError:
        raise ParameterError(f"trace {str(path)!r}: not a text file in UTF-8") from None
    except csv.Error as error:
        raise ParameterError(f"trace {str(path)!r}: {error}") from None
    _check_header(header, path)
    while rows and not rows[-1]:  # blank lines at the end
        rows.pop()
    return {name: [row[i] if i < len(row) else "" for row in rows] for i, name in enumerate(header)}


def _check_header(header: Sequence[str], path: str | Path) -> None:
    """Refuse two columns of the same name; columns without a name cannot be asked for."""
    places: dict[str, int] = {}
    for place, name in enumerate(header, start=1):
        if name and name in places:
            raise ParameterError(
                f"trace {str(path)!r}: columns {places[name]} and {place} have the same name"
            )
        places[name] = place


def _read_parquet(file: Path) -> Mapping[str, Sequence[Any]]:
    try:
        from pyarrow import parquet  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingExtra("reading Parquet needs pyarrow: pip install pyarrow") from None
    try:
        found = parquet.read_table(file)
    except Exception as error:
        raise ParameterError(f"trace {str(file)!r}: cannot be read as Parquet") from error
    _check_header(found.column_names, file)
    columns: Mapping[str, Sequence[Any]] = found.to_pydict()
    return columns


def _folded(name: Any) -> str:
    return str(name).strip().casefold()


def _column(columns: Mapping[str, Sequence[Any]], name: str, path: str | Path) -> list[Any]:
    # The contents of the file are not shown: it may be no trace, but hold a secret.
    if name not in columns:
        alike = [column for column in columns if _folded(column) == _folded(name)]
        count = f"{len(columns)} column{'s' * (len(columns) != 1)}"
        hint = f"; did you mean {alike[0]!r}?" if alike else f" among its {count}"
        raise ParameterError(f"trace {str(path)!r} has no column {name!r}{hint}")
    if not len(columns[name]):
        raise ParameterError(f"trace {str(path)!r} has no rows below its header")
    numbers = [_number(text) for text in columns[name]]
    words = all(number is None for number in numbers)
    for row, (text, number) in enumerate(zip(columns[name], numbers, strict=True), start=2):
        is_word = isinstance(text, str) and bool(text.strip())
        if not (is_word if words else number is not None and math.isfinite(number)):
            wanted = "a word" if words else "a finite number"
            raise ParameterError(
                f"trace {str(path)!r}, column {name!r}, row {row}: not {wanted}; a column holds "
                "numbers or words, and no cell is empty"
            )
    return list(columns[name]) if words else numbers


def _number(text: Any) -> float | None:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None
