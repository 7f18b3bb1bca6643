"""How long and how often a simulation may run."""

from __future__ import annotations

from typing import Any

from onepull.checks import LARGEST_COUNT, whole_number

MOST_TRIALS = LARGEST_COUNT  # a float counts exactly up to here
MOST_SLOTS = 10**9  # of a run with a buffer, which keeps every slot in memory
MOST_REPLICATIONS = 10**6  # each keeps its regret at every checkpoint


def number_of_trials(value: Any, most: int = MOST_TRIALS) -> int:
    """Return a horizon; raises ParameterError if no simulation can have it.

    >>> number_of_trials(10**10, most=MOST_SLOTS)
    Traceback (most recent call last):
    onepull.errors.ParameterError: horizon must be a whole number from 1 to 1,000,000,000, \
given 10000000000
    """
    return whole_number("horizon", value, most=most)


def number_of_replications(value: Any) -> int:
    """Return a number of replications; raises ParameterError if there cannot be so many.

    >>> number_of_replications(0)
    Traceback (most recent call last):
    onepull.errors.ParameterError: replications must be a whole number from 1, given 0
    """
    return whole_number("replications", value, most=MOST_REPLICATIONS)
