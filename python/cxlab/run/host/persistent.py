"""The folder of ``--persistent-in``: it keeps persistent partitions, however the run ends.

::

    DIR/layout.json   which partitions these are; locked while a run has them
    DIR/NODE.media    what lies behind a window, as QEMU maps it
    DIR/SERIAL.labels the label storage area of a device

QEMU maps the files and shares them. So what the guest has stored is in the host's page cache at once. It
stays if QEMU is killed, as after a Global Persistent Flush that succeeds
(docs/decisions/persistent-memory.md). No other file of the host is written by a guest.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cxlab.run.errors import BadRequest
from cxlab.run.machine import Machine
from cxlab.run.topology import LABEL_BYTES, Topology, Window, labels_of, media_of

LAYOUT = "layout.json"


class Folder:
    """The folder, open and locked."""

    def __init__(self, folder: Path, machine: Machine, topology: Topology) -> None:
        """Open the folder, and make the files that are missing. They are empty.

        Raises:
            BadRequest: it holds other partitions, another run has it, or it cannot be written.

        """
        self.folder = folder
        windows = [window for window in topology.windows if window.persistent]
        nodes = [machine.nodes[window.node].name for window in windows]
        try:
            folder.mkdir(exist_ok=True)
            self._lock = os.open(folder / LAYOUT, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                self._take(nodes, windows)
                #: by the name of QEMU's object
                self.files = self._made(nodes, windows)
            except BaseException:
                os.close(self._lock)
                raise
        except OSError as error:
            raise BadRequest(
                f"--persistent-in {folder}: {error.strerror}. Name a folder to write in"
            ) from None

    def _take(self, nodes: Sequence[str], windows: Sequence[Window]) -> None:
        """Lock the folder, and hold its layout to the machine's."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadRequest(
                f"--persistent-in {self.folder}: another run has it. Wait for its end, or name another folder"
            ) from None
        wanted = [_layout(*each) for each in zip(nodes, windows, strict=True)]
        text = (self.folder / LAYOUT).read_text()
        if not text:
            os.write(self._lock, (json.dumps(wanted, indent=2) + "\n").encode())
            return
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if found != wanted:
            raise BadRequest(
                f"--persistent-in {self.folder}: it holds other partitions. {LAYOUT} has "
                f"{json.dumps(found)}, "
                f"the options ask for {json.dumps(wanted)}. Give its options, or name another folder"
            )

    def _made(self, nodes: Sequence[str], windows: Sequence[Window]) -> dict[str, Path]:
        files = {}
        for node, window in zip(nodes, windows, strict=True):
            files[media_of(window)] = self._file(f"{node}.media", window.persistent)
            for device in window.devices:
                files[labels_of(device.serial)] = self._file(f"{device.serial}.labels", LABEL_BYTES)
        return files

    def _file(self, name: str, size: int) -> Path:
        """A file of this size, with holes where nothing was ever stored."""
        path = self.folder / name
        with path.open("ab") as file:
            file.truncate(size)
        return path.absolute()

    def __enter__(self) -> Folder:
        """Nothing to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let another run have it."""
        os.close(self._lock)


def _layout(node: str, window: Window) -> dict[str, Any]:
    """Return the layout that labels and media depend on."""
    return {
        "node": node,
        "volatile_bytes": window.volatile,
        "persistent_bytes": window.persistent,
        "serials": [device.serial for device in window.devices],
        "bridges": len(window.bridges),
        "granularity": window.granularity,
    }
