"""A brief: as much of an experiment as is known before one is run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from onepull.environment import Environment
from onepull.errors import OnepullError, ProblemError
from onepull.experiments.experiment import APPLICATIONS, setting
from onepull.experiments.toml_reading import decoded, read_text
from onepull.problem import Problem
from onepull.simulation.feedback import FEEDBACK


@dataclass(frozen=True, slots=True)
class Brief:
    """A problem, and what is known of its environment, its horizon and what a pull shows.

    It is read from an experiment file, of which everything but the problem may be left out,
    or from a problem's own file.

    Examples
    --------
    >>> brief = Brief.from_toml('''
    ... horizon = 1000
    ... [problem]
    ... arms = ["near", "far"]
    ... context = {bits = [1, 2]}
    ... state = {capacity = {low = 0, high = 4}}
    ... reward = "min(bits, capacity)"
    ... ''')
    >>> brief.problem.arms, brief.horizon, brief.environment, brief.feedback
    (('near', 'far'), 1000, None, 'state')
    """

    name: str
    problem: Problem
    environment: Environment | None = None
    horizon: int | None = None
    seed: int = 0
    feedback: str = "state"

    @classmethod
    def read(cls, path: str | Path) -> Brief:
        """Read a brief from a TOML file; traces are looked for beside it."""
        file = Path(path)
        text = read_text(file)
        try:
            return cls.from_toml(text, folder=file.parent, name=file.stem)
        except OnepullError as error:
            raise ProblemError(f"{path}: {error}") from None

    @classmethod
    def from_toml(cls, text: str, *, folder: Path = Path(), name: str = "plan") -> Brief:
        """Read a brief from TOML text, refusing unknown keys by name."""
        stated = decoded(text)
        if "arms" in stated:  # as `Problem.to_toml` writes it
            return cls(name, Problem.from_dict(stated))
        problem, environment = setting(stated, folder)
        feedback = stated.get("feedback", "state")
        if feedback not in FEEDBACK:
            raise ProblemError(f"feedback must be {' or '.join(FEEDBACK)}, given {feedback!r}")
        return cls(
            stated.get("name") or name,
            problem,
            environment,
            stated.get("horizon"),
            stated.get("seed", 0),
            feedback,
        )

    @classmethod
    def of_application(cls, name: str) -> Brief:
        """Return the brief of one of the paper's applications.

        >>> Brief.of_application("offloading").problem.arms
        ('edge', 'neighbour', 'regional', 'cloud')
        """
        environment = APPLICATIONS[name]()
        return cls(name, environment.problem, environment)
