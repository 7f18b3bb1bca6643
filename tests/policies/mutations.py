"""Save files with wrong values and an honest checksum, and what must work if one loads.

`mutated` changes random values of a save file.  A reader can tell such a file from a good one
only by its values.  `exercise` uses a policy in every way.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
import numpy as np

from onepull import MergeError, Policy, SaveFileError
from onepull.testing.random_data import observations

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 7, 0.5, -0.5, 1.5, 1e-320, 1e-9, 1e308, -1e308, 1e154, 1e16,
    2**31, 2**53, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64, 10**30, -(10**30), 10**400, "", "x",
    "0", "1", "nan", "all", "joint", "per-context", "maps", "thresholds", [], {}, [1], [[]],
    [0.5, 0.5], {"a": 1}, {"all": {}}, "wifi", "x" * 1000, [0] * 1000, "min(", "1/0", "1e308*1e308",
)  # fmt: skip


class _Deep(NamedTuple):
    """A value inside many lists."""

    depth: int
    value: Any


class _Twice(dict[str, Any]):
    """A JSON object that has its last key twice."""


def mutated(blob: bytes, rng: np.random.Generator) -> bytes:
    """Return a save file with one to three random changes and the checksum that fits them.

    >>> from onepull import Finite, Interval, Problem, Random
    >>> problem = Problem(
    ...     arms=["a"], context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x * y"
    ... )
    >>> blob = Random(problem, seed=1).to_bytes()
    >>> mutated(blob, np.random.default_rng(1)) == blob
    False
    """
    document = json.loads(blob)
    saved = document["saved"]
    for _ in range(rng.integers(1, 4)):
        places = list(_places(saved))
        # Half of the changes in what was learned: other parts are read by constructors.
        learned = [place for place in places if place[0] is saved and place[1] == "learned"]
        if rng.random() < 0.5 and learned:
            places = [*learned, *_places(saved["learned"])]
        if not places:
            break
        _change(places, rng)
    return signed({**document, "saved": saved})


def signed(document: dict[str, Any]) -> bytes:
    """Return a document as a save file whose checksum fits its contents."""
    text = _text(document["saved"])
    try:
        body = msgspec.json.encode(msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError, ValueError):  # cannot be read, so never loads
        body = text.encode(errors="replace")
    head = {key: value for key, value in document.items() if key != "saved"}
    head["checksum"] = zlib.crc32(body)
    return f"{json.dumps(head)[:-1]}, {json.dumps('saved')}: {text}}}".encode(errors="replace")


def _places(tree: Any) -> Any:
    """Return each (container, key) below a value."""
    if isinstance(tree, (dict, list)):
        for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
            yield tree, key
            yield from _places(tree[key])


def _change(places: list[Any], rng: np.random.Generator) -> None:
    holder, key = places[rng.integers(len(places))]
    value = holder[key]
    options = [_replace, _replace, _remove, _swap, _nest]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        options += [_tweak] * 5
    if isinstance(value, list):
        options += [_rearrange] * 3
    if isinstance(value, dict):
        options += [_rename] * 3
    options[rng.integers(len(options))](places, holder, key, rng)


def _replace(places: list[Any], holder: Any, key: Any, rng: np.random.Generator) -> None:
    del places
    holder[key] = _copied(VALUES[rng.integers(len(VALUES))])


def _remove(places: list[Any], holder: Any, key: Any, rng: np.random.Generator) -> None:
    del places, rng
    del holder[key]


def _swap(places: list[Any], holder: Any, key: Any, rng: np.random.Generator) -> None:
    other, place = places[rng.integers(len(places))]
    holder[key], other[place] = _copied(other[place]), _copied(holder[key])


def _nest(places: list[Any], holder: Any, key: Any, rng: np.random.Generator) -> None:
    del places
    holder[key] = _Deep(int(rng.choice([1, 2, 50, 2000])), holder[key])


def _tweak(places: list[Any], holder: Any, key: Any, rng: np.random.Generator) -> None:
    del places
    value = holder[key]
    others = [-value, value + 1, value - 1, 2 * value, value / 3 if abs(value) < 1e300 else 0,
              value * 10**12, str(value), value + 0.5 if abs(value) < 1e300 else 0]  # fmt: skip
    holder[key] = others[rng.integers(len(others))]


def _rearrange(places: list[Any], holder: Any, key: Any, rng: np.random.Generator) -> None:
    del places
    value = holder[key]
    others = [value[::-1], value[1:], value[:-1], value + value, value + value[-1:], value * 50,
              [value[i] for i in rng.permutation(len(value))], [*value, None]]  # fmt: skip
    holder[key] = _copied(others[rng.integers(len(others))])


def _rename(places: list[Any], holder: Any, key: Any, rng: np.random.Generator) -> None:
    del places
    value = holder[key]
    names = [*value, "0", "1", "7", "all", "unknown", "", "-1", "١", "10" * 20]
    new = names[rng.integers(len(names))]
    old = names[rng.integers(len(names))]
    added = _copied(value.get(old, VALUES[rng.integers(len(VALUES))]))
    kind = _Twice if rng.random() < 0.3 else dict
    kept = {k: v for k, v in value.items() if k != old or rng.random() < 0.5}
    holder[key] = kind({**kept, new: added})


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return type(value)({key: _copied(inner) for key, inner in value.items()})
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def _text(value: Any) -> str:
    """Return a value as JSON; deep nesting does not matter, and a `_Twice` has a key twice."""
    parts: list[str] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, _Token):
            parts.append(item)
        elif isinstance(item, _Deep):
            stack += [_Token("]" * item.depth), item.value, _Token("[" * item.depth)]
        elif isinstance(item, dict):
            pairs = list(item.items())
            if isinstance(item, _Twice):
                pairs += pairs[-1:]
            inner: list[Any] = [_Token("{")]
            for i, (key, held) in enumerate(pairs):
                inner += [_Token(f"{',' * (i > 0)}{json.dumps(key)}:"), held]
            stack += reversed([*inner, _Token("}")])
        elif isinstance(item, list):
            inner = [_Token("[")]
            for i, held in enumerate(item):
                inner += [_Token(",")] * (i > 0) + [held]
            stack += reversed([*inner, _Token("]")])
        else:
            parts.append(json.dumps(item))
    return "".join(parts)


class _Token(str):
    """A part of JSON text."""

    __slots__ = ()


def exercise(policy: Policy, rng: np.random.Generator) -> None:
    """Use a policy in every way; raises whatever a call raises."""
    problem = policy.problem
    saved = policy.to_bytes()
    given = None if problem.reward.is_formula else problem
    twin = type(policy).from_bytes(saved, problem=given)
    assert twin.to_bytes() == saved, "saving the loaded policy gives another file"
    for pull in observations(problem, 4, rng):
        context = problem.context.among(pull)
        policy.choose(**context)
        policy.choose(eligible=[pull["arm"]], **context)
        str(policy.explain(**context))
        policy.explain(eligible=[pull["arm"]], **context)
        policy.estimates(**context)
        policy.indices(**context)
        policy.pulled(pull["arm"], **context)
        policy.choose(**context)
        policy.gave_up(pull["arm"], **context)
        policy.observe(**pull)
    _ = repr(policy), policy.storage, policy.storage_after(1000), policy.trials, policy.is_fresh
    with suppress(MergeError):
        policy.merge(twin)
    if policy.trials > 2**52:
        return  # the most that a save file may have is 2**53
    again = type(policy).from_bytes(policy.to_bytes(), problem=given)
    for pull in observations(problem, 2, rng):
        again.choose(**problem.context.among(pull))
        again.observe(**pull)


def loads_or_refuses(
    blob: bytes, rng: np.random.Generator, load: Callable[[bytes], Policy] = Policy.from_bytes
) -> bool:
    """Load a save file and use the policy; return False if `SaveFileError` refuses the file."""
    try:
        policy = load(blob)
    except SaveFileError:
        return False
    exercise(policy, rng)
    return True
