"""How long and how often a simulation may run."""

from __future__ import annotations

from typing import Any

from onepull.checks import whole_number
from onepull.errors import ParameterError

MOST_TRIALS = 2**53  # a float counts exactly up to here
MOST_SLOTS = 10**9  # of a run with a buffer, which keeps every slot in memory
MOST_REPLICATIONS = 10**6  # each keeps its regret at every checkpoint
LONGEST = 40  # digits shown of a number


def number_of_trials(value: Any, most: int = MOST_TRIALS) -> int:
    """Return a horizon; raises ParameterError if no simulation can have it.

    >>> number_of_trials(10**30)
    Traceback (most recent call last):
    onepull.errors.ParameterError: horizon must be at most 9,007,199,254,740,992, given \
1000000000000000000000000000000
    """
    return _at_most(most, "horizon", whole_number("horizon", value))


def number_of_replications(value: Any) -> int:
    """Return a number of replications; raises ParameterError if there cannot be so many.

    >>> number_of_replications(0)
    Traceback (most recent call last):
    onepull.errors.ParameterError: replications must be a whole number from 1, given 0
    """
    return _at_most(MOST_REPLICATIONS, "replications", whole_number("replications", value))


def _at_most(most: int, name: str, value: int) -> int:
    if value > most:
        # Python refuses to write numbers of thousands of digits.
        given = str(value) if value < 10**LONGEST else f"one of more than {LONGEST} digits"
        raise ParameterError(f"{name} must be at most {most:,}, given {given}")
    return value
