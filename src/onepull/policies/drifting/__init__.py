"""Policies for arms that change over time."""
