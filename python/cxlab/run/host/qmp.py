"""QEMU's monitor protocol over a socket that QEMU has inherited: commands, their answers, events.

Source: QEMU 10.0's documentation (QEMU Machine Protocol Specification).
"""

from __future__ import annotations

import json
import socket
from typing import Any


class Refused(Exception):
    """QEMU refused a command, or has gone."""


class Monitor:
    """The host's end; the caller waits until `socket` is readable before it calls `receive`."""

    def __init__(self, end: socket.socket) -> None:
        """Nothing has come yet."""
        self.socket = end
        self._rest = b""

    def send(self, command: str, **arguments: object) -> None:
        """Send a command; its answer comes among what is received, in the order of the commands."""
        self.socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")

    def receive(self) -> list[dict[str, Any]]:
        """Return the messages that have come: greeting, answers (``return``), events (``event``).

        Raises:
            Refused: an answer is an error, or QEMU has gone.

        """
        more = self.socket.recv(1 << 16)
        if not more:
            raise Refused("QEMU has gone")
        *lines, self._rest = (self._rest + more).split(b"\n")
        messages: list[dict[str, Any]] = [json.loads(line) for line in lines if line.strip()]
        for message in messages:
            if "error" in message:
                raise Refused(message["error"]["desc"])
        return messages
