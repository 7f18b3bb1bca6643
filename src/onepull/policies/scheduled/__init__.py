"""Policies that explore on a schedule: ε-greedy and DSEE."""
