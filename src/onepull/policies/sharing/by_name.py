"""The sharings by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from onepull.errors import ParameterError
from onepull.factor import Histogram, LowRank, Sketch, partition
from onepull.policies.sharing.blind import Blind
from onepull.policies.sharing.joint import Joint
from onepull.policies.sharing.per_context import PerContext
from onepull.policies.sharing.sharing import Sharing
from onepull.problem import Problem

# A function of the problem, δ and the text in brackets after the name.
SHARINGS: dict[str, Callable[[Problem, Any, Any], Sharing]] = {
    "joint": lambda problem, delta, _: Joint(partition(problem, delta)),
    "per-context": lambda problem, delta, _: PerContext(partition(problem, delta)),
    "blind": lambda problem, *_: Blind(problem),
    "histogram": lambda problem, *_: Joint(Histogram(problem)),
    "sketch": lambda problem, _, knots: Joint(Sketch(problem, **_given(knots=knots, kind=int))),
    "low-rank": lambda problem, _, tolerance: Joint(
        LowRank(problem, **_given(tolerance=tolerance, kind=float))
    ),
}
_SETTING = {"sketch": "knots", "low-rank": "tolerance"}


def shared(problem: Problem, sharing: Any, delta: float | Mapping[str, float] | None) -> Sharing:
    """Return an empty sharing by its name; δ divides interval contexts into cells.

    >>> from onepull import Finite, Interval
    >>> problem = Problem(
    ...     arms=["a"], context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x * y"
    ... )
    >>> shared(problem, "sketch(9)", None).storage
    10
    """
    name, bracket, rest = (sharing if isinstance(sharing, str) else "").partition("(")
    if name not in SHARINGS or (bracket and (name not in _SETTING or not rest.endswith(")"))):
        known = [f"{name}({_SETTING[name]})" if name in _SETTING else name for name in SHARINGS]
        raise ParameterError(f"sharing must be one of {', '.join(known)}, given {sharing!r}")
    if delta is not None and name not in ("joint", "per-context"):
        raise ParameterError(
            f"delta needs joint or per-context sharing, given delta={delta!r} with {name} sharing"
        )
    made = SHARINGS[name](problem, delta, rest[:-1])
    made.name = sharing
    return made


def _given(*, kind: Callable[[str], Any], **setting: str) -> dict[str, Any]:
    """Return a setting as a keyword argument, read as a number, or nothing if it is empty."""
    ((name, text),) = setting.items()
    try:
        return {name: kind(text)} if text else {}
    except ValueError:
        whole = "whole " * (kind is int)
        raise ParameterError(f"{name} must be a {whole}number, given {text!r}") from None
