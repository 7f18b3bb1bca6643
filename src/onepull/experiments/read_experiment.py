"""Read an experiment file, a problem file or a result folder of any kind, decoding it once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from onepull.experiments.buffer_experiment import BufferExperiment, BufferProblemFile, has_buffer
from onepull.experiments.buffer_folder import BufferFolder
from onepull.experiments.experiment import Experiment
from onepull.experiments.folder import experiment_file
from onepull.experiments.problem_file import ProblemFile
from onepull.experiments.result_folder import ResultFolder
from onepull.experiments.toml_reading import Document

Plain = TypeVar("Plain")
Buffered = TypeVar("Buffered")


def read_experiment(path: str | Path) -> Experiment | BufferExperiment:
    """Read an experiment file: an `Experiment`, or a `BufferExperiment` if it has a buffer.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "channels.toml"
    ...     _ = file.write_text('''
    ... application = "channel-selection"
    ... horizon = 1000
    ... replications = 20
    ... policies = [{policy = "DCB"}]
    ... ''')
    ...     experiment = read_experiment(file)
    >>> type(experiment).__name__, experiment.name
    ('Experiment', 'channels')
    """
    return _of_kind(Document.read(path), Experiment.from_document, BufferExperiment.from_document)


def read_problem_file(path: str | Path) -> ProblemFile | BufferProblemFile:
    """Read a file of which only the problem is required, as for a plan.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "backlog.toml"
    ...     _ = file.write_text('application = "metered-backlog"')
    ...     problem = read_problem_file(file)
    >>> type(problem).__name__, problem.name
    ('BufferProblemFile', 'backlog')
    """
    return _of_kind(Document.read(path), ProblemFile.from_document, BufferProblemFile.from_document)


def open_result_folder(path: str | Path) -> ResultFolder | BufferFolder:
    """Open a result folder: a `ResultFolder`, or a `BufferFolder` if it has a buffer.

    Examples
    --------
    >>> open_result_folder("nowhere")
    Traceback (most recent call last):
    onepull.errors.ProblemError: nowhere: is not a result folder (it has no experiment.toml)
    """
    folders = ResultFolder.from_document, BufferFolder.from_document
    return _of_kind(experiment_file(path), *folders)


def _of_kind(
    document: Document, plain: Callable[[Document], Plain], buffered: Callable[[Document], Buffered]
) -> Plain | Buffered:
    """Return what a document describes, which has a buffer or not."""
    return buffered(document) if has_buffer(document.values) else plain(document)
