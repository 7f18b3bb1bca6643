"""Torture: random cases, one for each seed, that look for what breaks.

`make torture` runs them for minutes or hours; `make test` runs the first few of each area.
"""
