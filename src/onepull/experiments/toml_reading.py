"""Reading TOML files: their text, applications, constructor calls and sweeps."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from onepull.errors import OnepullError, ProblemError
from onepull.experiments.own_code import QUOTED_OWN, look_in
from onepull.problem import toml_values

World = TypeVar("World")


@dataclass(frozen=True, slots=True)
class Document:
    """A TOML file: its path, its text and its decoded values.

    >>> Document(Path("a.toml"), "seed = 1", {"seed": 1}).values
    {'seed': 1}
    """

    path: Path
    text: str
    values: dict[str, Any]

    @classmethod
    def read(cls, path: str | Path) -> Document:
        """Read and decode a file; raises ProblemError with its path if that fails."""
        try:
            text = Path(path).read_text(encoding="utf-8-sig")  # a byte order mark is allowed
        except OSError as error:
            raise ProblemError(f"{path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ProblemError(f"{path}: not a text file in UTF-8; save it as UTF-8") from None
        try:
            return cls(Path(path), text, toml_values(text, "an experiment"))
        except ProblemError as error:
            raise ProblemError(f"{path}: {error}") from None


def with_whole_counts(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a file with whole counts that are written as 1e5 as whole numbers.

    >>> with_whole_counts({"horizon": 1e5, "replications": 2.5})
    {'horizon': 100000, 'replications': 2.5}
    """
    counts = {
        key: int(stated[key])
        for key in ("horizon", "replications")
        if isinstance(stated.get(key), float) and stated[key].is_integer()
    }
    return {**stated, **counts}


class FromToml:
    """A class whose objects are read from TOML: subclasses define `_build`."""

    __slots__ = ()

    @classmethod
    def read(cls, path: str | Path, *, traces: Path | None = None) -> Self:
        """Read a TOML file.

        Parameters
        ----------
        traces
            The folder that paths of traces are relative to; by default the folder of the file.
        """
        return cls.from_document(Document.read(path), traces=traces)

    @classmethod
    def from_toml(cls, text: str, *, folder: Path = Path(), name: str = "experiment") -> Self:
        """Read TOML text; raises ProblemError if it has an unknown key."""
        return cls._build(Document(folder, text, toml_values(text, "an experiment")), folder, name)

    @classmethod
    def from_document(
        cls, document: Document, *, traces: Path | None = None, name: str | None = None
    ) -> Self:
        """Return what a decoded file describes; errors begin with its path."""
        path = document.path
        folder = traces or path.parent
        if QUOTED_OWN.search(document.text):
            look_in(folder)
        try:
            return cls._build(document, folder, name or path.stem)
        except OnepullError as error:
            raise ProblemError(f"{path}: {error}") from None

    @classmethod
    @abstractmethod
    def _build(cls, document: Document, folder: Path, name: str) -> Self:
        """Return what a document describes."""


def application_of(
    written: str | dict[str, Any], among: Mapping[str, Callable[..., World]]
) -> World:
    """Return an application from its name, or from a table with its name and parameters.

    >>> from onepull.environment import channel_selection
    >>> named = {"channel-selection": channel_selection}
    >>> application_of({"name": "channel-selection", "channels": 2}, named).problem.arms
    ('channel 1', 'channel 2')
    """
    stated = {"name": written} if isinstance(written, str) else dict(written)
    name = stated.pop("name", None)
    if not isinstance(name, str) or name not in among:
        raise ProblemError(f"unknown application {name!r}; the applications are {', '.join(among)}")
    world: World = called(f"application {name!r}", among[name], stated)
    return world


def called(what: str, build: Callable[..., Any], stated: Mapping[str, Any], *given: Any) -> Any:
    """Call a constructor with positional arguments and the keys of a table.

    Unknown and missing keys raise a ProblemError that names them.

    >>> from onepull.control import Battery
    >>> called("buffer", Battery, {"capacity": 2, "amounts": [1]})
    Battery(capacity=2, amounts=[1.0])
    >>> called("buffer", Battery, {"capacity": 2, "size": 1})
    Traceback (most recent call last):
    onepull.errors.ProblemError: buffer does not take size; it takes capacity, amounts
    """
    taken = dict(list(inspect.signature(build).parameters.items())[len(given) :])
    if unknown := [key for key in stated if key not in taken]:
        raise ProblemError(
            f"{what} does not take {', '.join(unknown)}; it takes {', '.join(taken) or 'nothing'}"
        )
    if missing := [k for k, v in taken.items() if v.default is v.empty and k not in stated]:
        raise ProblemError(f"{what} needs {', '.join(missing)}")
    try:
        return build(*given, **stated)
    except (OnepullError, TypeError) as error:
        raise ProblemError(f"{what}: {error}") from None
