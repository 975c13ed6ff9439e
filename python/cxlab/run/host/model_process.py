"""The process of the timing model: ``python -m cxlab.run.host.model_process simulate|replay``.

It reads one line from standard input, the job (JSON: see `cxlab.run.host.supervisor` and
`cxlab.run.host.replay`). It runs the model until QEMU or the trace ends. Then it writes one line to standard
output: ``{"summary": {...}}``, or ``{"error": {"code": ..., "message": ...}}`` with exit status 1.
"""

from __future__ import annotations

import json
import sys

from cxlab import model
from cxlab.error import NotBuilt, RefusedByModel


def main() -> int:
    """Serve one job; an empty input means that the guest never came up."""
    job = sys.stdin.readline()
    if not job:
        return 0
    try:
        result = model.simulate(job) if sys.argv[1] == "simulate" else model.replay(job)
    except NotBuilt as error:
        return _fail(error.code, str(error))
    except RefusedByModel as error:
        return _fail(error.model_code, str(error))
    print(f'{{"summary": {result}}}', flush=True)
    return 0


def _fail(code: str, message: str) -> int:
    print(json.dumps({"error": {"code": code, "message": message}}), flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
