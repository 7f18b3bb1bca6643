"""Registry of all policies by name.

A policy is public if its class defines `guarantee`.  The names that `onepull` exports, the
names in experiment files, the common tests and the tables of the documentation all follow from
this registry.  To add a policy, add its file and a file with its tests, and run `make format`,
which writes the lists that must be spelt out.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from types import ModuleType

import onepull.policies
from onepull.policies.policy import Policy


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


def _modules() -> list[ModuleType]:
    path, prefix = onepull.policies.__path__, "onepull.policies."
    return [import_module(name) for _, name, _ in pkgutil.walk_packages(path, prefix)]
