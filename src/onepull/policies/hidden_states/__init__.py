"""Policies that see rewards which hide the state."""
