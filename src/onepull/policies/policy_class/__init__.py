"""Policies that learn which policy of a finite class is best."""
