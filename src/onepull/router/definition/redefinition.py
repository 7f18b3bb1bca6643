"""What a log keeps of what was learned if it is opened with another problem or policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from onepull.checks import some
from onepull.errors import ParameterError

if TYPE_CHECKING:
    from onepull.router.state.fold import Fold


class Redefinition(msgspec.Struct, frozen=True):
    """What changed when a log was opened with another definition.

    Attributes
    ----------
    changed
        What is different, such as "the reward".
    learned
        How many outcomes the policy had learned.
    kept
        How many of them it knows now.
    removed
        The arms that are gone, with all that was learned about them.
    dropped
        How many outcomes that was.

    Examples
    --------
    >>> print(Redefinition(("the reward",), learned=120, kept=120))
    changed: the reward; all 120 outcomes were kept
    """

    changed: tuple[str, ...]
    learned: int
    kept: int
    removed: tuple[str, ...] = ()
    dropped: int = 0

    def refuse_loss(self, name: str) -> None:
        """Raise ParameterError if most of what was learned about the arms would be lost."""
        if 2 * self.kept < self.learned - self.dropped or (self.learned and not self.kept):
            kept = f"only {self.kept:,}" if self.kept else "none"
            raise ParameterError(
                f"the log of {name!r} is about another problem, with other {_few(self.changed)}; "
                f"{kept} of its {self.learned:,} outcomes could be kept; use another store or "
                "another name, or `redefine` to go on with what is kept"
            )

    def __str__(self) -> str:
        """Return it as a sentence."""
        kept = f"{self.kept:,} of {self.learned:,}"
        if self.kept == self.learned:
            kept = f"all {self.kept:,}"
        again = ""
        if self.kept > self.learned:  # the log has outcomes that did not fit in the meantime
            kept = f"all {self.learned:,}"
            again = f", and {self.kept - self.learned:,} earlier ones were learned again"
        gone = f"; removed: {some(self.removed)}" if self.removed else ""
        outcomes = f"{kept} outcomes were kept" if self.learned else "nothing was learned before"
        if self.kept == self.learned == 1:
            outcomes = "the one outcome was kept"
        return f"changed: {', '.join(self.changed)}; {outcomes}{again}{gone}"


def redefined(old: Fold, new: Fold, asked: Mapping[str, Any]) -> Redefinition:
    """Return what changes between what a log says and what it will say."""
    arms = new.policy.problem.arms
    removed = tuple(arm for arm in old.policy.problem.arms if arm not in arms)
    return Redefinition(
        changed=_changed(old.asked, asked),
        learned=outcomes_of(old),
        kept=outcomes_of(new),
        removed=removed,
        dropped=sum(arm.pulls for arm in old.policy.stats().arms if arm.arm in removed),
    )


def _few(changed: tuple[str, ...]) -> str:
    return some((name.removeprefix("the ") for name in changed), 8)


def outcomes_of(fold: Fold) -> int:
    """Return how many outcomes the policy of a fold has learned of its arms."""
    return sum(arm.pulls for arm in fold.policy.stats().arms)


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parts of two definitions that differ, in words."""
    before, after = old["problem"], new["problem"]
    names = dict.fromkeys([*before, *after])
    parts = [f"the {name}" for name in names if before.get(name) != after.get(name)]
    others = (name for name in new if name != "problem" and old.get(name, new[name]) != new[name])
    return tuple(parts + [f"the {name}" if name == "policy" else name for name in others])
