"""Which operations formulas use."""

from __future__ import annotations

from onepull.formula import Formula
from onepull.formula import operations as op


def used_operations(texts, names):
    """Return the operations in formulas over fields of these names."""
    used = set()

    def visit(term):
        used.add(getattr(term, "operation", None))
        for inner in getattr(term, "terms", ()):
            visit(inner)

    for text in texts:
        visit(Formula(text, names).tree)
    return used - {None}


def all_operations():
    """Return all operations that there are."""
    known = {value for value in vars(op).values() if isinstance(value, op.Operation)}
    return known | set(op.FUNCTIONS.values()) | set(op.POWERS.values())
