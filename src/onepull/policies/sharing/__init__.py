"""Sharing: which contexts learn from a pull (its own, all of them, or the context is ignored)."""
