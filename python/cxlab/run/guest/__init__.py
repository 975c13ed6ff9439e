"""The parts of the guest: its kernel, its first root, the protocol of its init."""
