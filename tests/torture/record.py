"""What was tried so far, kept in a file so that a later run goes on from there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from onepull.atomic_files import write
from torture.area import Outcome


class Tally(msgspec.Struct):
    """The cases of one area so far."""

    next_seed: int = 0
    cases: int = 0
    refused: int = 0
    slowest: float = 0.0
    slowest_seed: int = 0
    seconds: float = 0.0
    failures: dict[str, str] = {}

    def add(self, outcome: Outcome) -> None:
        """Count one case."""
        self.cases += 1
        self.refused += not outcome.accepted and outcome.failure is None
        self.seconds += outcome.seconds
        self.next_seed = max(self.next_seed, outcome.seed + 1)
        if outcome.seconds > self.slowest:
            self.slowest, self.slowest_seed = outcome.seconds, outcome.seed
        if outcome.failure is not None:
            self.failures[str(outcome.seed)] = outcome.failure


@dataclass
class Record:
    """All tallies, and the file that holds them."""

    path: Path
    tallies: dict[str, Tally] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    @classmethod
    def open(cls, path: Path, *, fresh: bool) -> Record:
        """Read the file if there is one."""
        if fresh or not path.exists():
            return cls(path)
        kept: Any = msgspec.json.decode(path.read_bytes(), type=dict[str, Tally])
        return cls(path, kept)

    def of(self, name: str) -> Tally:
        """Return the tally of an area."""
        return self.tallies.setdefault(name, Tally())

    def save(self) -> None:
        """Write the file atomically."""
        with self.lock:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write(self.path, msgspec.json.encode(self.tallies))
