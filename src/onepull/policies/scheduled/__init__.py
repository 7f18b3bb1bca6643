"""Exploration by a schedule: ε-greedy and DSEE."""
