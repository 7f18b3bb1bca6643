"""Policies that learn which of a class of policies is best."""
