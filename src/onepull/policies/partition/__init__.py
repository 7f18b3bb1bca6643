"""Policies that refine a partition of the contexts."""
