"""``--check`` holds the parts of the machine to the rules of their standards."""

from __future__ import annotations

from cxlab.run.options.option import Effect, Option

#: Of every command that simulates a machine.
OPTION: Option[bool] = Option(
    "--check",
    "Check the simulator while it runs, by code of its own: DRAM commands, flash, coherence, CXL credits and "
    "flits, TLBs, time. A broken rule ends the command. Several times slower; results stay the same.  "
    "[default: off]",
    {"is_flag": True},
    effect=lambda checked, _context: Effect(model={"check": True}) if checked else Effect(),
    needs_detail=True,
)
