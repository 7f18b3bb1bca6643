"""Policies that assume a reward linear in features."""
