"""Files that a run depended on beside its options, by their content.

::

    program_file   the program
    libraries      what its loader reads before it begins (libraries.py)
    input_files    arguments that are files

Not told: standard input, files that the program opens by other names, libraries that it loads later, and
programs that it starts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cxlab.run.program_file import GUEST_TREES, find
from cxlab.run.results import libraries

#: Two seconds of SHA-256; of a larger argument only the size is told [bytes].
MOST_BYTES = 4 << 30


def program_file(program: str, cwd: str, environment: Mapping[str, str]) -> dict[str, Any] | None:
    """Path, size [bytes] and SHA-256 of the file that ``program`` names; None if there is none."""
    path = find(program, cwd, environment)
    return None if path is None else _named(str(path), None)


def library_files(program: str, cwd: str, environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the hashes of files that the program's loader reads before the program begins."""
    path = find(program, cwd, environment)
    read = [] if path is None else libraries.read(str(path), environment)
    return [file for path in read if (file := _named(path, None)) is not None]


def argument_files(arguments: Sequence[str], cwd: str) -> list[dict[str, Any]]:
    """Return the hash of each argument that is a file of this host."""
    paths = dict.fromkeys(os.path.realpath(os.path.join(cwd, text)) for text in arguments if _may_be(text))
    ours = (path for path in paths if os.path.isfile(path) and not path.startswith(GUEST_TREES))
    return [file for path in ours if (file := _named(path, MOST_BYTES)) is not None]


def _may_be(text: str) -> bool:
    return text != "" and "\0" not in text


def _named(path: str, most: int | None) -> dict[str, Any] | None:
    """None: there is no such file, or this user may not read it."""
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            too_large = most is not None and size > most
            digest = None if too_large else hashlib.file_digest(file, "sha256").hexdigest()
            return {"path": os.path.realpath(path), "bytes": size, "sha256": digest}
    except OSError:
        return None
