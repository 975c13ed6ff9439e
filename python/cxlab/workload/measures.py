"""Reads the measures that a run of a workload printed: a line ``measure NAME VALUE`` for each, once."""

from __future__ import annotations

import math

from cxlab.error import Code, InputError
from cxlab.workload.description import Workload

WORD = "measure"


def read(workload: Workload, output: str) -> dict[str, float]:
    """The measures, in the order of workload.toml.

    Raises:
        InputError: one is missing, unknown, there twice, or no finite number.

    """
    found: dict[str, float] = {}
    for line in output.splitlines():
        word, _, rest = line.partition(" ")
        if word != WORD:
            continue
        name, _, text = rest.partition(" ")
        if name not in workload.document.measures or name in found:
            raise _wrong(workload, f"the line `{line}` names no measure, or one for the second time")
        try:
            found[name] = float(text)
        except ValueError:
            raise _wrong(workload, f"the line `{line}` has no number") from None
        if not math.isfinite(found[name]):
            raise _wrong(workload, f"the line `{line}` has no finite number")
    absent = [name for name in workload.document.measures if name not in found]
    if absent:
        raise _wrong(workload, f"the run printed no {', '.join(absent)}")
    return {name: found[name] for name in workload.document.measures}


def _wrong(workload: Workload, found: str) -> InputError:
    valid = f"a line `{WORD} NAME VALUE` for each of {', '.join(workload.document.measures)}"
    return InputError(Code.WORKLOAD, f"output of {workload.name}", found, valid)
