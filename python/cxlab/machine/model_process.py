"""The process of the timing model: ``python -m cxlab.machine.model_process simulate|replay``.

It reads one line from standard input, the job (JSON: see `cxlab.machine.supervisor` and
`cxlab.machine.replay`), runs the model until QEMU or the trace ends, and writes one line to standard output:
``{"summary": {...}}`` or ``{"error": {"code": ..., "message": ...}}`` (exit status 1).
"""

from __future__ import annotations

import json
import sys

from cxlab.machine.description import model
from cxlab.machine.errors import NotBuilt


def main() -> int:
    """Serve one job; an empty input means that the guest never came up."""
    job = sys.stdin.readline()
    if not job:
        return 0
    try:
        door = model()
    except NotBuilt as error:
        return _fail(error.code, str(error))
    try:
        summary = door.simulate(job) if sys.argv[1] == "simulate" else door.replay(job)
    except door.CxlabError as error:
        return _fail(getattr(error, "code", ""), str(error))
    print(json.dumps({"summary": json.loads(summary)}), flush=True)
    return 0


def _fail(code: str, message: str) -> int:
    print(json.dumps({"error": {"code": code, "message": message}}), flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
