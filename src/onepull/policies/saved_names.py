"""The name of a policy's class in a save file, and the class of such a name.

Policies of this package are saved by their name alone, so that they may move between its modules.
Two modules of users may each define a class of one name, so these are saved with their module.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from onepull.errors import SaveFileError
from onepull.html import printable

PACKAGE = __name__.partition(".")[0]


def saved_name(kind: type[Any]) -> str:
    """Return the name of a class in save files.

    >>> from onepull import DCB
    >>> saved_name(DCB), saved_name(type("Mine", (DCB,), {"__module__": "routing"}))
    ('DCB', 'routing:Mine')
    """
    if kind.__module__.partition(".")[0] == PACKAGE:
        return kind.__name__
    # A process started by multiprocessing has the main module under another name.
    module = kind.__module__.replace("__mp_main__", "__main__")
    return f"{module}:{kind.__qualname__}"


def kind_saved_as(name: str, base: type[Any], root: type[Any]) -> type[Any]:
    """Return the class of a saved name among `base` and its subclasses.

    Raises `SaveFileError` if there is none, or if several classes have the name.  All policies are
    subclasses of `root`.

    >>> from onepull import DCB, Policy
    >>> kind_saved_as("DCB", Policy, Policy) is DCB
    True
    """
    known = [kind for kind in dict.fromkeys(_kinds(base)) if saved_name(kind) == name]
    if base in known:
        return base
    current = [kind for kind in known if _is_current(kind)] or known
    if len(current) == 1:
        return current[0]
    if current:
        raise SaveFileError(
            f"contains the policy {printable(name)}, and {len(current)} classes have this name; "
            "load it with the class that you mean, as in Mine.load(path)"
        )
    module, _, own = name.rpartition(":")
    alike = [kind for kind in _kinds(base) if kind.__name__ == own.rpartition(".")[2]]
    # A class that was moved to another module is loaded by asking for it.
    if module and base in alike and name not in map(saved_name, _kinds(root)):
        return base
    others = sorted({saved_name(kind) for kind in alike if ":" in saved_name(kind)})
    if module and others:
        raise SaveFileError(
            f"contains the policy {printable(name)}, and the known class of this name is "
            f"{printable(', '.join(others))}: import the module {printable(module)} first, or, if "
            "the class was moved, load it with the class itself, as in Mine.load(path)"
        )
    if base is not root and name in map(saved_name, _kinds(root)):
        raise SaveFileError(
            f"contains a saved {printable(name)}, not a {base.__name__}; load it with "
            f"{printable(name)}.load or Policy.load"
        )
    raise SaveFileError(
        f"contains the policy {printable(name)}, which is not a known {base.__name__}; use "
        "Policy.load, and import the module of your own policies first"
    )


def _kinds(base: type[Any]) -> Iterator[type[Any]]:
    yield base
    for kind in base.__subclasses__():
        yield from _kinds(kind)


def _is_current(kind: type[Any]) -> bool:
    """Whether a class is the one that its module has under its name now.

    If a cell of a notebook runs twice, the class that it defined at first may still be in use.
    """
    found: Any = sys.modules.get(kind.__module__)
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is kind
