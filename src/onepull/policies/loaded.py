"""What became of a saved policy that was loaded into a problem that has changed."""

from __future__ import annotations

import msgspec

from onepull.checks import some
from onepull.problem import Problem


class Loaded(msgspec.Struct, frozen=True):
    """How a problem differs from that of the saved policy, and what was kept.

    Attributes
    ----------
    trials
        The number of observations that were kept.
    spaces
        The fields whose values have changed: what they were and what they are.
    added
        The arms of the problem that the saved policy does not have; they were never pulled.
    extra
        The arms of the saved policy that the problem does not have; they were kept.
    changed
        The arms whose attributes have changed; what was seen of them is revalued.
    clipped
        Observations with a state outside the old bounds; they stay at these bounds.
    error
        How far estimates from these observations may be off; 0 if they are exact.

    Examples
    --------
    >>> print(Loaded(1200, {"ttft": ("Interval(0, 30)", "Interval(0, 60)")}, ("gamma",), (), 6))
    kept what was learned from 1,200 observations
    ttft was Interval(0, 30) and is Interval(0, 60)
    added gamma, never pulled
    6 observations were clipped to the old bounds and stay there
    """

    trials: int
    spaces: dict[str, tuple[str, str]]
    added: tuple[str, ...]
    extra: tuple[str, ...]
    clipped: int
    changed: tuple[str, ...] = ()
    error: float = 0.0

    def __bool__(self) -> bool:
        """Whether anything had to change."""
        return bool(self.spaces or self.added or self.changed)

    @property
    def all_spaces(self) -> str:
        """What became of the fields, in one line."""
        return "; ".join(
            f"{name} was {old} and is {new}" for name, (old, new) in self.spaces.items()
        )

    def __str__(self) -> str:
        """Return the account, one line for each change."""
        lines = [f"kept what was learned from {self.trials:,} observations"]
        lines += [f"{name} was {old} and is {new}" for name, (old, new) in self.spaces.items()]
        if self.error:
            lines.append(f"estimates from them may be off by up to {self.error:.6g}")
        if self.changed:
            lines.append(f"revalued {some(self.changed)}, whose attributes have changed")
        if self.added:
            lines.append(f"added {some(self.added)}, never pulled")
        if self.extra:
            lines.append(f"kept {some(self.extra)}, which the problem does not list")
        if self.clipped and self.spaces:
            lines.append(
                f"{self.clipped:,} observations were clipped to the old bounds and stay there"
            )
        return "\n".join(lines)


def changes(old: Problem, new: Problem, trials: int, clipped: int) -> Loaded:
    """Return how a problem differs from the one of a saved policy.

    >>> from onepull import Finite, Interval
    >>> problem = Problem(arms=["a"], state={"x": Interval(0, 1)}, reward="x")
    >>> changes(problem, problem.with_arms(["a", "b"]), 3, 0).added
    ('b',)
    """
    before_arms, after_arms = set(old.arms), set(new.arms)
    return Loaded(
        trials=trials,
        spaces={
            name: (repr(before[name]), repr(after[name]))
            for before, after in ((old.context, new.context), (old.state, new.state))
            for name in before
            if before[name] != after[name]
        },
        added=tuple(arm for arm in new.arms if arm not in before_arms),
        extra=tuple(arm for arm in old.arms if arm not in after_arms),
        clipped=clipped,
        changed=tuple(
            arm for arm, known in old.attributes.items() if new.attributes.get(arm, known) != known
        ),
    )
