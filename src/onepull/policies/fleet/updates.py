"""What the members of a fleet send each other, and how it is checked."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

import msgspec

from onepull.checks import Count, shown
from onepull.errors import MergeError, ParameterError
from onepull.html import printable

LONGEST_MEMBER = 200  # characters of a member's name
START = "start "  # the name of what was learned before joining begins so

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_MEMBER)]


class Contribution(msgspec.Struct, forbid_unknown_fields=True):
    """What one member has observed itself, in its written form."""

    version: Count
    arms: list[Any] | dict[str, Any]
    learned: Any
    counts: Any


class FleetState(msgspec.Struct, forbid_unknown_fields=True):
    """The saved form of a fleet, as one member knows it."""

    name: _Name
    started: Count
    contributions: dict[_Name, Contribution]
    start: Contribution | None = None


class Told(msgspec.Struct, forbid_unknown_fields=True):
    """Contributions by member, and what all started with, if that matters."""

    contributions: dict[_Name, Contribution]
    start: Contribution | None = None


class Identity(msgspec.Struct, forbid_unknown_fields=True):
    """What must be the same in all members: the policy, its parameters and its problem."""

    policy: str
    parameters: dict[str, Any]
    problem: dict[str, Any]


class Updates(msgspec.Struct, forbid_unknown_fields=True):
    """What one member tells others."""

    identity: Identity
    told: Told


class Absorbed(msgspec.Struct, frozen=True):
    """What was new in the updates of another member.

    Attributes
    ----------
    versions
        The members of whom something new was learned, and their versions.
    unused_arms
        Arms that others have and this policy does not.  What they tell about them is kept and
        passed on, and is used as soon as the arm is added.

    Examples
    --------
    >>> Absorbed({"host-2": 7}, ("satellite",)).versions
    {'host-2': 7}
    """

    versions: dict[str, int]
    unused_arms: tuple[str, ...]


def check_identity(mine: Any, theirs: Identity) -> None:
    """Raise MergeError unless two members have the same policy, parameters and problem.

    >>> one = Identity("DCB", {"epsilon": 0.01}, {})
    >>> check_identity(msgspec.to_builtins(one), Identity("UCB1", {}, {}))
    Traceback (most recent call last):
    onepull.errors.MergeError: updates of a UCB1 cannot be absorbed by a DCB
    """
    if theirs.policy != mine["policy"]:
        raise MergeError(
            f"updates of a {printable(theirs.policy)} cannot be absorbed by a {mine['policy']}"
        )
    # The order of the fields matters for what was learned.
    if msgspec.json.encode(theirs.problem) != msgspec.json.encode(mine["problem"]):
        raise MergeError("the problems differ in context, state or reward")
    if as_text(theirs.parameters) != as_text(mine["parameters"]):
        raise MergeError(f"the parameters differ: {mine['parameters']} and {theirs.parameters}")


def checked_name(name: Any) -> str:
    """Return the name of a member; raises ParameterError if it is not a name.

    >>> checked_name("host-1 2026-05-01T12:00")
    'host-1 2026-05-01T12:00'
    """
    if (
        isinstance(name, str)
        and 0 < len(name) <= LONGEST_MEMBER
        and printable(name) == name
        and not name.startswith(START)
    ):
        return str(name)
    raise ParameterError(
        f"the name of a member must be 1 to {LONGEST_MEMBER} printable characters and not begin "
        f"with {START!r}, given {shown(name)}"
    )


def checked_versions(since: Any) -> dict[str, int] | None:
    """Return the versions that another member has; raises ParameterError if they are not such."""
    try:
        return msgspec.convert(since, dict[str, Count] | None)
    except msgspec.ValidationError as error:
        raise ParameterError(
            f"since must be the versions of another member, as policy.versions has them: {error}"
        ) from None


def as_text(value: Any) -> bytes:
    """Return a value as JSON with sorted keys, so that equal values are equal texts."""
    return msgspec.json.encode(value, order="sorted")


def contribution_digest(contribution: Contribution) -> str:
    """Return a short text that tells two contributions apart."""
    return hashlib.sha256(as_text(contribution)).hexdigest()[:24]
