"""What experiments of any kind have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, Self, TypeVar

from onepull.experiments.toml_reading import Document, FromToml


class Seeded(Protocol):
    """A simulation of any kind."""

    seed: int


Simulated = TypeVar("Simulated", bound=Seeded)


@dataclass(frozen=True, slots=True)
class StatedExperiment(FromToml, Generic[Simulated]):
    """A simulation and its number of replications, read from a file.

    Attributes
    ----------
    name, text
        The name, and the text of the file.
    simulation, replications
        What to run, and how often.
    baseline
        The name of the entry that the others are compared with, if there is one.
    written
        The values in the file.
    """

    name: str
    text: str
    simulation: Simulated
    replications: int
    baseline: str | None
    written: Any = field(repr=False)

    @classmethod
    def _of(cls, document: Document, name: str, written: Any, simulation: Simulated) -> Self:
        """Return the experiment of a document; the name is used if that has none."""
        return cls(
            written.name or name,
            document.text,
            simulation,
            written.replications,
            written.baseline,
            written,
        )

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A digest of everything that a replication depends on, but not of their number."""
