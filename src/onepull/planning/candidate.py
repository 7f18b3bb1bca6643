"""A policy that suits a problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from onepull.planning.bounds import Bound
from onepull.policies import (
    Policy,
)
from onepull.problem import Problem

COARSE_ERROR = 0.025  # the largest error of estimates to accept, as a share of the reward's range


@dataclass(frozen=True, slots=True)
class Candidate:
    """A policy that suits a problem.

    Attributes
    ----------
    kind
        The name of the policy's class, or of its factorisation.  Candidates of one kind make
        one curve in the figure.
    label
        Tells it from others of its kind.
    build
        Returns a fresh policy.
    bound
        From a horizon to a bound on its regret; None if there is no bound.
    learns_rewards
        Whether it observes the context and the reward instead of the state.
    settled
        From a horizon to a policy of the size it has grown to by then, for timing.
    caution
        What to know before using it.
    is_linear
        Whether its regret may grow linearly, however slowly.  Then a simulation says nothing
        about the trials after it.
    is_announced
        Whether it is told of each pull, so that it counts pulls in flight.
    is_recommended
        Whether it is what `recommended` returns.
    leads
        Whether it stands for its kind.  If feedback is late, it is also tried told of pulls.
    is_extra
        Whether it is offered for this environment only.  Then it is left out if it would take
        long to simulate.
    """

    kind: str
    label: str
    build: Callable[[], Policy]
    bound: Bound | None
    learns_rewards: bool = False
    settled: Callable[[int], Policy] | None = None
    caution: str = ""
    is_linear: bool = False
    is_announced: bool = False
    is_recommended: bool = False
    leads: bool = False
    is_extra: bool = False

    @property
    def name(self) -> str:
        """Its name in the plan."""
        return f"{self.kind} {self.label}".strip()

    def at(self, trial: int) -> Policy:
        """Return a policy with the storage that it has at a trial."""
        return self.build() if self.settled is None else self.settled(trial)


def is_coarse(problem: Problem, error: float) -> bool:
    """Whether an error of estimates is too large a share of the reward's range.

    >>> from onepull.environment import channel_selection
    >>> is_coarse(channel_selection().problem, 0.2)   # where rewards go from 0 to 4
    True
    """
    low, high = problem.payoff.whole_range
    return error > COARSE_ERROR * (high - low)
