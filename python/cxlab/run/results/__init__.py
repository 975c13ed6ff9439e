"""Results of a run: its folder, and its summary."""
