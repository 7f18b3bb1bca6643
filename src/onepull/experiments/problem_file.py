"""Problem files: an experiment file of which only the problem is required, as for a plan."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from onepull.checks import whole_number
from onepull.environment import Environment
from onepull.errors import ProblemError
from onepull.experiments.experiment import APPLICATIONS, problem_and_environment
from onepull.experiments.own_code import problem_of
from onepull.experiments.toml_reading import Document, FromToml
from onepull.policies.recommendation import FEEDBACK
from onepull.problem import Problem
from onepull.simulation.limits import number_of_trials


@dataclass(frozen=True, slots=True)
class ProblemFile(FromToml):
    """A problem, and its environment, horizon, seed and feedback as far as they are given.

    The file is an experiment file, in which everything but the problem is optional, or a file
    written by `Problem.to_toml`.

    Examples
    --------
    >>> file = ProblemFile.from_toml('''
    ... horizon = 1000
    ... [problem]
    ... arms = ["near", "far"]
    ... context = {bits = [1, 2]}
    ... state = {capacity = {low = 0, high = 4}}
    ... reward = "min(bits, capacity)"
    ... ''')
    >>> file.problem.arms, file.horizon, file.environment, file.feedback
    (('near', 'far'), 1000, None, 'state')
    """

    name: str
    problem: Problem
    environment: Environment | None = None
    horizon: int | None = None
    seed: int = 0
    feedback: str = "state"

    @classmethod
    def _build(cls, document: Document, folder: Path, name: str) -> ProblemFile:
        stated = document.values
        if "arms" in stated:  # written by `Problem.to_toml`
            return cls(name, problem_of(stated))
        problem, environment = problem_and_environment(stated, folder)
        feedback = stated.get("feedback", "state")
        if feedback not in FEEDBACK:
            raise ProblemError(f"feedback must be {' or '.join(FEEDBACK)}, given {feedback!r}")
        number_of_trials(stated.get("horizon", 1))
        return cls(
            stated.get("name") or name,
            problem,
            environment,
            stated.get("horizon"),
            whole_number("seed", stated.get("seed", 0), least=0, most=None),
            feedback,
        )

    @classmethod
    def of_application(cls, name: str) -> ProblemFile:
        """Return the problem and environment of an application.

        >>> ProblemFile.of_application("offloading").problem.arms
        ('edge', 'neighbour', 'regional', 'cloud')
        """
        environment = APPLICATIONS[name]()
        return cls(name, environment.problem, environment)
