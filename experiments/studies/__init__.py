"""Studies of our own, a file each."""
