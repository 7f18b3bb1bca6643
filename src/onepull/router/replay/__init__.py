"""What another formula or policy would have chosen and earned, from the log."""
