"""What the dashboard shows of a problem, from its log."""
