"""Saved policies: one JSON file with a version and a checksum, written atomically."""

from __future__ import annotations

import zlib
from typing import Annotated, Any, Literal, TypeVar, overload

import msgspec
import numpy as np

from onepull.checks import restored, shown, some
from onepull.errors import ParameterError, SaveFileError
from onepull.html import printable
from onepull.policies.sharing.inherited import holds
from onepull.problem import Problem, given_problem

POLICY_FORMAT = "onepull policy"
UPDATES = "onepull updates"  # what members of a fleet tell each other
WHAT = {POLICY_FORMAT: "a saved policy", UPDATES: "the updates of a fleet"}
SAVE_VERSION = 1
Kind = TypeVar("Kind")


class Saved(msgspec.Struct, forbid_unknown_fields=True):
    """The contents of a save file."""

    policy: str
    parameters: dict[str, Any]
    problem: dict[str, Any]
    learned: Any
    generator: dict[str, Any] | None = None
    counts: Any = None
    controls: Any = None
    fleet: Any = None


class _Envelope(msgspec.Struct):
    format: str
    version: int
    checksum: int
    saved: msgspec.Raw


class _Head(msgspec.Struct):
    format: str = ""
    version: int = 0


def encode(saved: Any, kind: str = POLICY_FORMAT) -> bytes:
    """Return the bytes of a save file."""
    body = msgspec.json.encode(saved, enc_hook=_unwrapped)
    return msgspec.json.encode(_Envelope(kind, SAVE_VERSION, zlib.crc32(body), msgspec.Raw(body)))


def as_saved(value: Any) -> Any:
    """Return a value as it comes back from a file.

    >>> as_saved({"delta": np.float64(0.5), "arms": ("a", "b")})
    {'delta': 0.5, 'arms': ['a', 'b']}
    """
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_unwrapped))


def _unwrapped(value: Any) -> Any:
    """Return what a parameter of numpy holds, such as the text of a `numpy.str_`."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise ParameterError(f"a parameter cannot be saved, given {shown(value)}")


@overload
def decode(text: bytes, where: str) -> Saved: ...
@overload
def decode(text: bytes, where: str, contents: type[Kind], kind: str) -> Kind: ...
def decode(text: bytes, where: str, contents: Any = Saved, kind: str = POLICY_FORMAT) -> Any:
    """Decode a save file; raises SaveFileError if it is damaged or of a newer version."""
    what = WHAT[kind]
    if not isinstance(text, (bytes, bytearray)):
        raise SaveFileError(f"{where}: not {what}: expected bytes, given {shown(text)}")
    try:
        head = msgspec.json.decode(text, type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SaveFileError(f"{where}: not {what}, or damaged: {printable(str(error))}") from None
    if head.format != kind:
        raise SaveFileError(f"{where}: not {what}: its format is {head.format!r}")
    if head.version < 1:
        raise SaveFileError(f"{where}: damaged: its version is {head.version}")
    if head.version > SAVE_VERSION:
        raise SaveFileError(
            f"{where}: saved by a newer onepull (file version {head.version}, this one reads "
            f"up to {SAVE_VERSION}); upgrade onepull"
        )
    try:
        envelope = msgspec.json.decode(text, type=_Envelope)
        body = bytes(envelope.saved)
        if zlib.crc32(body) != envelope.checksum:
            # Encode again, so that the checksum of a reformatted file still matches.
            body = msgspec.json.encode(msgspec.json.decode(body))
        saved = msgspec.json.decode(body, type=contents)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SaveFileError(f"{where}: damaged: {printable(str(error))}") from None
    if zlib.crc32(body) != envelope.checksum:
        raise SaveFileError(f"{where}: damaged: its checksum does not match its contents")
    return saved


def generator_state(generator: np.random.Generator | None) -> dict[str, Any] | None:
    """Return a generator's state, with numbers as text since they are too large for JSON."""
    if generator is None:
        return None
    return _plain(generator.bit_generator.state)  # type: ignore[no-any-return]


_Word = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,20}$")]  # a 64-bit number as text
_Long = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,39}$")]  # a 128-bit number as text
_Bit = Annotated[str, msgspec.Meta(pattern=r"^[01]$")]


def _words(count: int) -> Any:
    return Annotated[list[_Word], msgspec.Meta(min_length=count, max_length=count)]


class _Half(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A 32-bit number that was drawn with another and not used yet."""

    has_uint32: _Bit
    uinteger: _Word


class _Congruential(msgspec.Struct, forbid_unknown_fields=True):
    state: _Long
    inc: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{0,38}[13579]$")]  # odd, or it may stand still


class _PCG64(_Half, kw_only=True, forbid_unknown_fields=True):
    bit_generator: Literal["PCG64", "PCG64DXSM"]
    state: _Congruential


class _Words4(msgspec.Struct, forbid_unknown_fields=True):
    state: _words(4)  # type: ignore[valid-type]  # made by a function


class _SFC64(_Half, kw_only=True, forbid_unknown_fields=True):
    bit_generator: Literal["SFC64"]
    state: _Words4


class _Counter(msgspec.Struct, forbid_unknown_fields=True):
    counter: _words(4)  # type: ignore[valid-type]  # the same
    key: _words(2)  # type: ignore[valid-type]  # the same


class _Philox(_Half, kw_only=True, forbid_unknown_fields=True):
    bit_generator: Literal["Philox"]
    state: _Counter
    buffer: _words(4)  # type: ignore[valid-type]  # the same
    buffer_pos: Annotated[str, msgspec.Meta(pattern=r"^[0-4]$")]


class _Twister(msgspec.Struct, forbid_unknown_fields=True):
    key: _words(624)  # type: ignore[valid-type]  # the same
    pos: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,3}$")]


class _MT19937(msgspec.Struct, forbid_unknown_fields=True):
    bit_generator: Literal["MT19937"]
    state: _Twister


# numpy checks little: a position beyond the end would read foreign memory, and a state of zeros
# would draw the same number for ever.
_GENERATORS: dict[Any, Any] = {
    "PCG64": _PCG64,
    "PCG64DXSM": _PCG64,
    "SFC64": _SFC64,
    "Philox": _Philox,
    "MT19937": _MT19937,
}


def generator_from(state: dict[str, Any]) -> np.random.Generator:
    """Return a generator with a saved state; raises SaveFileError if it is invalid."""
    kind = state.get("bit_generator")
    if not isinstance(kind, str) or kind not in _GENERATORS:
        raise SaveFileError(f"unknown random generator {kind!r}")
    checked = restored(_GENERATORS[kind], state, "numbers of the random generator")
    if kind == "MT19937" and (int(checked.state.pos) > 624 or set(checked.state.key[1:]) == {"0"}):
        raise SaveFileError(f"the saved {kind} generator has an impossible position or key")
    bits = getattr(np.random, kind)()
    try:
        bits.state = _numbers(state)
    except (TypeError, ValueError, OverflowError) as error:
        raise SaveFileError(f"the saved random generator is damaged: {error}") from None
    if _plain(bits.state) != state:
        raise SaveFileError(f"the saved {kind} generator has numbers that are too large")
    return np.random.Generator(bits)


def seeded(seed: int | np.random.Generator | None) -> np.random.Generator | None:
    """Return a generator for a seed, or None for None."""
    try:
        if not isinstance(seed, bool):
            return None if seed is None else np.random.default_rng(seed)
    except (TypeError, ValueError):
        pass
    raise ParameterError(
        f"seed must be None, a whole number from 0 or a numpy Generator, given {seed!r}"
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return [str(number) for number in value.tolist()]
    return value if isinstance(value, str) else str(int(value))


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        names = {"bit_generator": str}
        return {key: names.get(key, _numbers)(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return np.array([int(number) for number in value], dtype=np.uint64)
    return int(value)


def problems_of(saved: Saved, problem: Problem | None) -> tuple[Problem, Problem]:
    """Return the saved problem and the one to load into, which holds all of its values."""
    if problem is None:
        if "reward" not in saved.problem:
            raise SaveFileError(
                "its reward is a Python callable, which is not stored in the file; "
                "give the problem: load(path, problem=…)"
            )
        alone = Problem.from_dict(saved.problem)
        return alone, alone
    given = given_problem(problem)
    alike = given.with_arms(saved.problem.get("arms", ()))
    whole = "reward" in saved.problem and given.reward.is_formula
    written = alike.to_dict() if whole else alike.outline()
    # Words that no arm has do not matter for what was learned.
    stated = [{**values, "words": {}} for values in (written, saved.problem)]
    # Compared as text, since the order of the fields matters for what was learned.
    if msgspec.json.encode(stated[0]) == msgspec.json.encode(stated[1]):
        return alike, given
    another = "the policy was saved for another problem than the one given"
    if whole and written["reward"] != saved.problem["reward"]:
        raise SaveFileError(
            f"{another}: its reward is {shown(saved.problem['reward'])}; load it with that "
            "reward, and then call with_reward"
        )
    if written.get("failure") != saved.problem.get("failure"):
        raise SaveFileError(f"{another}: the reward of a failure is another one")
    before = Problem.from_dict({**saved.problem, "reward": "0"})
    for role, new, old in (
        ("context", given.context, before.context),
        ("state", given.state, before.state),
    ):
        if list(new) != list(old):
            raise SaveFileError(f"{another}: the fields of its {role} are {some(old)}, in order")
        for name, space in old.items():
            if not holds(new[name], space):
                raise SaveFileError(
                    f"{another}: {name} was {space!r}, and {new[name]!r} does not hold all of it"
                )
    return before.with_reward(given.reward), given
