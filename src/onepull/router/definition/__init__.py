"""The definition of a router, and what changes when a log is opened with another one."""
