"""What a run leaves: its folder, and its summary."""
