"""Policies, laws and rewards of a user's own in experiment files, written "module:name".

Such a file runs code of the module that it names: read it before you run a stranger's.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from onepull.errors import ProblemError
from onepull.payoff import Reward
from onepull.problem import Problem

OWN = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
QUOTED_OWN = re.compile(rf"[\"']{OWN.pattern}[\"']")


def is_own(name: Any) -> bool:
    """Return whether a name in a file is that of a user's own code.

    >>> is_own("mine:Policy"), is_own("DCB"), is_own("min(x, y)")
    (True, False, False)
    """
    return isinstance(name, str) and OWN.fullmatch(name) is not None


def look_in(folder: Path) -> None:
    """Let modules beside an experiment file be imported, after all others."""
    path = str(folder.resolve())
    if path not in sys.path:
        sys.path.append(path)


def own(name: str, where: str) -> Any:
    """Return what "module:name" stands for.

    >>> own("math:sin", "reward").__name__
    'sin'
    >>> own("math:sine", "reward")
    Traceback (most recent call last):
    onepull.errors.ProblemError: reward: module math has no 'sine'
    """
    module, _, attribute = name.partition(":")
    try:
        found = import_module(module)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, ModuleNotFoundError) and error.name == module:
            reason = (
                f"there is no {module}.py beside the file, and no installed module of this name"
            )
        raise ProblemError(f"{where}: cannot import {module!r}: {reason}") from error
    if not hasattr(found, attribute):
        raise ProblemError(f"{where}: module {module} has no {attribute!r}")
    return getattr(found, attribute)


def own_class(name: str, kind: type[Any], where: str) -> Any:
    """Return the subclass of a class that "module:Class" stands for.

    >>> from onepull import Policy
    >>> own_class("math:sin", Policy, "policy 1")
    Traceback (most recent call last):
    onepull.errors.ProblemError: policy 1: 'math:sin' is not a Policy class
    """
    found = own(name, where)
    if not (isinstance(found, type) and issubclass(found, kind)) or inspect.isabstract(found):
        raise ProblemError(f"{where}: {name!r} is not a {kind.__name__} class")
    return found


def problem_of(written: Any) -> Problem:
    """Return a problem from its table in a file, whose reward may be a function of one's own.

    Such a reward is written "module:function", or as a table of that `function` and what is
    declared about it, as in `Reward`.

    >>> problem_of({
    ...     "arms": ["a"],
    ...     "context": {"amount": [1.0]},
    ...     "state": {"price": [0.0, 2.0]},
    ...     "reward": {"function": 3},
    ... })
    Traceback (most recent call last):
    onepull.errors.ProblemError: reward: function takes "module:name", given 3
    """
    stated = written.get("reward") if isinstance(written, Mapping) else None
    if is_own(stated):
        stated = {"function": stated}
    if not isinstance(stated, Mapping) or "function" not in stated:
        return Problem.from_dict(written)
    if not is_own(stated["function"]):
        raise ProblemError(f'reward: function takes "module:name", given {stated["function"]!r}')
    function = own(stated["function"], "reward")
    declared = {key: value for key, value in stated.items() if key != "function"}
    try:
        reward = Reward(function, **declared)
    except TypeError as error:
        raise ProblemError(f"reward: {error}") from None
    return Problem.from_dict({**written, "reward": "0"}).with_reward(reward)


def described(problem: Problem) -> Any:
    """Return a problem as plain values, with the source text of a reward of one's own.

    >>> from onepull import Finite
    >>> spaces = {"context": {"y": Finite([1])}, "state": {"x": Finite([0, 2])}}
    >>> described(Problem(arms=["a"], reward="x * y", **spaces))["reward"]
    'x * y'
    """
    source = problem.reward.source
    if isinstance(source, str):
        return problem.to_dict()
    try:
        text = inspect.getsource(source)
    except (OSError, TypeError):  # it is not in a file, or compiled
        text = repr(source)
    return {"outline": problem.outline(), "reward": text}
