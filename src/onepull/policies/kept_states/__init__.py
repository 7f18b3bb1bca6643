"""Policies that keep the observed states themselves."""
