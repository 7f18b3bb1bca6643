"""The fields of a problem: which names and how many there may be."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

from onepull.checks import real, shown
from onepull.errors import ProblemError
from onepull.formula.operations import FUNCTIONS
from onepull.spaces import FAILED, NO_CONTEXT, Box

# Parameter names of `choose` and `observe`.
RESERVED_NAMES = frozenset({"arm", "arms", "eligible", "reward", "self", FAILED, NO_CONTEXT})
RESERVED_OF_ARMS = frozenset({"by", "error"})  # of `set_attributes` of a policy or a router
# The analysis of a reward takes longer with every field.
MOST_FIELDS = 16


def box_of(spaces: Any, role: str) -> Box:
    """Return the fields of the context or the state."""
    nothing = spaces is None or (isinstance(spaces, Mapping) and not spaces)
    if role == "context" and nothing:
        return Box.without_fields().acting_as(role)
    if isinstance(spaces, Box) and not spaces.has_fields:
        return spaces.acting_as(role)
    try:
        return Box(spaces).acting_as(role)
    except ProblemError as error:
        raise ProblemError(f"{role}: {error}") from None


def check_fields(context: Box, state: Box, attributes: Box) -> None:
    """Raise ProblemError if there are too few or too many fields, or one has a wrong name."""
    for box, role in ((context, "context"), (state, "state")):
        if not box:
            raise ProblemError(f"the {role} needs at least one field, given none")
        if len(box) > MOST_FIELDS:
            raise ProblemError(
                f"the {role} may have at most {MOST_FIELDS} fields, given {len(box)}"
            )
    if len(attributes) > MOST_FIELDS:
        raise ProblemError(
            f"arms may have at most {MOST_FIELDS} attributes, given {len(attributes)}"
        )
    reserved = RESERVED_NAMES | FUNCTIONS.keys() | RESERVED_OF_ARMS.intersection(attributes)
    for name in (*context, *state, *attributes):
        if name in reserved and name not in context.implied:
            raise ProblemError(f"field {name!r}: this name is reserved; choose another")
    roles = (("a context", context), ("a state", state), ("an attribute", attributes))
    for (one, box), (two, other) in itertools.combinations(roles, 2):
        for name in box:
            if name in other:
                raise ProblemError(f"field {name!r} is both {one} and {two} field; rename one")


def checked_failure(given: Any) -> float | str | None:
    """Return the reward of a failure; raises ProblemError if it cannot be one."""
    if given is None or isinstance(given, str):
        return given
    try:
        value = real(given)
    except TypeError:
        value = math.nan
    if not math.isfinite(value):
        raise ProblemError(f"failure takes a finite number or a formula, given {shown(given)}")
    return value
