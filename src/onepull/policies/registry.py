"""Registry of all policies by name.

A policy is public if its class defines `guarantee`.  The names that `onepull` exports, the
names in experiment files, the common tests and the tables of the documentation all follow from
this registry.  To add a policy, add its file and a file with its tests.
"""

from __future__ import annotations

import inspect
import pkgutil
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TypeVar

import onepull.policies
from onepull.errors import ParameterError
from onepull.policies.policy import Policy

Kind = TypeVar("Kind")


@cache
def registered() -> dict[str, type[Policy]]:
    """Return the policies of this package by name, in alphabetical order.

    >>> registered()["DCB"].__module__
    'onepull.policies.ucb.dcb'
    """
    found = {
        kind.__name__: kind
        for module in _modules()
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, Policy)
        and kind.__module__ == module.__name__
        if "guarantee" in vars(kind) and kind is not Policy
    }
    return dict(sorted(found.items()))


def find_policy(name: str) -> type[Policy]:
    """Return a policy class by its name, or your own class by "module:Class".

    >>> find_policy("DCB").__name__
    'DCB'
    >>> find_policy("onepull.policies.ucb.dcb:DCB") is find_policy("DCB")
    True
    >>> find_policy("DBC")
    Traceback (most recent call last):
    onepull.errors.ParameterError: unknown policy 'DBC'; did you mean DCB? Give your own class as \
"module:Class"
    """
    if ":" in name:
        return named(name, Policy)
    if name in registered():
        return registered()[name]
    near = min(registered(), key=lambda known: _distance(known.lower(), name.lower()))
    raise ParameterError(
        f'unknown policy {name!r}; did you mean {near}? Give your own class as "module:Class"'
    )


def named(path: str, kind: type[Kind]) -> type[Kind]:
    """Return the class at "module:Class"; raises ParameterError unless it is a subclass of `kind`.

    >>> named("onepull.policies.ucb.dcb:tuned", Policy)
    Traceback (most recent call last):
    onepull.errors.ParameterError: 'onepull.policies.ucb.dcb:tuned': the module \
onepull.policies.ucb.dcb has no tuned
    """
    module, _, attribute = path.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except ImportError as error:
        raise ParameterError(f"{path!r}: {error}") from None
    except AttributeError:
        raise ParameterError(f"{path!r}: the module {module} has no {attribute}") from None
    if not (isinstance(found, type) and issubclass(found, kind)):
        raise ParameterError(f"{path!r} is not a {kind.__name__} but {found!r}")
    return found


def _modules() -> list[ModuleType]:
    path, prefix = onepull.policies.__path__, "onepull.policies."
    return [import_module(name) for _, name, _ in pkgutil.walk_packages(path, prefix)]


def _distance(one: str, two: str) -> int:
    """Return the edit distance between two words."""
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(two, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def summary(kind: type[Policy]) -> str:
    """Return the first line of a policy's docstring.

    >>> from onepull import DCB
    >>> summary(DCB)
    'DCB(ε) (Sakulkar and Krishnamachari, algorithm 1): joint learning for listed contexts.'
    """
    return (inspect.getdoc(kind) or "").partition("\n")[0]
