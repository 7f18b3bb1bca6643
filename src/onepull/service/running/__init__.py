"""Processes: the command, workers, servers, their messages and measures."""
