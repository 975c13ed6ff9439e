"""`measures.py COMMAND JSON`: prints a line `measure NAME VALUE` for each figure of cxlab-memo."""

import json
import sys
from pathlib import Path

command, file = sys.argv[1:]
for point in json.loads(Path(file).read_bytes())["points"]:
    match command:
        case "stream":
            print("measure", point["kernel"], point["bandwidth_mb_s"] / 1e3)
        case "memo":
            print("measure", point["instruction"].replace("-", "_"), point["latency_ns"])
        case "latency":
            print("measure latency", point["latency_ns"])
        case _:
            print("measure latency", point["latency_ns"])
            print("measure bandwidth", point["bandwidth_mb_s"] / 1e3)
