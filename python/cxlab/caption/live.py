"""The line that a person watches: rewritten at each sample of the controller, kept at each decision."""

from __future__ import annotations

import os
from dataclasses import dataclass

from cxlab.caption.log import Line
from cxlab.run.host.progress import Progress


@dataclass
class Live:
    """Shows samples in the run's progress line; decisions alone without a terminal."""

    progress: Progress

    def show(self, line: Line) -> None:
        """Show the line of one sample."""
        text = describe(line)
        if line.verdict is not None:
            self.progress.hide()
            os.write(2, f"{text}\n".encode())
        else:
            self.progress.phase = text


def describe(line: Line) -> str:
    """A sample in one line of text, and the decision that followed."""
    metrics = (
        (line.ipc, "IPC {:.2f}"),
        (line.l1_miss_latency_ns, "L1 miss {:.0f} ns"),
        (line.ddr_read_latency_ns, "DDR {:.0f} ns"),
        (line.cxl_read_latency_ns, "CXL {:.0f} ns"),
    )
    parts = [
        f"{line.time_s * 1e3:8.3f} ms",
        f"CXL {line.cxl_share:6.1%} ({line.placement})",
        f"{line.throughput:8.1f} M instructions/s",
        *(text.format(value) for value, text in metrics if value is not None),
    ]
    if line.verdict is not None and line.next_cxl_share is not None:
        parts.append(f"{line.verdict.replace('_', ' ')} -> {line.next_cxl_share:.1%}")
    return "  ".join(parts)
