"""Which names of onepull are public, and by what path users import each of them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import onepull

# The public packages.  The rest of onepull.__all__ is written in modules that are not public.
PACKAGES = (
    "client",
    "control",
    "distributions",
    "environment",
    "errors",
    "experiments",
    "factor",
    "index",
    "planning",
    "policies",
    "report",
    "router",
    "simulation",
    "store",
    "testing",
    "theory",
)


@dataclass(frozen=True)
class PublicName:
    """A public object, under the path that users import it by."""

    path: str
    value: Any

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]

    @property
    def group(self) -> str:
        """The package that the object is written in: ``onepull.policies.ucb`` for `DCB`."""
        home = getattr(self.value, "__module__", None) or self.path.rpartition(".")[0]
        inner = ".".join(home.split(".")[:3])
        is_package = hasattr(import_module(inner), "__path__")
        return inner if is_package else inner.rpartition(".")[0]


def names_of(module: str) -> list[PublicName]:
    """Return the public names of a module: its ``__all__``, or what onepull offers of it."""
    here = import_module(module)
    if module.removeprefix("onepull.") not in PACKAGES:
        written = [name for name in onepull.__all__ if _is_written_in(module, name)]
        return [PublicName(f"onepull.{name}", getattr(onepull, name)) for name in written]
    names = [
        PublicName(_path_of(module, name), getattr(here, name))
        for name in getattr(here, "__all__", None) or _classes_of(here)
    ]
    inside = [
        PublicName(f"{name.path}.{function}", getattr(name.value, function))
        for name in names
        if isinstance(name.value, ModuleType)
        for function in name.value.__all__
    ]
    known = [name.value for name in names]
    return [*names, *(name for name in inside if name.value not in known)]


def _is_written_in(module: str, name: str) -> bool:
    home = str(getattr(onepull, name).__module__)
    return home == module or home.startswith(f"{module}.")


def _classes_of(module: ModuleType) -> list[str]:
    """Return the classes that a module without ``__all__`` defines, in the order of its text."""
    return [
        name
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__ and name[0] != "_"
    ]


def _path_of(module: str, name: str) -> str:
    """Return the path that users import an object by: from onepull itself where they can."""
    value = getattr(import_module(module), name)
    top = name in onepull.__all__ and getattr(onepull, name) is value
    return f"onepull.{name}" if top else f"{module}.{name}"


@cache
def all_public_names() -> dict[str, Any]:
    """Return every public object by its path."""
    return {name.path: name.value for name in _every()}


def _every() -> Iterator[PublicName]:
    for package in PACKAGES:
        yield from names_of(f"onepull.{package}")
    for name in onepull.__all__:
        yield PublicName(f"onepull.{name}", getattr(onepull, name))


def path_to(value: Any) -> str | None:
    """Return the path of a public object, None if it is not public."""
    return next((path for path, public in all_public_names().items() if public is value), None)


def find(text: str, module: str = "onepull") -> str | None:
    """Return the path that a name means in the docstrings of a module, None if it is not public."""
    paths = all_public_names()
    near = [text, f"{module}.{text}", f"onepull.{text}"]
    elsewhere = [path for path in paths if path.endswith(f".{text}")]
    known = [path for path in near if path in paths]
    return known[0] if known else elsewhere[0] if len(elsewhere) == 1 else None
