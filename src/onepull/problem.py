"""A problem: the arms, the spaces of contexts and states, and the known reward."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from onepull.checks import plain_text, shown
from onepull.errors import ParameterError, ProblemError
from onepull.formula.operations import FUNCTIONS
from onepull.html import block, names, printable
from onepull.html import table as html_table
from onepull.payoff import Payoff, Reward, bind
from onepull.payoff.reward import Source
from onepull.spaces import NO_CONTEXT, Box, Finite, Interval, Space

# Parameter names of `choose` and `observe`.
RESERVED = frozenset({"arm", "arms", "eligible", "reward", "self", NO_CONTEXT})
# The analysis of a reward takes longer with every field.
FIELDS = 16
MOST_ARMS = 1_000_000
MOST_PARTS = 64  # of a dotted key in a file
TOML_STRING = re.compile(r"""\"(?:[^"\\\n]|\\.)*+\"|'[^'\n]*+'""")
SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, init=False)
class Problem:
    """The arms, the spaces and the reward: everything known before the first pull.

    Parameters
    ----------
    arms
        The names of the arms.
    context
        The fields of a request, seen before choosing, each with its space; none if all requests
        are alike.
    state
        The fields of an arm's state, shown by a pull, each with its space.
    reward
        The known reward: a formula over those fields, a callable that takes them by name,
        or a `Reward` with declarations.

    Examples
    --------
    >>> problem = Problem(
    ...     arms=["wifi", "lte", "5g"],
    ...     context={"bits": Finite([1, 2, 3, 4])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... )
    >>> problem.payoff(bits=3, capacity=2)
    2.0
    >>> Problem.from_json(problem.to_json()) == problem
    True
    """

    arms: tuple[str, ...]
    context: Box
    state: Box
    reward: Reward
    payoff: Payoff = field(compare=False, repr=False)

    def __init__(
        self,
        *,
        arms: Iterable[str],
        context: Mapping[str, Space] | None = None,
        state: Mapping[str, Space],
        reward: Reward | Source,
    ) -> None:
        set_ = object.__setattr__
        set_(self, "arms", _arm_names(arms))
        set_(self, "context", _context(context).acting_as("context"))
        set_(self, "state", Box(state).acting_as("state"))
        _check_fields(self.context, self.state)
        set_(self, "reward", reward if isinstance(reward, Reward) else Reward(reward))
        set_(self, "payoff", bind(self.reward, self.context, self.state))

    def with_arms(self, arms: Iterable[str]) -> Problem:
        """Return the same problem with other arms.

        >>> problem = Problem(
        ...     arms=["a"], context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x * y"
        ... )
        >>> problem.with_arms(["a", "b"]).arms
        ('a', 'b')
        """
        other = object.__new__(Problem)
        for name in ("context", "state", "reward", "payoff"):
            object.__setattr__(other, name, getattr(self, name))
        object.__setattr__(other, "arms", _arm_names(arms))
        return other

    def with_reward(self, reward: Reward | Source) -> Problem:
        """Return the same problem with another reward.

        >>> problem = Problem(
        ...     arms=["a"], context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x * y"
        ... )
        >>> problem.with_reward("x + y").payoff(x=0.5, y=1)
        1.5
        """
        return Problem(arms=self.arms, context=self.context, state=self.state, reward=reward)

    def _repr_html_(self) -> str:
        """Return the problem as a table for a notebook."""
        source = self.reward.source
        reward = source if isinstance(source, str) else getattr(source, "__name__", repr(source))
        fields = [
            (role, f"{name}: {space}")
            for role, box in (("context", self.context), ("state", self.state))
            for name, space in box.items()
            if box.has_fields
        ]
        rows = [
            ("arms", names(self.arms)),
            *fields,
            ("reward", reward),
        ]
        return block(html_table("Problem", (), rows, text_columns=2))

    def __reduce__(self) -> Any:
        """Pickle the problem by its constructor arguments."""
        context = self.context if self.context.has_fields else {}
        spaces = {"context": dict(context), "state": dict(self.state)}
        return partial(type(self), arms=self.arms, **spaces, reward=self.reward), ()

    # Reading and writing files

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as plain values; raises `ProblemError` if the reward is a callable."""
        if not self.reward.is_formula:
            raise ProblemError(
                "a reward given as a Python callable cannot be written to a file; "
                "write it as a formula, or build the problem in code"
            )
        return {**self.outline(), "reward": _reward_out(self.reward)}

    def outline(self) -> dict[str, Any]:
        """Return the problem without its reward as plain values."""
        return {
            "arms": list(self.arms),
            "context": {
                name: _space_out(space)
                for name, space in self.context.items()
                if self.context.has_fields
            },
            "state": {name: _space_out(space) for name, space in self.state.items()},
        }

    def to_json(self) -> str:
        """Return the problem as JSON text."""
        return msgspec.json.format(msgspec.json.encode(self.to_dict()).decode(), indent=2)

    def to_toml(self) -> str:
        """Return the problem as TOML text."""
        written = self.to_dict()
        lines = [f"{key} = {_toml(written[key])}" for key in ("arms", "reward")]
        for table in ("context", "state"):
            if not written[table]:
                continue
            lines += ["", f"[{table}]"]
            lines += [f"{name} = {_toml(space)}" for name, space in written[table].items()]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Problem:
        """Read a problem from JSON text."""
        if not isinstance(text, str | bytes):
            raise ProblemError(f"not a problem in JSON: given {shown(text)}, which is not text")
        try:
            return cls.from_dict(msgspec.json.decode(text))
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise ProblemError(f"not a problem in JSON: {printable(str(error))}") from None

    @classmethod
    def from_toml(cls, text: str | bytes) -> Problem:
        """Read a problem from TOML text.

        >>> Problem.from_toml('''
        ... arms = ["wifi", "lte"]
        ... reward = "min(bits, capacity)"
        ... [context]
        ... bits = [1, 2, 3, 4]
        ... [state]
        ... capacity = {low = 0, high = inf}
        ... ''').state
        Box(capacity=Interval(0, inf))
        """
        return cls.from_dict(toml_values(text, "a problem in TOML"))

    @classmethod
    def from_dict(cls, written: Any) -> Problem:
        """Build a problem from plain values; unknown keys raise `ProblemError`."""
        try:
            read = msgspec.convert(written, _Written)
        except msgspec.ValidationError as error:
            raise ProblemError(f"not a problem: {printable(str(error))}") from None
        return cls(
            arms=read.arms,
            context={name: _space_in(space) for name, space in read.context.items()},
            state={name: _space_in(space) for name, space in read.state.items()},
            reward=_reward_in(read.reward),
        )


def toml_values(text: str | bytes, what: str) -> dict[str, Any]:
    """Return TOML text as plain values; raises `ProblemError` if it is not `what` it should be.

    >>> toml_values("horizon = 1000", "an experiment")
    {'horizon': 1000}
    """
    if not isinstance(text, str | bytes):
        raise ProblemError(f"not {what}: given {shown(text)}, which is not text")
    try:
        written = text if isinstance(text, str) else text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ProblemError(f"not {what}: not UTF-8 text ({error})") from None
    if "\0" in written:
        raise ProblemError(f"not {what}: has null characters; save it as UTF-8")
    # Keys of many parts take Python time and memory that grow with the square of their number.
    outside = TOML_STRING.sub('""', written)
    if any(run.count(".") > MOST_PARTS for run in re.split(r"[,=\[\]{}#\n]", outside)):
        raise ProblemError(f"not {what}: has a key of more than {MOST_PARTS} parts")
    try:
        found: dict[str, Any] = msgspec.toml.decode(written.removeprefix("\ufeff"))
    except msgspec.DecodeError as error:
        raise ProblemError(f"not {what}: {printable(str(error))}") from None
    except ValueError:  # Python converts no longer text to a number
        raise ProblemError(f"not {what}: has a number of thousands of digits") from None
    except RecursionError:
        raise ProblemError(f"not {what}: has too many lists or tables in each other") from None
    return found


def given_problem(value: Any) -> Problem:
    """Return a problem that a user gave; raises `ParameterError` if it is something else."""
    if isinstance(value, Problem):
        return value
    raise ParameterError(f"problem must be a Problem, given {shown(value)}")


class _Range(msgspec.Struct, forbid_unknown_fields=True):
    # JSON has no infinity, so an end may be the text "inf" or "-inf".
    low: float | str
    high: float | str
    outside: str = "refuse"


class _Declared(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    formula: str
    low: float | str | None = None
    high: float | str | None = None
    monotone: dict[str, str] = {}
    lipschitz: dict[str, float] = {}


class _Written(msgspec.Struct, forbid_unknown_fields=True):
    arms: list[str]
    state: dict[str, list[float | str] | _Range]
    reward: str | _Declared
    context: dict[str, list[float | str] | _Range] = {}


def _arm_names(arms: Iterable[str]) -> tuple[str, ...]:
    if isinstance(arms, str):
        raise ProblemError(f"arms takes a list of names, given the text {shown(arms)}")
    # The order of a set differs between runs.
    if isinstance(arms, (bytes, set, frozenset)) or not isinstance(arms, Iterable):
        raise ProblemError(f"arms takes a list of names, given {shown(arms)}")
    try:
        listed = list(itertools.islice(arms, MOST_ARMS + 1))
    except TypeError:  # an array without dimensions
        raise ProblemError(f"arms takes a list of names, given {shown(arms)}") from None
    if not listed:
        raise ProblemError("a problem needs at least one arm, given none")
    if len(listed) > MOST_ARMS:
        raise ProblemError(f"a problem may have at most {MOST_ARMS:,} arms, given more")
    names: dict[str, None] = {}
    for name in listed:
        if not isinstance(name, str) or not name:  # type: ignore[redundant-expr]
            raise ProblemError(f"an arm's name must be text and not empty, given {shown(name)}")
        if not name.isascii() and SURROGATE.search(name):
            raise ProblemError(f"an arm's name must be valid Unicode, given {shown(name)}")
        if name in names:
            raise ProblemError(f"arm names must be unique, given {shown(name)} twice")
        names[plain_text(name)] = None
    return tuple(names)


def _context(spaces: Any) -> Box:
    if spaces is None or (isinstance(spaces, Mapping) and not spaces):
        return Box.without_fields()
    if isinstance(spaces, Box) and not spaces.has_fields:
        return spaces
    return Box(spaces)


def _check_fields(context: Box, state: Box) -> None:
    for box, role in ((context, "context"), (state, "state")):
        if not box:
            raise ProblemError(f"the {role} needs at least one field, given none")
        if len(box) > FIELDS:
            raise ProblemError(f"the {role} may have at most {FIELDS} fields, given {len(box)}")
    for name in (*context, *state):
        if (name in RESERVED or name in FUNCTIONS) and name not in context.implied:
            raise ProblemError(f"field {name!r}: this name is reserved; choose another")
    for name in context:
        if name in state:
            raise ProblemError(f"field {name!r} is both a context and a state field; rename one")


def _space_out(space: Space) -> Any:
    if isinstance(space, Finite):
        return list(space.words) or [_whole(value) for value in space.values]
    outside = {"outside": space.outside} if space.clips else {}
    return {"low": _whole(space.low), "high": _whole(space.high), **outside}


def _space_in(space: list[float | str] | _Range) -> Space:
    if isinstance(space, list):
        return Finite(space)  # type: ignore[arg-type]  # which checks that all are of one kind
    return Interval(_end(space.low), _end(space.high), outside=space.outside)


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


def _reward_out(reward: Reward) -> Any:
    declared = reward.declarations
    return {"formula": reward.source, **declared} if declared else reward.source


def _reward_in(reward: str | _Declared) -> Reward:
    if isinstance(reward, str):
        return Reward(reward)
    stated = msgspec.structs.asdict(reward)
    return Reward(stated.pop("formula"), **stated)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        # A JSON string is a valid TOML string, except for DEL and surrogate pairs.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
