"""Experiment files, result folders, and the paper's own experiments."""

from onepull.experiments.buffer_experiment import StoredExperiment
from onepull.experiments.buffer_folder import StorageFolder
from onepull.experiments.experiment import Experiment
from onepull.experiments.result_folder import ResultFolder

__all__ = ["Experiment", "ResultFolder", "StorageFolder", "StoredExperiment"]
