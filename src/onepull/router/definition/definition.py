"""What a router was asked for, and what changes if it is asked for something else."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

import msgspec

from onepull.checks import number, shown, unknown, whole_number
from onepull.errors import ParameterError
from onepull.policies.policy import Policy
from onepull.policies.recommendation import recommended
from onepull.policies.registry import registered
from onepull.policies.savefile import as_saved
from onepull.problem import Problem, given_problem
from onepull.router.state.plain_values import python_number

if TYPE_CHECKING:
    from onepull.router.state.fold import Fold


def policy_for(problem: Problem, policy: Any) -> tuple[Policy, Any]:
    """Return a new policy, and in plain values what was asked for.

    >>> from onepull import Interval
    >>> problem = Problem(arms=["a"], state={"x": Interval(0, 1)}, reward="x")
    >>> policy_for(problem, {"name": "UCB1"})
    (<UCB1(1 arm) after 0 trials>, {'name': 'UCB1'})
    """
    given_problem(problem)
    if isinstance(policy, str):
        policy = {"name": policy}
    if isinstance(policy, Mapping):
        stated = dict(policy)
        if "name" not in stated:
            raise ParameterError(
                f'policy needs a name, such as {{"name": "recommended"}}, given {shown(policy)}'
            )
        name = stated.pop("name")
        if name == "recommended":
            return _built(recommended, problem, stated), as_saved(dict(policy))
        if not isinstance(name, str) or name not in registered():
            known = ["recommended", *registered()]
            raise ParameterError(
                unknown("policy", name, known, f"the policies are {', '.join(known)}")
            )
        return _built(registered()[name], problem, stated), as_saved(dict(policy))
    if callable(policy):
        made = policy(problem)
        if isinstance(made, Policy):
            return made, as_saved(made.to_dict())
    raise ParameterError(
        "policy takes a name, a table with a name and parameters, or a function that makes a "
        f"policy for a problem, given {shown(policy)}"
    )


def _built(build: Any, problem: Problem, stated: Mapping[str, Any]) -> Policy:
    known = list(signature(build).parameters)[1:]  # without the problem
    for name in stated:
        if name not in known:
            takes = f"the policy {build.__name__} takes {', '.join(known) or 'none'}"
            raise ParameterError(unknown("parameter", name, known, takes))
    for name, parameter in list(signature(build).parameters.items())[1:]:
        if parameter.default is Parameter.empty and name not in stated:
            raise ParameterError(
                f"the policy {build.__name__} needs {name!r}, as in "
                f'{{"name": "{build.__name__}", "{name}": …}}; it takes {", ".join(known)}'
            )
    try:
        made: Policy = build(problem, **stated)
    except TypeError as error:
        raise ParameterError(f"policy: {error}") from None
    return made


def asked_for(
    problem: Problem, policy: Any, mode: str, fallback: str | None, settings: RouterSettings
) -> dict[str, Any]:
    """Return the definition of a router as plain values, to compare it with the log's."""
    written = problem.to_dict() if problem.reward.is_formula else problem.outline()
    asked = {"problem": as_saved(written), "policy": policy, "mode": mode, "fallback": fallback}
    return {**asked, **msgspec.structs.asdict(settings)}


class RouterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a router runs, as its definition in the log says; all processes follow it.

    >>> RouterSettings(expires=30).sticky
    300.0
    """

    expires: float = 60.0
    on_expiry: Any = "give_up"
    sticky: float = 300.0
    snapshot_every: int = 50_000
    keep: int | None = None

    @classmethod
    def checked(cls, *, on_expiry: Any, keep: Any, **given: Any) -> RouterSettings:
        """Return settings; raises ParameterError if a number is out of range."""
        return cls(
            expires=number("expires", given["expires"], above=0.0, most=1e9),
            on_expiry=plain_expiry(on_expiry),
            sticky=number("sticky", given["sticky"], above=0.0, at_least=True, most=1e9),
            snapshot_every=whole_number("snapshot_every", given["snapshot_every"]),
            keep=None if keep is None else whole_number("keep", keep, least=0),
        )

    @classmethod
    def stated(cls, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return those settings that a definition states."""
        return {name: asked[name] for name in cls.__struct_fields__ if name in asked}


def plain_expiry(on_expiry: Any) -> Any:
    """Return what an expiry means as plain values.

    >>> plain_expiry({"seconds": 30})
    {'seconds': 30}
    """
    if not isinstance(on_expiry, Mapping):
        return on_expiry
    return {name: python_number(value) for name, value in on_expiry.items()}


def needs_relearning(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return what has changed that a policy cannot follow without learning anew, if anything.

    >>> old = {"policy": {"name": "DCB"}, "problem": {"context": {}, "state": {}}}
    >>> needs_relearning(old, {**old, "policy": {"name": "UCB1"}})
    'the policy'
    """
    if old["policy"] != new["policy"]:
        return "the policy"
    if ("reward" in old["problem"]) != ("reward" in new["problem"]):
        return "the reward, which is or was a Python callable,"
    for part in ("context", "state", "failure"):
        if old["problem"].get(part) != new["problem"].get(part):
            return f"the {part} of the problem"
    return ""


def with_changes(
    problem: Problem, old: Mapping[str, Any], new: Mapping[str, Any], present: Problem
) -> Problem:
    """Return the problem asked for, with the changes of run time that it does not replace.

    `old` and `new` are what was asked for before and what is asked for, and `present` is what the
    problem has become at run time.

    >>> from onepull import Interval
    >>> narrow = Problem(arms=["a"], state={"x": Interval(0, 1)}, reward="x")
    >>> wide = Problem(arms=["a", "c"], state={"x": Interval(0, 2)}, reward="x")
    >>> present = Problem(arms=["a", "b"], state={"x": Interval(0, 1)}, reward="2 * x")
    >>> asked = [{"problem": one.to_dict()} for one in (narrow, wide)]
    >>> found = with_changes(wide, *asked, present)
    >>> found.arms, found.reward, found.state["x"].high
    (('a', 'c', 'b'), Reward('2 * x'), 2.0)
    """
    before, after = old["problem"], new["problem"]
    known, arms = attributes_of(before), attributes_of(after)
    lasting = {arm: present.attributes.get(arm, {}) for arm in present.arms}
    # An arm that is asked for as before may have been removed, or have other attributes.
    kept = {arm: lasting[arm] for arm in lasting if arms.get(arm, {}) == known.get(arm, {})}
    asked = {arm: arms[arm] for arm in arms if arm in lasting or arm not in known}
    gone = {arm for arm in known if arm not in arms}
    found = {arm: kept.get(arm, stated) for arm, stated in asked.items()}
    found |= {arm: kept[arm] for arm in kept if arm not in found and arm not in gone}
    if not (problem.reward.is_formula and present.reward.is_formula):
        return problem.with_arms(found if any(found.values()) else list(found))
    written, live = problem.to_dict(), present.to_dict()
    for part in ("reward", "failure"):
        if before.get(part) == after.get(part) and live.get(part) is not None:
            written[part] = live[part]
    if words := {**live.get("words", {}), **written.get("words", {})}:
        written["words"] = words
    written["arms"] = found if any(found.values()) else list(found)
    return Problem.from_dict(written)


def apply_changes(
    fold: Fold, old: Mapping[str, Any], new: Mapping[str, Any], error: float | None
) -> None:
    """Apply what differs between two definitions, and leave what was changed at run time.

    Estimates may be off by `error` afterwards; if it is None, they must be exact.
    """
    before, after = old["problem"], new["problem"]
    known, arms = attributes_of(before), attributes_of(after)
    present = set(fold.policy.problem.arms)
    added = {arm: arms[arm] for arm in arms if arm not in known and arm not in present}
    if added:
        fold.policy.add_arms(added)
    changed = [arm for arm in known if arm in present and arms.get(arm, known[arm]) != known[arm]]
    if changed:
        fold.policy.set_attributes_of({arm: arms[arm] for arm in changed}, error=error)
    if before.get("reward") != after.get("reward") and after.get("reward") is not None:
        stated = Problem.from_dict(after)
        fold.set_reward(stated.reward, error=error, words=stated.words or None)
    if (old["mode"], old["fallback"]) != (new["mode"], new["fallback"]):
        fold.set_mode(*mode_after(fold, old, new))
    left = set(fold.policy.problem.arms)
    removed = [arm for arm in known if arm not in arms and arm in left]
    if removed:
        fold.remove_arms(removed)


def mode_after(
    fold: Fold, old: Mapping[str, Any], new: Mapping[str, Any]
) -> tuple[str, str | None]:
    """Return the mode and the fallback: the present ones unless the definition changes them.

    If the two do not fit, both are as asked for.
    """
    mode = fold.mode if old["mode"] == new["mode"] else new["mode"]
    fallback = fold.fallback if old["fallback"] == new["fallback"] else new["fallback"]
    if fallback is None and mode != "live":
        return new["mode"], new["fallback"]
    return mode, fallback


def attributes_of(problem: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the arms of a problem in plain values, with their attributes."""
    arms = problem["arms"]
    return dict(arms) if isinstance(arms, Mapping) else {arm: {} for arm in arms}
