"""Write TPC-H's tables: `data.py FOLDER scale=N ...` makes FOLDER/tpch.db at the scale factor N/1000.

The tables are dbgen's. TPC-H fixes their seed, so they are the same for each seed of a run.
"""

from __future__ import annotations

import sys
from pathlib import Path

import tpch

folder, *values = sys.argv[1:]
asked = dict(value.split("=", 1) for value in values)
connection = tpch.opened(Path(folder))
connection.execute(f"CALL dbgen(sf = {int(asked['scale']) / 1000})")
connection.execute("CHECKPOINT")
connection.close()
