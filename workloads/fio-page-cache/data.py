"""Write the file that fio reads: `data.py FOLDER file_mib=N ...` makes FOLDER/file."""

from __future__ import annotations

import sys
from pathlib import Path

folder, *values = sys.argv[1:]
asked = dict(value.split("=", 1) for value in values)
with (Path(folder) / "file").open("wb") as file:
    for number in range(int(asked["file_mib"])):
        file.write(bytes([number % 251]) * (1 << 20))
