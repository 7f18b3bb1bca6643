"""The entries of an experiment file, one for each policy or controller, and their names."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from onepull.errors import ProblemError


def sweep(stated: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every combination of the values of parameters that are lists.

    >>> list(sweep({"epsilon": [0.1, 0.2], "seed": 3}))
    [{'epsilon': 0.1, 'seed': 3}, {'epsilon': 0.2, 'seed': 3}]
    >>> list(sweep({"features": ["1", "y"]}))
    [{'features': ['1', 'y']}]
    """
    lists = [value if is_swept(key, value) else [value] for key, value in stated.items()]
    for values in itertools.product(*lists):
        yield dict(zip(stated, values, strict=True))


def is_swept(key: str, value: Any) -> bool:
    """Whether a parameter is swept: it is a list, and not a list of formulas for `features`."""
    formulas = key == "features" and isinstance(value, list) and set(map(type, value)) == {str}
    return isinstance(value, list) and not formulas


def check_lists(stated: Mapping[str, Any], where: str) -> None:
    """Raise ProblemError if a parameter is swept over no value.

    >>> check_lists({"epsilon": []}, "policy 1")
    Traceback (most recent call last):
    onepull.errors.ProblemError: policy 1: empty list for epsilon
    """
    if empty := [key for key, value in stated.items() if value == []]:
        raise ProblemError(f"{where}: empty list for {', '.join(empty)}")


def label_in(stated: dict[str, Any], where: str) -> str | None:
    """Take the label out of an entry; raises ProblemError if it is not text.

    >>> label_in({"policy": "DCB", "name": "ours"}, "policy 1")
    'ours'
    """
    label = stated.pop("name", None)
    if label is not None and not (isinstance(label, str) and label):
        raise ProblemError(f"{where}: name must be text, given {label!r}")
    return label


def told_parameters(
    parameters: Mapping[str, Any], stated: Mapping[str, Any], label: str | None
) -> dict[str, Any]:
    """Return the parameters that the name of an entry tells: with a label only those swept.

    >>> told_parameters({"epsilon": 0.1, "seed": 3}, {"epsilon": [0.1, 0.2], "seed": 3}, "ours")
    {'epsilon': 0.1}
    """
    return {k: v for k, v in parameters.items() if label is None or is_swept(k, stated[k])}


def entry_name(start: str, parameters: Mapping[str, Any], inside: str = "") -> str:
    """Return the name of a policy or a controller with what it has inside and its parameters.

    >>> entry_name("DCB", {"epsilon": 0.1}), entry_name("Myopic", {}, "DCB"), entry_name("DCB", {})
    ('DCB(epsilon=0.1)', 'Myopic(DCB)', 'DCB')
    """
    told = [*([inside] if inside else []), *(f"{k}={v!r}" for k, v in parameters.items())]
    return f"{start}({', '.join(told)})" if told else start


def check_new(name: str, seen: Collection[str], where: str) -> None:
    """Raise ProblemError if an entry before has the same name.

    >>> check_new("DCB", ["DCB"], "policy 2")
    Traceback (most recent call last):
    onepull.errors.ProblemError: policy 2: another policy is called 'DCB'; add a name
    """
    if name in seen:
        what = where.partition(" ")[0]
        raise ProblemError(f"{where}: another {what} is called {name!r}; add a name")


def check_baseline(baseline: str | None, names: Collection[str]) -> None:
    """Raise ProblemError if no entry has the name of the baseline."""
    if baseline is not None and baseline not in names:
        raise ProblemError(f"baseline {baseline!r} is not one of {', '.join(names)}")
