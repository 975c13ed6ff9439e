"""Processes of the host: the supervisor, QEMU and the model in their jail, ports and streams."""
