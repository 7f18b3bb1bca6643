"""Policies whose index uses the whole distribution of an arm's states, not only means."""
