"""Plain functions of one arm: from what its pulls showed to an index."""
