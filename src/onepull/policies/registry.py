"""All policies by name, found in their files.

A policy is public if its class states a `guarantee`.  From that follow the names that
`onepull` exports, those that experiment files take, the policies that the battery of tests tries,
and the tables of the documentation.  To add a policy is to add its file and the file of its tests.
"""

from __future__ import annotations

import inspect
import pkgutil
from functools import cache
from importlib import import_module
from types import ModuleType

import onepull.policies
from onepull.policies.policy import Policy


@cache
def registered() -> dict[str, type[Policy]]:
    """Return the policies of this package by name, in the order of the alphabet.

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


def _modules() -> list[ModuleType]:
    path, prefix = onepull.policies.__path__, "onepull.policies."
    return [import_module(name) for _, name, _ in pkgutil.walk_packages(path, prefix)]


def summary(kind: type[Policy]) -> str:
    """Return the first sentence of a policy's documentation.

    >>> from onepull import DCB
    >>> summary(DCB)
    "DCB(ε) for finitely many contexts (the paper's algorithm 1)."
    """
    return (inspect.getdoc(kind) or "").partition("\n")[0]
