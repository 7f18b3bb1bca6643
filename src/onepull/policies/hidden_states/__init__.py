"""Policies for rewards that do not determine the state."""
