"""Formats of the files that CXLab writes: each says its own and its version.

::

    "format": "cxlab-summary 1"

A version rises where a reader of the one before would be wrong: a key has another meaning or is gone. A
new key is no new version. Files from before formats were written have none, and are read as version 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

#: Where a JSON file has it; a Parquet file has it in its metadata.
KEY = "format"


class Format(StrEnum):
    """Each kind of file, with the version that is written."""

    BENCH = "cxlab-bench 1"
    CALIBRATION = "cxlab-calibration 1"
    CHECKPOINT = "cxlab-checkpoint 3"
    COMPARISON = "cxlab-comparison 1"
    CONFIG = "cxlab-config 1"
    EXPERIMENT = "cxlab-experiment 1"
    PLAN = "cxlab-plan 1"
    REPLAY = "cxlab-replay 1"
    ROWS = "cxlab-rows 1"
    SEAL = "cxlab-seal 1"
    SERIES = "cxlab-series 1"
    SLURM = "cxlab-slurm 1"
    STATISTICS = "cxlab-statistics 1"
    STUDY = "cxlab-study 2"
    SUMMARY = "cxlab-summary 1"
    SWEEP = "cxlab-sweep 1"
    VALIDATION = "cxlab-validation 1"
    WORKLOAD = "cxlab-workload 1"


def other(document: Mapping[str, object], valid: Format) -> str | None:
    """Say what a document is, if it cannot be read as the valid format; None: it can be read."""
    return other_than(valid, document.get(KEY, valid.value))


def other_than(valid: Format, said: object) -> str | None:
    """Say what a format is, where it is not the one that can be read; None: it can be read."""
    return None if said == valid.value else f"its format is {said!r:.60}; valid: {valid.value!r}"
