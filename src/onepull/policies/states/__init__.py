"""Indices from the whole distribution of an arm's states."""
