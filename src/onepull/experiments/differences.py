"""The differences between two experiment files, key by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

ABSENT = "not given"
LONGEST_VALUE = 60  # characters of a value
MOST_NAMED = 5  # differences to name


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the keys whose values differ, each with its old and new value.

    Tables in a list are counted from 1.

    >>> differences(
    ...     {"seed": 1, "policies": [{"policy": "DCB"}]},
    ...     {"seed": 2, "policies": [{"policy": "DCB", "epsilon": 0.1}]},
    ... )
    ['seed: 1 → 2', 'policies #1.epsilon: not given → 0.1']
    """
    return [f"{key}: {_shown(a)} → {_shown(b)}" for key, a, b in _compared("", old, new)]


def summarised(found: Sequence[str]) -> str:
    """Return the first few differences as one line.

    >>> summarised([f"key {i}: 1 → 2" for i in range(7)])[-25:]
    'key 4: 1 → 2 and 2 others'
    """
    rest = len(found) - MOST_NAMED
    return ", ".join(found[:MOST_NAMED]) + (
        f" and {rest} other{'s' * (rest > 1)}" if rest > 0 else ""
    )


def _compared(key: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys([*old, *new]):
            inner = f"{key}.{name}" if key else str(name)
            yield from _compared(inner, old.get(name), new.get(name))
    elif _are_tables(old) and _are_tables(new):
        for i in range(max(len(old), len(new))):
            pair = (part[i] if i < len(part) else None for part in (old, new))
            yield from _compared(f"{key} #{i + 1}", *pair)
    elif old != new:
        yield key, old, new


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, Mapping) for part in value)


def _shown(value: Any) -> str:
    text = ABSENT if value is None else repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
