"""The formula language of known rewards: safe, quick, and open to analysis."""

from onepull.formula.enclosure import Array, Bounds, Enclosure
from onepull.formula.formula import Formula

__all__ = ["Array", "Bounds", "Enclosure", "Formula"]
