"""What a pull teaches, and whom: its context, every context, or nobody but the arm."""
