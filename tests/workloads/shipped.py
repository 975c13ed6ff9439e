"""Where the workloads of this checkout are."""

from pathlib import Path

WORKLOADS = Path(__file__).resolve().parents[2] / "workloads"
