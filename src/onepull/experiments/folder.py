"""Result folders: finished replications on disk, so that an interrupted run can be resumed."""

from __future__ import annotations

import os
import platform
import re
from abc import ABC
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, NoReturn, Self, TypeVar

import msgspec
import numpy as np

import onepull
from onepull.atomic_files import write
from onepull.errors import OnepullError, ProblemError
from onepull.experiments.differences import differences, summarised
from onepull.experiments.fingerprint import NOT_IN_FINGERPRINT
from onepull.experiments.stated_experiment import StatedExperiment
from onepull.experiments.toml_reading import Document

MOST_FILES = 3  # damaged files to name
BLOCK = re.compile(r"(\d+)-(\d+)\.npz")


class About(msgspec.Struct):
    """The contents of about.json: what started a result folder."""

    name: str
    fingerprint: str
    seed: int
    onepull: str
    python: str
    numpy: str
    numba: str


Kind = TypeVar("Kind", bound=StatedExperiment[Any])


class Folder(ABC, Generic[Kind]):
    """The folder of one experiment, of any kind.

    A folder holds one experiment, run by one version of onepull.  Replications may be added;
    any other change is refused, with the keys that changed.

    Attributes
    ----------
    path, experiment
        Where it is, and what it holds.
    remarks
        What a reader of the last `result` must know of replications that it lacks.
    damage
        What it lacks because files are damaged, in a sentence; empty if nothing.
    repaired
        What the last `run` ran again because files were damaged; empty if nothing.
    """

    _kind: type[Kind]

    def __init__(self, path: str | Path, experiment: Kind) -> None:
        self.path = Path(path)
        self.experiment = experiment
        self.remarks: list[str] = []
        self.damage = self.repaired = ""
        if (begun := self._begun()) is not None:
            self._check(begun)
        elif self.path.exists() and (not self.path.is_dir() or self._is_foreign()):
            raise ProblemError(f"{self.path}: is not empty and not a result folder")

    def _is_foreign(self) -> bool:
        # A run that was killed while writing its first file leaves a hidden temporary file.
        return any(not file.name.startswith(".about.json.") for file in self.path.iterdir())

    def _begun(self) -> About | None:
        about = self.path / "about.json"
        if not about.exists():
            return None
        try:
            return msgspec.json.decode(about.read_bytes(), type=About)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ProblemError(f"{about}: damaged: {error}") from None

    def _check(self, begun: About) -> None:
        if begun.fingerprint != self.experiment.fingerprint:
            raise ProblemError(
                f"{self.path}: holds the results of another experiment ({begun.name!r}): "
                f"{self._changes(begun)}; choose another folder with --out, or delete this one"
            )

    def _changes(self, begun: About) -> str:
        """Return how the experiment differs from the one that the folder holds."""
        written = self.experiment.written
        try:
            document = Document.read(self.path / "experiment.toml")
            stored = msgspec.convert(document.values, type(written))
        except (ProblemError, msgspec.ValidationError):
            return "its experiment.toml is missing, damaged or of another kind"
        old, new = (
            msgspec.to_builtins(msgspec.structs.replace(one, **NOT_IN_FINGERPRINT))
            for one in (stored, written)
        )
        if found := differences(old, new):
            return summarised(found)
        if begun.onepull != onepull.__version__:
            return (
                "its file is the same, but a trace has changed since, or onepull "
                f"{begun.onepull}, which began it, differs from {onepull.__version__}"
            )
        return "its file is the same, but the contents of its traces have changed since"

    def _check_version(self, begun: About) -> None:
        """Refuse to add replications to those of another version; reading them is allowed."""
        if begun.onepull != onepull.__version__:
            raise ProblemError(
                f"{self.path}: was begun by onepull {begun.onepull}, and this is "
                f"{onepull.__version__}; results of different versions are not mixed; "
                "choose another folder"
            )

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open the folder of an experiment that has been run."""
        return cls.from_document(experiment_file(path))

    @classmethod
    def from_document(cls, document: Document) -> Self:
        """Open the folder whose experiment.toml is already read."""
        path = document.path.parent
        origin = path / "origin.txt"
        try:
            # Relative to the result folder, so that both can be moved together.
            traces = path / (origin.read_text(encoding="utf-8") if origin.exists() else "")
        except UnicodeDecodeError:
            raise ProblemError(f"{origin}: damaged: not a text file in UTF-8") from None
        return cls(path, cls._kind.from_document(document, traces=traces, name=_name_of(path)))

    def prepare(self, origin: Path | None = None) -> None:
        """Create the folder and write about.json and experiment.toml.

        Parameters
        ----------
        origin
            The folder that paths of traces in the experiment are relative to.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        if (begun := self._begun()) is not None:
            self._check_version(begun)
        else:
            about = msgspec.json.format(msgspec.json.encode(self._about()))
            self.write("about.json", about + b"\n")
        self.write("experiment.toml", self.experiment.text.encode())
        if origin is not None:
            self.write("origin.txt", _relative(origin.resolve(), self.path.resolve()).encode())
        (self.path / "blocks").mkdir(exist_ok=True)

    def _about(self) -> About:
        return About(
            name=self.experiment.name,
            fingerprint=self.experiment.fingerprint,
            seed=self.experiment.simulation.seed,
            onepull=onepull.__version__,
            python=platform.python_version(),
            numpy=np.__version__,
            numba=version("numba"),
        )

    def write(self, name: str, contents: bytes) -> None:
        """Write a file of the folder atomically."""
        target = self.path / name
        try:
            write(target, contents)
        except OSError as error:
            raise OnepullError(f"{target}: cannot be written: {error.strerror}") from None

    def _refuse(self, damaged: Sequence[Path]) -> NoReturn:
        """Raise ProblemError: there is no result to show."""
        if damaged:
            raise ProblemError(f"{self.path}: all blocks are damaged; run it again")
        raise ProblemError(f"{self.path}: no replication is done yet; run it")

    def _files(self) -> list[tuple[int, int, Path]]:
        folder = self.path / "blocks"
        names = [(BLOCK.fullmatch(f.name), f) for f in folder.iterdir()] if folder.exists() else []
        return sorted((int(m[1]), int(m[2]), f) for m, f in names if m)

    def _remark(self, done: int, lost: Sequence[tuple[int, Path]]) -> None:
        """Set `remarks` and `damage`.

        Parameters
        ----------
        done
            How many replications there are.
        lost
            The damaged files, each with the number of replications that are in no other file.
        """
        self.damage, self.remarks = "", []
        count, to_do = sum(count for count, _ in lost), self.experiment.replications - done
        if lost:
            files = named_files([file for _, file in lost])
            self.damage = f"{_runs_are(count)} missing, damaged: {files}; run it again"
            self.remarks.append(f"{self.damage}.")
        if to_do > count:
            self.remarks.append(f"{_runs_are(to_do - count)} not done yet.")


def experiment_file(path: str | Path) -> Document:
    """Read the experiment.toml of a result folder."""
    file = Path(path) / "experiment.toml"
    if not file.exists():
        raise ProblemError(f"{path}: is not a result folder (it has no experiment.toml)")
    return Document.read(file)


def _runs_are(count: int) -> str:
    return "1 replication is" if count == 1 else f"{count:,} replications are"


def named_files(files: Sequence[Path]) -> str:
    """Return the names of files of a result folder; of many, the first.

    >>> named_files([Path(f"results/blocks/{i}-{i + 1}.npz") for i in range(5)])
    'blocks/0-1.npz, blocks/1-2.npz, blocks/2-3.npz and 2 more'
    """
    names = [f"{file.parent.name}/{file.name}" for file in files[:MOST_FILES]]
    rest = len(files) - len(names)
    return ", ".join(names) + (f" and {rest:,} more" if rest else "")


def _relative(target: Path, start: Path) -> str:
    try:
        return Path(os.path.relpath(target, start)).as_posix()
    except ValueError:  # on another drive
        return str(target)


def _name_of(path: Path) -> str:
    """Return the name in about.json, or the name of the folder if it cannot be read."""
    try:
        return msgspec.json.decode((path / "about.json").read_bytes(), type=About).name
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return path.name
