"""``--keep DIR``: what the program wrote, copied out; a file appears in DIR only when the run is complete."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cxlab.machine.errors import UnusableFolder
from cxlab.machine.guest import WrittenFile

KEPT = ("file", "folder", "symlink")


class Keep:
    """The folder, and a hidden one in it that the guest copies into."""

    def __init__(self, folder: Path) -> None:
        """Make both."""
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.arriving = Path(tempfile.mkdtemp(prefix=".cxlab-keep-", dir=folder)).resolve()
        except OSError as error:
            raise UnusableFolder(f"--keep {folder}: {error}") from None

    def __enter__(self) -> Keep:
        """Nothing to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """Drop what has not been accepted."""
        shutil.rmtree(self.arriving, ignore_errors=True)

    def accept(self, files: Sequence[WrittenFile]) -> None:
        """Move what has arrived into the folder, at the paths that the program used."""
        try:
            for file in files:
                source, target = (base / file.path.lstrip("/") for base in (self.arriving, self.folder))
                if file.kind == "folder":
                    target.mkdir(parents=True, exist_ok=True)
                elif file.kind in KEPT:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    os.replace(source, target)
        except OSError as error:
            raise UnusableFolder(f"--keep {self.folder}: {error}") from None
