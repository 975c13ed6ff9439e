"""MICRO'23 (Sun et al.), figure 9a: throughput of embedding reduction over the share of pages on CXL memory.

The machine is the testbed with the two DDR5 channels of one SNC node beside CXL-A. Three more bandwidth-
bound applications and a latency-bound store stand beside it. Where the optimum should be follows from the
model's own bandwidths: each node busy for as long as the other.
"""

from __future__ import annotations

from pathlib import Path

import click
from cxlab.place import plot, report
from cxlab.place.request import Application, Share, Study
from cxlab.place.study import Outcome, run

BOUND = ("embedding", "streaming", "pointer_rich", "phased")
STORE = "store-a-uniform"
#: The paper's optimum and its gain over DDR alone, 32 threads [%].
PAPER_SHARE, PAPER_GAIN = 63.0, 88.0


def study(name: str, percent: int) -> Study:
    """An application at a static share."""
    application = Application.of(name)
    if application.is_store:
        return Study([application], Share(percent), warm="1 ms", measure="20 ms")
    return Study([application], Share(percent), warm="60 us", measure="140 us")


def peak(outcome: Outcome, node: str) -> float:
    """All bytes of a node [MB/s]."""
    figures = outcome.document["nodes"][node]
    return float(figures["read_mb_s"] + figures["write_mb_s"])


@click.command()
@click.option("--plot", "plot_file", type=click.Path(path_type=Path))
@click.option("--step", default=5, type=click.IntRange(1, 50), help="Between two shares [%].")
def main(plot_file: Path | None, step: int) -> None:
    """Sweep, compare, draw."""
    shares = range(0, 101, step)
    names = (*BOUND, STORE)
    outcomes = run([study(name, percent) for name in names for percent in shares])
    rows, curves = [], []
    for number, name in enumerate(names):
        of = dict(zip(shares, outcomes[number * len(shares) :], strict=False))
        best = max(of, key=lambda percent: of[percent].work)
        gain = report.change(of[best].work, of[0].work)
        if name == STORE:
            rows.append(report.Row(f"{name}: best share", 0.0, best))
        else:
            dram, cxl = peak(of[0], "dram"), peak(of[100], "cxl")
            rows.append(report.Row(f"{name}: best share by the bandwidths", None, 100 * cxl / (dram + cxl)))
            paper = (PAPER_SHARE, PAPER_GAIN) if name == "embedding" else (None, None)
            rows.append(report.Row(f"{name}: best share", paper[0], best))
            rows.append(report.Row(f"{name}: gain over DDR alone", paper[1], gain))
        curves.append(plot.Line(name, [(percent, of[percent].work / of[0].work) for percent in shares]))
    note = (
        "The paper's 63 % need CXL memory that gives more than DDR; its figure 4a has CXL-A at 46 % of one "
        "channel (17.7 GB/s), which the machine is calibrated on. No setting here makes both true."
    )
    report.show("MICRO'23 figure 9a: static shares", rows, [note])
    if plot_file is not None:
        plot.lines(plot_file, "static shares", "pages on CXL memory [%]", "throughput over DDR alone", curves)


if __name__ == "__main__":
    main()
