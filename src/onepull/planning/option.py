"""A row of a plan: a candidate with its storage, regret and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onepull.arrays import Array
from onepull.simulation.result import mean_and_error, student
from onepull.theory.numbers_kept import BYTES


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """A candidate at a trial: a row of the plan.

    Attributes
    ----------
    kind, label
        The policy or its factorisation, and what tells it from others of its kind.
    parameters
        The keyword arguments that build it.
    trial
        The trial at which it is measured.
    numbers
        How many numbers it keeps.
    bound
        A bound on its regret; None if there is no bound.
    regrets
        Its simulated regret in each run; None after the simulated trials.
    microseconds
        The time of a decision; None if it was not measured.
    caution
        What to know before using it.
    policy
        The name of the policy's class, if the kind is a factorisation.
    is_linear
        Whether its regret may grow linearly after the simulated trials.
    is_announced
        Whether it is told of each pull, so that it counts pulls in flight.

    Examples
    --------
    >>> import numpy as np
    >>> option = Option("DCB", "", {"epsilon": 0.01}, 1000, 35, 900.0, np.array([9.0, 11.0]))
    >>> option.name, option.bytes, option.regret
    ('DCB', 280, 10.0)
    >>> option.call
    'DCB(problem, epsilon=0.01)'
    """

    kind: str
    label: str
    parameters: dict[str, Any]
    trial: int
    numbers: int
    bound: float | None
    regrets: Array | None
    microseconds: float | None = None
    caution: str = ""
    policy: str = ""
    is_linear: bool = False
    is_announced: bool = False

    @property
    def name(self) -> str:
        """Its name in the plan."""
        return f"{self.kind} {self.label}".strip()

    @property
    def call(self) -> str:
        """The Python call that builds it."""
        stated = [f"{name}={value!r}" for name, value in self.parameters.items()]
        return f"{self.policy or self.kind}({', '.join(['problem', *stated])})"

    @property
    def bytes(self) -> int:
        """Its storage in bytes."""
        return BYTES * self.numbers

    @property
    def regret(self) -> float | None:
        """The mean of the simulated regrets."""
        return None if self.regrets is None else mean_and_error(self.regrets)[0]

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval of that mean; it begins at 0 if it is cut."""
        if self.regrets is None:
            return None
        low, high = mean_interval(self.regrets)
        return 0.0 if self.is_cut else low, high

    @property
    def is_cut(self) -> bool:
        """Whether that interval would go below 0, although no run has a negative regret."""
        if self.regrets is None:
            return False
        return bool(mean_interval(self.regrets)[0] < 0 <= self.regrets.min())

    def to_dict(self) -> dict[str, Any]:
        """Return the option as plain values."""
        low, high = self.interval or (None, None)
        return {
            "name": self.name,
            "policy": self.policy or self.kind,
            "parameters": self.parameters,
            "announced": self.is_announced,
            "trial": self.trial,
            "numbers": self.numbers,
            "bytes": self.bytes,
            "bound": self.bound,
            "regret": self.regret,
            "regret_low": low,
            "regret_high": high,
            "microseconds": self.microseconds,
        }


def mean_interval(values: Array) -> tuple[float, float]:
    """Return the 95 % confidence interval of a mean, by Student's t.

    >>> import numpy as np
    >>> [round(end, 2) for end in mean_interval(np.array([9.0, 10.0, 11.0]))]
    [7.52, 12.48]
    """
    mean, error = mean_and_error(values)
    half = student(len(values)) * error
    return mean - half, mean + half
