"""What a log says: the state that follows from its events."""
