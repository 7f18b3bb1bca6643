"""What was changed at run time, and so differs from the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from onepull.checks import some, written
from onepull.html import printable
from onepull.policies.savefile import as_saved
from onepull.router.definition.definition import attributes_of

if TYPE_CHECKING:
    from onepull.router.state.fold import Fold


def overridden(asked: Mapping[str, Any], fold: Fold) -> Iterator[str]:
    """Yield the lines of a definition that were changed at run time.

    >>> from onepull import Interval, Problem, Router
    >>> problem = Problem(
    ...     arms={"a": {"price": 1}, "b": {"price": 2}}, state={"x": Interval(0, 1)},
    ...     reward="x - price",
    ... )
    >>> with Router(problem) as router:
    ...     router.set_attributes("b", price=3)
    ...     router.add_arm("c", price=1)
    ...     router.set_reward("x - 2 * price")
    ...     for line in overridden(router.asked, router._fold):
    ...         print(line)
    [problem] reward is 'x - 2 * price', not 'x - price'
    [problem.arms.b] price is 3, not 2
    arm c was added
    """
    problem = fold.policy.problem
    stated = asked["problem"]
    live = as_saved(problem.to_dict() if problem.reward.is_formula else problem.outline())
    for part in ("reward", "failure"):
        if stated.get(part) != live.get(part):
            yield f"[problem] {part} is {_told(live.get(part))}, not {_told(stated.get(part))}"
    before, now = attributes_of(stated), attributes_of(live)
    for arm in (arm for arm in now if arm in before):
        for name, value in now[arm].items():
            if (was := before[arm].get(name)) != value:
                yield f"[problem.arms.{printable(arm)}] {name} is {_told(value)}, not {_told(was)}"
    for how, arms in (
        ("added", [arm for arm in now if arm not in before]),
        ("removed", [arm for arm in before if arm not in now]),
    ):
        if arms:
            yield f"arm {some(arms)} was {how}" if len(arms) == 1 else f"{how} arms: {some(arms)}"
    for part, value in (("mode", fold.mode), ("fallback", fold.fallback)):
        if asked[part] != value:
            yield f"[router] {part} is {_told(value)}, not {_told(asked[part])}"


def controlled(fold: Fold) -> Iterator[str]:
    """Yield the controls that are set; files do not contain them.

    >>> from onepull import Interval, Problem, Router
    >>> problem = Problem(arms=["a", "b"], state={"x": Interval(0, 1)}, reward="x")
    >>> with Router(problem) as router:
    ...     router.pause("a")
    ...     router.share("b", least=0.5)
    ...     list(controlled(router._fold))
    ['a is paused', 'b has a share of 0.5 to 1']
    """
    controls = fold.policy.controls
    for arm in controls.paused:
        yield f"{printable(arm)} is {'draining' if arm in fold.drained else 'paused'}"
    if controls.pinned is not None:
        yield f"{printable(controls.pinned)} is pinned"
    for arm, share in controls.shares.items():
        ends = f"{written(share.least)} to {written(share.most)}"
        yield f"{printable(arm)} has a share of {ends}"


def _told(value: Any) -> str:
    if value is None:
        return "none"
    return written(value) if isinstance(value, float) else printable(repr(value))
