"""How a running policy is watched and controlled."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from onepull.checks import pinned, shown
from onepull.errors import ParameterError
from onepull.policies.controls import Controls
from onepull.policies.policy.learning import Learning
from onepull.policies.stats import Stats, stats_of


class Operating(Learning):
    """The part of a policy for those who operate it."""

    @property
    def controls(self) -> Controls:
        """What was asked with `pause`, `pin` and `share`."""
        set_ = self._controls or Controls()
        return Controls(set_.paused, set_.pinned, dict(set_.shares))

    def pause(self, arm: str) -> None:
        """Do not choose an arm until `resume`; what was learned is kept, and it still learns."""
        name = self._arms[self._find(arm)]
        self._control(self.controls.with_paused(name, self._arms, paused=True))

    def resume(self, arm: str) -> None:
        """Choose a paused arm again; ignored if it is not paused."""
        name = self._arms[self._find(arm)]
        self._control(self.controls.with_paused(name, self._arms, paused=False))

    def pin(self, arm: str | msgspec.UnsetType | None = msgspec.UNSET) -> None:
        """Choose this arm for every request, until `pin(None)`; see `Controls`."""
        name = None if pinned(arm) is None else self._arms[self._find(arm)]
        asked = self.controls
        self._control(Controls(asked.paused, name, asked.shares))

    def share(self, arm: str, *, least: float = 0.0, most: float = 1.0) -> None:
        """Give an arm at least and at most these shares of the pulls; see `Controls`.

        Shares of 0 and 1, the defaults, remove the limits.

        >>> from onepull import DCB, Finite, Interval, Problem
        >>> policy = DCB(Problem(
        ...     arms=["a", "b"], context={"y": Finite([1])}, state={"x": Interval(0, 1)},
        ...     reward="x * y",
        ... ))
        >>> policy.observe_many(["a"] * 50 + ["b"] * 50, x=[0.9] * 50 + [0.1] * 50)
        >>> policy.share("b", least=0.2)
        >>> arms = []
        >>> for _ in range(10):
        ...     arms.append(policy.choose(y=1))
        ...     policy.observe(arms[-1], x=0.5)
        >>> "".join(arms)
        'aaaabaaaab'
        """
        name = self._arms[self._find(arm)]
        self._control(self.controls.with_share(name, least, most))

    def stats(self) -> Stats:
        """Return how often each arm was pulled, what became of it, and its mean state."""
        states = [self._knowledge.mean_state(j) for j in self._everyone]
        blurred = [self._knowledge.blurred_fields(j) for j in self._everyone]
        return stats_of(type(self).__name__, self._arms, self._all_counts, states, blurred)

    @property
    def clock(self) -> Callable[[], float] | None:
        """Tells the time of observations for `stats`, such as `time.time`; None by default.

        Times are not saved, so that a save file depends on the observations alone.
        """
        return self._counts.clock

    @clock.setter
    def clock(self, clock: Callable[[], float] | None) -> None:
        if clock is not None and not callable(clock):
            raise ParameterError(
                f"clock must be a function such as time.time, or None, given {shown(clock)}"
            )
        self._counts.keep_times(clock)

    def _control(self, asked: Controls) -> None:
        """Use other controls; shares are counted anew."""
        if asked != self.controls:
            self._controls, self._narrows = asked or None, True
            self._counts.share(anew=bool(asked.shares))
