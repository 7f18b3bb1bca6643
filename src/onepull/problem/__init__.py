"""A problem: the arms, the spaces of contexts and states, and the known reward."""

from onepull.problem.problem import Problem, given_problem
from onepull.problem.toml_text import toml_values

__all__ = ["Problem", "given_problem", "toml_values"]
