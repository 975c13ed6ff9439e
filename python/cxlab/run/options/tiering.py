"""Linux's memory tiering: ``--tiering MS``."""

from __future__ import annotations

import click

from cxlab.run.options.option import Context, Effect, Option

#: What Linux uses on a machine that runs for long [ms].
USUAL_MS = 1000


def _effect(scan_period_ms: int | None, _: Context) -> Effect:
    tiering = None if scan_period_ms is None else {"scan_period_ms": scan_period_ms}
    note = f"it looked for hot pages every {scan_period_ms} ms of simulated time, not every {USUAL_MS}"
    return Effect(
        config={"tiering": tiering}, guest={"tiering": tiering}, moved_note="" if tiering is None else note
    )


OPTION: Option[int | None] = Option(
    "--tiering",
    "Let Linux move hot pages to DRAM and cold ones to CXL memory (numa_balancing 2). It scans for them "
    f"every MS milliseconds of simulated time. A real machine scans every {USUAL_MS}.  [default: off]  "
    f"Example: 10",
    {"type": click.IntRange(min=1), "metavar": "MS"},
    _effect,
)
