"""Policies for arms that drift."""
