"""Read bandwidth of 1 to 32 threads of ``spr-a1000``, from local DDR5 and from a CXL memory card.

The machine is EuroSys'24's (Tang et al.), its loads as Intel MLC has them: threads that read in order at
full speed, and one thread in a random chase, which tells how long a line takes. Bandwidth x latency / 64 B,
by Little's law, is how many lines are on their way (at most: a chase finds no row open, a stream does);
without prefetchers a thread cannot have more of them than it has fill buffers. Calibrated are the peaks of 16
threads and one thread's from CXL memory: that one sets how many lines the prefetchers bring into the LLC. All
other rows are predictions.
``.venv/bin/python -m experiments.threads_bandwidth [--reference FOLDER] [--plot FILE]``: half a minute.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import click
from cxlab.bench import sweep
from cxlab.bench.curves import CALIBRATING, read_curves
from cxlab.bench.figures import shipped
from cxlab.bench.request import Placement, Workload
from cxlab.bench.result import Point, console
from cxlab.cli.output import PLOT_FILE
from cxlab.machine import description
from cxlab.place import plot
from rich.table import Table

MACHINE = "spr-a1000"
NODES = ("dram", "cxl")
THREADS = (1, 2, 4, 8, 12, 16, 24, 32)
#: of a line [B]
LINE = 64
#: Stages of a load that hold no fill buffer of its core.
BEFORE_ITS_BUFFER = ("translation", "fill_buffer")
#: (node, threads) -> bandwidth of silicon [GB/s]
Silicon = dict[tuple[str, int], float]


@dataclass(frozen=True)
class Reading:
    """So many threads on a node."""

    node: str
    threads: int
    point: Point

    @property
    def bandwidth(self) -> float:
        """Of all threads [GB/s]."""
        return float(self.point["bandwidth_mb_s"]) / 1e3

    @property
    def latency(self) -> float:
        """From a fill buffer taken to its line [ns]: the chase's; of all loads where there is none."""
        stages = self.point["stages_ns"]
        before = sum(float(stages.get(stage, 0.0)) for stage in BEFORE_ITS_BUFFER)
        return float(self.point["latency_ns"]) - before

    @property
    def lines(self) -> float:
        """On their way, by Little's law."""
        return self.bandwidth * self.latency / LINE

    @property
    def role(self) -> str:
        """Whether it was calibrated on this figure of silicon."""
        return "calibrated" if (self.node, self.threads, "1:0") in CALIBRATING else "predicted"


def read(node: str, prefetch: bool) -> list[Reading]:
    """All threads on a node; the chase beside them where prefetchers are on."""
    placement = Placement(((node, 1),))
    workloads = [
        Workload(MACHINE, placement, threads, latency_thread=prefetch, prefetch=prefetch)
        for threads in THREADS
    ]
    points = sweep.run([workload.job(0) for workload in workloads], node)
    return [Reading(node, *pair) for pair in zip(THREADS, points, strict=True)]


def fill_buffers() -> int:
    """Of a core, by the machine's host file."""
    host = description.load(MACHINE).resolved["host"]["name"]
    text = description.model().shipped_file(f"hosts/{host}.toml")
    assert text is not None, f"{MACHINE} names a host that does not come with CXLab: {host}"
    return int(tomllib.loads(text)["core"]["fill_buffers"]["value"])


def silicon(reference: Path | None) -> Silicon:
    """What the shipped figures and a folder of curves know: peaks of all-read, sequential."""
    known = {
        (figure.settings["node"], int(figure.settings.get("threads", 16))): figure.low
        for figure in shipped()
        if figure.machine == MACHINE
        and figure.settings["metric"] == "bandwidth"
        and figure.settings.get("mix", "1:0") == "1:0"
    }
    curves = read_curves(reference)[0] if reference else []
    plain = [curve for curve in curves if str(curve.mix) == "1:0" and curve.pattern == "sequential"]
    return known | {(curve.node, curve.threads): curve.peak / 1e3 for curve in plain}


def with_prefetchers(readings: list[Reading], known: Silicon) -> Table:
    """Silicon, simulated, error; and the lines on their way."""
    table = Table(title=f"{MACHINE}: all reads, in order, at full speed", title_justify="left")
    headings = ("node", "threads", "silicon [GB/s]", "simulated [GB/s]", "error", "", "latency [ns]")
    for heading in (*headings, "lines a thread"):
        table.add_column(heading, justify="left" if heading in ("node", "") else "right")
    for reading in readings:
        paper = known.get((reading.node, reading.threads))
        table.add_row(
            reading.node,
            str(reading.threads),
            "-" if paper is None else f"{paper:.1f}",
            f"{reading.bandwidth:.1f}",
            "-" if paper is None else f"{reading.bandwidth / paper - 1:+.1%}",
            reading.role,
            f"{reading.latency:.0f}",
            f"{reading.lines / reading.threads:.0f}",
        )
    return table


def without_prefetchers(readings: list[Reading], buffers: int) -> Table:
    """Bandwidth beside the law's bound."""
    title = f"prefetchers off: bandwidth <= threads x {buffers} fill buffers x {LINE} B / latency"
    table = Table(title=title, title_justify="left")
    for heading in ("node", "threads", "simulated [GB/s]", "bound [GB/s]", "of the bound", "latency [ns]"):
        table.add_column(heading, justify="left" if heading == "node" else "right")
    for reading in readings:
        bound = reading.threads * buffers * LINE / reading.latency
        table.add_row(
            reading.node,
            str(reading.threads),
            f"{reading.bandwidth:.1f}",
            f"{bound:.1f}",
            f"{reading.bandwidth / bound:.0%}",
            f"{reading.latency:.0f}",
        )
    return table


@click.command()
@click.option(
    "--reference",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with loaded-latency curves of the machine, as `cxlab validate` takes it.",
)
@click.option("--plot", "plot_file", type=PLOT_FILE, help="Draw bandwidth over threads.")
def main(reference: Path | None, plot_file: Path | None) -> None:
    """Two tables."""
    known = silicon(reference)
    on, off = ([reading for node in NODES for reading in read(node, prefetch)] for prefetch in (True, False))
    console().print(with_prefetchers(on, known))
    console().print(without_prefetchers(off, fill_buffers()))
    if plot_file is not None:
        lines = [
            plot.Line(
                f"{node}, prefetchers {state}", [(r.threads, r.bandwidth) for r in group if r.node == node]
            )
            for state, group in (("on", on), ("off", off))
            for node in NODES
        ]
        # Each point alone: a line between two would say what was not measured.
        lines += [
            plot.Line(f"{node}, {threads} threads, silicon", [(threads, value)], dashed=True)
            for (node, threads), value in sorted(known.items())
            if node in NODES
        ]
        plot.lines(plot_file, f"{MACHINE}: all reads", "threads", "bandwidth [GB/s]", lines)


if __name__ == "__main__":
    main()
