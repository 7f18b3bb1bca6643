"""Read the laws of contexts, states and delays in an experiment file."""

from __future__ import annotations

import csv
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from onepull import distributions as d
from onepull.checks import unknown as unknown_name
from onepull.errors import OnepullError, ProblemError
from onepull.experiments.own_code import is_own, own_class
from onepull.problem import Problem
from onepull.spaces import Box, Interval

LAWS: dict[str, Callable[..., d.Distribution]] = {
    "discrete": d.Discrete,
    "in-order": d.InOrder,
    "scaled-bernoulli": d.scaled_bernoulli,
    "uniform": d.Uniform,
    "beta": d.Beta,
    "truncated-normal": d.TruncatedNormal,
    "log-normal": d.LogNormal,
    "exponential": d.Exponential,
    "gamma": d.Gamma,
    "rayleigh": d.Rayleigh,
    "rician": d.Rician,
    "nakagami": d.Nakagami,
    "trace": d.empirical,
    "truncated": d.Truncated,
    "clipped": d.Clipped,
    "mixture": d.Mixture,
    "failing": d.Failing,
}
ONE_NUMBER = Box(value=Interval(-math.inf, math.inf))  # the space of a law of one number


def law_of(written: Any, box: Box, folder: Path, where: str) -> d.Distribution:
    """Return the law of a state or context from its table in a file.

    A table with the key `law` is one law of all fields; any other table has a law for each
    field.  A list of such tables with the key `from` switches between them.

    >>> from onepull.spaces import Interval
    >>> box = Box(gain=Interval(0, 4))
    >>> law_of({"gain": {"law": "uniform", "low": 0, "high": 4}}, box, Path(), "states")
    Uniform(low=0, high=4)
    >>> law_of({"law": "clipped", "of": {"law": "exponential", "mean": 2}, "high": 4},
    ...     box, Path(), "states")
    Clipped(Exponential(mean=2), high=4)
    """
    if isinstance(written, list):
        return _switching(written, box, folder, where)
    return _on(box, _stationary(written, box, folder, where), where)


def _stationary(written: Any, box: Box, folder: Path, where: str) -> d.Distribution:
    """Return the law of a table: one law of all fields, or a law for each."""
    if not isinstance(written, Mapping):
        raise ProblemError(f"{where}: a law must be a table, given {written!r}")
    if isinstance(written.get("law"), str):
        return _build(written, box, folder, where)
    if set(written) != set(box):
        raise ProblemError(
            f"{where}: needs a law for each of {', '.join(box)}, "
            f"given {', '.join(written) or 'none'}"
        )
    laws = [
        _build(written[name], Box({name: space}), folder, f"{where}, field {name!r}")
        for name, space in box.items()
    ]
    return laws[0] if len(laws) == 1 else d.Independent(*laws)


def _on(box: Box, law: d.Distribution, where: str) -> d.Distribution:
    """Return a law with the numbers that the space gives to words."""
    try:
        return law.on(box)
    except OnepullError as error:
        raise ProblemError(f"{where}: {error}") from None


def contexts_of(written: Any, box: Box, folder: Path) -> d.Distribution | None:
    """Return the law of the contexts from its table in a file, None if there are no contexts."""
    if not box.has_fields and not written:
        return None
    return law_of(written, box, folder, "contexts")


def state_laws(written: Mapping[str, Any], problem: Problem, folder: Path) -> dict[str, Any]:
    """Return the law of each arm's state from its table in a file."""
    for arm in written:
        if arm not in problem.arms:
            raise ProblemError(
                f"environment states: unknown arm {arm!r}; the arms are {', '.join(problem.arms)}"
            )
    return {
        arm: law_of(law, problem.state, folder, f"states of arm {arm!r}")
        for arm, law in written.items()
    }


def delays_of(written: Any, folder: Path) -> Any:
    """Return delays: a law or a number of trials, for all arms or by arm.

    >>> delays_of({"lte": {"law": "exponential", "mean": 20}, "wifi": 3}, Path())
    {'lte': Exponential(mean=20), 'wifi': 3}
    """
    if not isinstance(written, Mapping):
        return written
    if isinstance(written.get("law"), str):
        return _build(written, ONE_NUMBER, folder, "delays")
    return {
        arm: _build(law, ONE_NUMBER, folder, f"delays of arm {arm!r}")
        if isinstance(law, Mapping)
        else law
        for arm, law in written.items()
    }


def _switching(written: Sequence[Any], box: Box, folder: Path, where: str) -> d.Distribution:
    pieces: dict[int, d.Distribution] = {}
    for i, part in enumerate(written):
        start = part.get("from") if isinstance(part, Mapping) else None
        if type(start) is not int:
            raise ProblemError(
                f"{where}, piece {i + 1}: needs the key 'from', the trial it begins at"
            )
        if start in pieces:
            raise ProblemError(f"{where}: two pieces begin at trial {start}")
        rest = {key: value for key, value in part.items() if key != "from"}
        pieces[start] = law_of(rest, box, folder, f"{where}, from {start}")
    try:
        return d.Switching(pieces)
    except OnepullError as error:
        raise ProblemError(f"{where}: {error}") from None


def _build(written: Any, box: Box, folder: Path, where: str) -> d.Distribution:
    if not isinstance(written, Mapping) or "law" not in written:
        raise ProblemError(f"{where}: a law must be a table with the key 'law', given {written!r}")
    stated = dict(written)
    name = stated.pop("law")
    if is_own(name):
        build = own_class(name, d.Distribution, where)
    elif isinstance(name, str) and name in LAWS:
        build = LAWS[name]
    else:
        known = f'the laws are {", ".join(LAWS)}, or your own "module:Class"'
        raise ProblemError(f"{where}: {unknown_name('law', name, LAWS, known)}")
    taken = inspect.signature(build).parameters
    allowed = list(taken)
    if unknown := [key for key in stated if key not in allowed]:
        raise ProblemError(
            f"{where}: law {name!r} does not take {', '.join(unknown)}; "
            f"it takes {', '.join(allowed)}"
        )
    if missing := [k for k, v in taken.items() if v.default is v.empty and k not in stated]:
        raise ProblemError(f"{where}: law {name!r} needs {', '.join(missing)}")
    if name in LAWS and "of" in stated:
        stated["of"] = _parts(stated["of"], box, folder, f"{where}, {name!r}")
    try:
        if "path" in stated:
            stated["path"] = folder / stated["path"]
        law: d.Distribution = build(**stated)
    # A trace may be binary or no table, and a parameter may overflow.
    except (OnepullError, TypeError, ValueError, ArithmeticError, csv.Error) as error:
        raise ProblemError(f"{where}: {error}") from None
    return law


def _parts(written: Any, box: Box, folder: Path, where: str) -> Any:
    """Return the law that another one is made of, or a list of laws with their weights."""
    if not isinstance(written, list):
        return _stationary(written, box, folder, where)
    parts = []
    for i, part in enumerate(written):
        if not isinstance(part, Mapping) or "weight" not in part:
            raise ProblemError(
                f"{where}, part {i + 1}: must be a law with the key 'weight', given {part!r}"
            )
        rest = {key: value for key, value in part.items() if key != "weight"}
        law = _stationary(rest, box, folder, f"{where}, part {i + 1}")
        parts.append((part["weight"], law))
    return parts
