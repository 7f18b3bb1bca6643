"""Policies that pay for pulls from a budget."""
