"""The formula language for known rewards: safe, fast, and open to analysis."""

from onepull.formula.enclosure import Bounds, Enclosure
from onepull.formula.formula import Formula

__all__ = ["Bounds", "Enclosure", "Formula"]
