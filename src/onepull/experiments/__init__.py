"""Experiment files, result folders, and the simulations of the paper."""

from onepull.experiments.buffer_experiment import BufferExperiment
from onepull.experiments.buffer_folder import BufferFolder
from onepull.experiments.experiment import Experiment
from onepull.experiments.read_experiment import (
    open_result_folder,
    read_experiment,
    read_problem_file,
)
from onepull.experiments.result_folder import ResultFolder

__all__ = [
    "BufferExperiment",
    "BufferFolder",
    "Experiment",
    "ResultFolder",
    "open_result_folder",
    "read_experiment",
    "read_problem_file",
]
