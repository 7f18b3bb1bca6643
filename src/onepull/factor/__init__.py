"""Factorisations of the reward, g(y, x) ≈ φ(y)·ψ(x), through which contexts share pulls."""

from onepull.factor.atoms import Atoms, Histogram, Sketch
from onepull.factor.cells import Cells
from onepull.factor.context_table import ContextTable
from onepull.factor.factorisation import Dense, Factorisation
from onepull.factor.grid import Grid
from onepull.factor.low_rank import LowRank
from onepull.factor.partition import partition
from onepull.factor.plain_psi import PlainPsi

__all__ = [
    "Atoms",
    "Cells",
    "ContextTable",
    "Dense",
    "Factorisation",
    "Grid",
    "Histogram",
    "LowRank",
    "PlainPsi",
    "Sketch",
    "partition",
]
