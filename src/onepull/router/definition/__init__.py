"""What a router is about, and what changes when it is opened with something else."""
