"""Experiment files, result folders, and the paper's own experiments."""

from onepull.experiments.buffer_experiment import BufferExperiment
from onepull.experiments.buffer_folder import BufferFolder
from onepull.experiments.experiment import Experiment
from onepull.experiments.result_folder import ResultFolder

__all__ = ["BufferExperiment", "BufferFolder", "Experiment", "ResultFolder"]
