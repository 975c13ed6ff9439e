"""What a run depended on beside its options: the program's file, by its content.

Not told: the libraries that the program's loader chose, and the files that it read.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def program_file(program: str, cwd: str, environment: Mapping[str, str]) -> dict[str, Any] | None:
    """Path, size [bytes] and SHA-256 of the file that ``program`` names; None if there is none."""
    path = (
        os.path.join(cwd, program)
        if os.sep in program
        else shutil.which(program, path=environment.get("PATH"))
    )
    if path is None:
        return None
    try:
        with Path(path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
            return {"path": os.path.realpath(path), "bytes": file.tell(), "sha256": digest.hexdigest()}
    except OSError:
        return None
