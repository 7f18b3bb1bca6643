"""What files of every kind have in common: how their text, applications and sweeps are read."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from onepull.errors import OnepullError, ProblemError

World = TypeVar("World")


def read_text(file: Path) -> str:
    """Return the text of a file."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ProblemError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ProblemError(f"{file}: is not text") from None


def decoded(text: str) -> dict[str, Any]:
    """Return TOML text as plain values.

    >>> decoded("horizon = 1000")
    {'horizon': 1000}
    """
    try:
        found: dict[str, Any] = msgspec.toml.decode(text)
    except msgspec.DecodeError as error:
        raise ProblemError(f"not an experiment: {error}") from None
    return found


def application_of(
    written: str | dict[str, Any], among: Mapping[str, Callable[..., World]]
) -> World:
    """Return an application from its name, or a table of its name and parameters.

    >>> from onepull.environment import channel_selection
    >>> named = {"channel-selection": channel_selection}
    >>> application_of({"name": "channel-selection", "channels": 2}, named).problem.arms
    ('channel 1', 'channel 2')
    """
    stated = {"name": written} if isinstance(written, str) else dict(written)
    name = stated.pop("name", None)
    if not isinstance(name, str) or name not in among:
        raise ProblemError(f"unknown application {name!r}; there are {', '.join(among)}")
    world: World = called(f"application {name!r}", among[name], stated)
    return world


def called(what: str, build: Callable[..., Any], stated: Mapping[str, Any], *given: Any) -> Any:
    """Return what is built from its first arguments and the keys of a table.

    Keys that it does not take are refused by name, and so are those that it misses.

    >>> from onepull.control import Battery
    >>> called("buffer", Battery, {"capacity": 2, "amounts": [1]})
    Battery(capacity=2, amounts=[1.0])
    >>> called("buffer", Battery, {"capacity": 2, "size": 1})
    Traceback (most recent call last):
    onepull.errors.ProblemError: buffer does not take size; it takes capacity, amounts
    """
    taken = dict(list(inspect.signature(build).parameters.items())[len(given) :])
    if unknown := [key for key in stated if key not in taken]:
        raise ProblemError(
            f"{what} does not take {', '.join(unknown)}; it takes {', '.join(taken) or 'nothing'}"
        )
    if missing := [k for k, v in taken.items() if v.default is v.empty and k not in stated]:
        raise ProblemError(f"{what} needs {', '.join(missing)}")
    try:
        return build(*given, **stated)
    except (OnepullError, TypeError) as error:
        raise ProblemError(f"{what}: {error}") from None


def sweep(stated: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every combination of the parameters that are lists.

    >>> list(sweep({"epsilon": [0.1, 0.2], "seed": 3}))
    [{'epsilon': 0.1, 'seed': 3}, {'epsilon': 0.2, 'seed': 3}]
    >>> list(sweep({"features": ["1", "y"]}))
    [{'features': ['1', 'y']}]
    """
    lists = [value if is_swept(key, value) else [value] for key, value in stated.items()]
    for values in itertools.product(*lists):
        yield dict(zip(stated, values, strict=True))


def is_swept(key: str, value: Any) -> bool:
    """Whether a parameter is a list of values; a list of formulas is one value of `features`."""
    formulas = key == "features" and isinstance(value, list) and set(map(type, value)) == {str}
    return isinstance(value, list) and not formulas
