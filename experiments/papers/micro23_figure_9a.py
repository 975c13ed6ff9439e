"""MICRO'23 (Sun et al.), figure 9a: throughput of embedding reduction over the share of pages on CXL memory.

The machine is the testbed with the two DDR5 channels of one SNC node beside CXL-A. Three more bandwidth-
bound applications and a latency-bound store stand beside it. Where the optimum should be follows from the
model's own bandwidths: each node busy for as long as the other.
"""

from __future__ import annotations

from functools import partial

from cxlab import figure
from cxlab.figure import Line
from cxlab.place.request import Application, Share, Study
from cxlab.place.study import run

from experiments.experiment import Asked, Report, synthetic
from experiments.report import PAGES, Figures, Row, change

SUBJECT = synthetic("generators with the laws of access of embedding reduction, SPEC programs and a store")
MAKES = ("micro23/fig9",)
BOUND = ("embedding", "streaming", "pointer_rich", "phased")
STORE = "store-a-uniform"
#: Between two shares [%].
STEP, QUICK_STEP = 5, 25
#: The paper's optimum and its gain over DDR alone, 32 threads [%].
PAPER_SHARE, PAPER_GAIN = 63.0, 88.0


def study(name: str, percent: int) -> Study:
    """An application at a static share."""
    application = Application.of(name)
    if application.is_store:
        return Study([application], Share(percent), warm="1 ms", measure="20 ms")
    return Study([application], Share(percent), warm="60 us", measure="140 us")


def measure(asked: Asked) -> Report:
    """Sweep and compare."""
    shares = range(0, 101, QUICK_STEP if asked.quick else STEP)
    names = (BOUND[0], STORE) if asked.quick else (*BOUND, STORE)
    outcomes = run([study(name, percent) for name in names for percent in shares])
    rows, curves = [], []
    for number, name in enumerate(names):
        of = dict(zip(shares, outcomes[number * len(shares) :], strict=False))
        best = max(of, key=lambda percent: of[percent].work)
        gain = change(of[best].work, of[0].work)
        if name == STORE:
            rows.append(Row(f"{name}: best share", 0.0, best, PAGES))
        else:
            dram, cxl = of[0].node_mb_s("dram"), of[100].node_mb_s("cxl")
            rows.append(Row(f"{name}: best share by the bandwidths", None, 100 * cxl / (dram + cxl), PAGES))
            paper = (PAPER_SHARE, PAPER_GAIN) if name == "embedding" else (None, None)
            rows.append(Row(f"{name}: best share", paper[0], best, PAGES))
            rows.append(Row(f"{name}: gain over DDR alone", paper[1], gain))
        curves.append(Line(name, [(percent, of[percent].work / of[0].work) for percent in shares]))
    note = (
        "The paper's 63 % need CXL memory that gives more than DDR; its figure 4a has CXL-A at 46 % of one "
        "channel (17.7 GB/s), which the machine is calibrated on. No setting here makes both true."
    )
    draw = partial(
        figure.lines,
        title="static shares",
        x="pages on CXL memory [%]",
        y="throughput over DDR alone",
        curves=curves,
    )
    return Report([Figures("MICRO'23 figure 9a: static shares", rows, MAKES[0])], [note], draw)
