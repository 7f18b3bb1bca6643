"""The spaces of contexts and states.

A `Finite` space is a list of numbers or of words, an `Interval` is a closed range, and a `Box` is a
product of spaces with a name for each field.  All are immutable, validated on construction,
and compare by their contents.
"""

from onepull.spaces.box import FAILED, NO_CONTEXT, Box, Space
from onepull.spaces.finite import Finite
from onepull.spaces.interval import Interval

__all__ = ["FAILED", "NO_CONTEXT", "Box", "Finite", "Interval", "Space"]
