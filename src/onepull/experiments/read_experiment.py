"""Read an experiment file, a problem file or a result folder of any kind, decoding it once."""

from __future__ import annotations

from pathlib import Path

from onepull.experiments.buffer_experiment import BufferExperiment, BufferProblemFile, has_buffer
from onepull.experiments.buffer_folder import BufferFolder
from onepull.experiments.experiment import Experiment
from onepull.experiments.folder import experiment_file
from onepull.experiments.problem_file import ProblemFile
from onepull.experiments.result_folder import ResultFolder
from onepull.experiments.toml_reading import Document


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
    document = Document.read(path)
    if has_buffer(document.values):
        return BufferExperiment.from_document(document)
    return Experiment.from_document(document)


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
    document = Document.read(path)
    if has_buffer(document.values):
        return BufferProblemFile.from_document(document)
    return ProblemFile.from_document(document)


def open_result_folder(path: str | Path) -> ResultFolder | BufferFolder:
    """Open a result folder: a `ResultFolder`, or a `BufferFolder` if it has a buffer.

    Examples
    --------
    >>> open_result_folder("nowhere")
    Traceback (most recent call last):
    onepull.errors.ProblemError: nowhere: is not a result folder (it has no experiment.toml)
    """
    document = experiment_file(path)
    if has_buffer(document.values):
        return BufferFolder.from_document(document)
    return ResultFolder.from_document(document)
