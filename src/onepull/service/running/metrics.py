"""Durations and counts of the workers, and all metrics as Prometheus reads them."""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from pathlib import Path

BOUNDS = (1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 0.1, 0.5, 2.5)
HISTOGRAMS = ("decide", "commit")
COUNTERS = ("requests_2xx", "requests_3xx", "requests_4xx", "requests_5xx")
_WIDTH = len(BOUNDS) + 2  # the bucket of infinity, and the sum
_FIRST = {name: i * _WIDTH for i, name in enumerate(HISTOGRAMS)}
_SLOT = len(HISTOGRAMS) * _WIDTH + len(COUNTERS)
KIND = b"text/plain; version=0.0.4; charset=utf-8"


class Measures:
    """What the workers of one service have measured, in memory that they share.

    Each worker writes to its own slot, and any of them can tell the sum.  A worker that is started
    again goes on with the counts of its slot, so that no count falls.  The file is as long as the
    number of workers says, whatever happens.

    Examples
    --------
    >>> measures = Measures.alone()
    >>> measures.measured("decide", 4e-5)
    >>> sum(measures.buckets("decide")[0])
    1
    """

    def __init__(self, memory: mmap.mmap, slot: int) -> None:
        self._memory = memory
        self._values = memoryview(memory).cast("d")
        self._first = slot * _SLOT

    @classmethod
    def alone(cls) -> Measures:
        """Return the measures of a service with one worker."""
        return cls(mmap.mmap(-1, _SLOT * 8), 0)

    @classmethod
    def shared(cls, path: Path, workers: int, slot: int) -> Measures:
        """Return the measures of one of several workers."""
        with path.open("r+b") as file:
            return cls(mmap.mmap(file.fileno(), workers * _SLOT * 8), slot)

    @staticmethod
    def make_file(path: Path, workers: int) -> None:
        """Make the file that the workers share."""
        with path.open("wb") as file:
            os.truncate(file.fileno(), workers * _SLOT * 8)

    def measured(self, name: str, seconds: float) -> None:
        """Count a duration."""
        first = self._first + _FIRST[name]
        values = self._values
        values[first + bisect_left(BOUNDS, seconds)] += 1.0
        values[first + _WIDTH - 1] += seconds

    def answered(self, status: int) -> None:
        """Count a request by the status of its answer."""
        self._values[self._first + len(HISTOGRAMS) * _WIDTH + status // 100 - 2] += 1.0

    def buckets(self, name: str) -> tuple[list[int], float]:
        """Return the counts of each bucket and the sum of durations, of all workers."""
        first = _FIRST[name]
        rows = [self._values[slot + first : slot + first + _WIDTH] for slot in self._slots()]
        sums = [sum(column) for column in zip(*rows, strict=True)]
        return [int(count) for count in sums[:-1]], sums[-1]

    def count(self, name: str) -> float:
        """Return a count of all workers."""
        at = len(HISTOGRAMS) * _WIDTH + COUNTERS.index(name)
        return sum(self._values[slot + at] for slot in self._slots())

    def _slots(self) -> range:
        return range(0, len(self._values), _SLOT)

    def close(self) -> None:
        """Let go of the memory."""
        self._values.release()
        self._memory.close()


class Page:
    r"""Metrics as text, each with its help and type.

    Examples
    --------
    >>> page = Page()
    >>> page.add("up", "gauge", "Whether it runs.", [({"arm": 'a"b'}, 1)])
    >>> print(page.text(), end="")
    # HELP onepull_up Whether it runs.
    # TYPE onepull_up gauge
    onepull_up{arm="a\"b"} 1
    """

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(
        self,
        name: str,
        kind: str,
        told: str,
        samples: Iterable[tuple[Mapping[str, str], float]],
    ) -> None:
        """Add a metric with all its samples."""
        self._head(name, kind, told)
        self._lines += [
            f"onepull_{name}{_labels(labels)} {_number(value)}" for labels, value in samples
        ]

    def add_histogram(self, name: str, told: str, counts: list[int], total: float) -> None:
        """Add a histogram of durations."""
        self._head(name, "histogram", told)
        below = 0
        for bound, count in zip((*map(repr, BOUNDS), "+Inf"), counts, strict=True):
            below += count
            self._lines.append(f'onepull_{name}_bucket{{le="{bound}"}} {below}')
        self._lines += [f"onepull_{name}_sum {_number(total)}", f"onepull_{name}_count {below}"]

    def _head(self, name: str, kind: str, told: str) -> None:
        self._lines += [f"# HELP onepull_{name} {told}", f"# TYPE onepull_{name} {kind}"]

    def text(self) -> str:
        """Return the page."""
        return "\n".join([*self._lines, ""])


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_quoted(value)}"' for name, value in labels.items()) + "}"


def _quoted(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(value)
