"""The formula language of known rewards: safe, quick, and open to analysis."""

from onepull.formula.enclosure import Bounds, Enclosure
from onepull.formula.formula import Formula

__all__ = ["Bounds", "Enclosure", "Formula"]
