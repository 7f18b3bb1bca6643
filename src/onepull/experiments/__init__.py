"""Experiment files, result folders, and the paper's own experiments."""

from onepull.experiments.experiment import Experiment
from onepull.experiments.folder import ResultFolder
from onepull.experiments.stored import StoredExperiment
from onepull.experiments.stored_folder import StorageFolder

__all__ = ["Experiment", "ResultFolder", "StorageFolder", "StoredExperiment"]
