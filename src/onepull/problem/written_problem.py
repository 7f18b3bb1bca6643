"""A problem as plain values, as JSON and TOML files hold it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from onepull.checks import shown
from onepull.decoding import converted
from onepull.errors import ProblemError
from onepull.payoff import Reward
from onepull.problem.toml_text import toml
from onepull.spaces import Finite, Interval, Space


class _Range(msgspec.Struct, forbid_unknown_fields=True):
    # JSON has no infinity, so an end may be the text "inf" or "-inf".
    low: float | str
    high: float | str
    outside: str = "refuse"
    scale: str = "linear"


class _Declared(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    formula: str
    low: float | str | None = None
    high: float | str | None = None
    monotone: dict[str, str] = {}
    lipschitz: dict[str, float] = {}


class _Written(msgspec.Struct, forbid_unknown_fields=True):
    arms: list[str] | dict[str, dict[str, float | str]]
    state: dict[str, list[float | str] | _Range]
    reward: str | _Declared
    context: dict[str, list[float | str] | _Range] = {}
    failure: float | str | None = None
    words: dict[str, list[str]] = {}


def outline_of(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a problem, without its reward, as plain values."""
    failure, words = parts["failure"], parts["words"]
    return {
        "arms": _arms_out(parts["arms"]),
        "context": {name: _space_out(space) for name, space in parts["context"].items()},
        "state": {name: _space_out(space) for name, space in parts["state"].items()},
        **({} if failure is None else {"failure": failure}),
        **({"words": {name: list(w) for name, w in words.items()}} if words else {}),
    }


def reward_out(reward: Reward) -> Any:
    """Return a formula with its declarations as plain values."""
    declared = reward.declarations
    return {"formula": reward.source, **declared} if declared else reward.source


def parts_in(written: Any) -> dict[str, Any]:
    """Return plain values as the arguments of a problem."""
    read = converted(written, _Written, "a problem")
    return {
        "arms": read.arms,
        "context": _spaces_in(read.context, "context"),
        "state": _spaces_in(read.state, "state"),
        "reward": _reward_in(read.reward),
        "failure": read.failure,
        "words": read.words,
    }


def toml_of(written: Mapping[str, Any]) -> str:
    """Return a problem of plain values as TOML text."""
    attributes = written["arms"] if isinstance(written["arms"], dict) else {}
    plain = [key for key in ("arms", "reward", "failure") if key in written]
    plain = [key for key in plain if key != "arms" or not attributes]
    lines = [f"{key} = {toml(written[key])}" for key in plain]
    for arm, known in attributes.items():
        lines += ["", f"[arms.{toml(arm)}]"]
        lines += [f"{name} = {toml(value)}" for name, value in known.items()]
    for table in ("context", "state", "words"):
        if not written.get(table):
            continue
        lines += ["", f"[{table}]"]
        lines += [f"{name} = {toml(space)}" for name, space in written[table].items()]
    return "\n".join(lines) + "\n"


def _arms_out(arms: Any) -> Any:
    if not isinstance(arms, dict):
        return list(arms)
    return {
        arm: {
            name: value if isinstance(value, str) else _whole(value)
            for name, value in attributes.items()
        }
        for arm, attributes in arms.items()
    }


def _space_out(space: Space) -> Any:
    if isinstance(space, Finite):
        return list(space.words) or [_whole(value) for value in space.values]
    outside = {"outside": space.outside} if space.clips else {}
    scale = {"scale": space.scale} if space.is_log else {}
    return {"low": _whole(space.low), "high": _whole(space.high), **outside, **scale}


def _spaces_in(spaces: Mapping[str, list[float | str] | _Range], role: str) -> dict[str, Space]:
    found: dict[str, Space] = {}
    for name, space in spaces.items():
        try:
            found[name] = _space_in(space)
        except ProblemError as error:
            raise ProblemError(f"{role}, field {shown(name)}: {error}") from None
    return found


def _space_in(space: list[float | str] | _Range) -> Space:
    if isinstance(space, list):
        return Finite(space)  # type: ignore[arg-type]  # which checks that all are of one kind
    return Interval(_end(space.low), _end(space.high), outside=space.outside, scale=space.scale)


def _end(value: float | str) -> float:
    if not isinstance(value, str):
        return value
    if value not in ("inf", "-inf"):
        raise ProblemError(
            f"an end of an interval must be a number, 'inf' or '-inf', given {value!r}"
        )
    return float(value)


def _whole(value: float) -> float | str:
    """Return whole numbers as int and infinity as text, for JSON."""
    if math.isinf(value):
        return str(value)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _reward_in(reward: str | _Declared) -> Reward:
    if isinstance(reward, str):
        return Reward(reward)
    stated = msgspec.structs.asdict(reward)
    return Reward(stated.pop("formula"), **stated)
