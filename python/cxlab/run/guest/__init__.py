"""What the guest is made of: its kernel, its first root, the protocol of its init."""
