"""Experiment files, result folders, and the paper's own experiments."""

from onepull.experiments.experiment import Experiment
from onepull.experiments.folder import ResultFolder

__all__ = ["Experiment", "ResultFolder"]
