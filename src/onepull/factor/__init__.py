"""Factorisations of the reward, g(y, x) ≈ φ(y)·ψ(x): the one idea behind every policy."""

from onepull.factor.base import Dense, Factorisation
from onepull.factor.cells import Cells
from onepull.factor.grid import Grid
from onepull.factor.partition import partition
from onepull.factor.table import Table

__all__ = ["Cells", "Dense", "Factorisation", "Grid", "Table", "partition"]
