"""CXL-DMSim (Hong et al.), figure 14: a key-value store on too little memory, with swap and with CXL memory.

The paper runs Viper. `examples/hybrid_store.c` stands for it, with its pages in ordinary memory. Both sizes
of records have one number of records: small ones fit into local DDR, large ones do not. DDR alone swaps to
the machine's drive. The expanded machine takes local DDR first, then CXL memory. The inserts are the puts
that fill the store::

    DDR alone    insert: Linux swaps out what does not fit      get, update, delete: some pages are swapped in
    expanded     insert: the rest goes to CXL memory            some pages are there

The paper prints neither sizes nor the drive. The scripts that draw its figures print operations a second of
its silicon. How much more than local DDR the records are is fitted to one of them: gets with swap. All gains
are predictions. A second table has more records. Local DDR is the least that Linux boots with, and 34 times
the LLC; in the authors' public set-up of gem5 it is 32 times. About a quarter of an hour in all, an estimate:
quick takes four minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from cxlab import figure

from experiments import guests
from experiments.experiment import Asked, Report, real
from experiments.papers.dmsim_figure_17 import LINE, MIB, OPERATIONS, PAGE, build
from experiments.report import RATIO, Cell, Column, Figures, Row, Table

SUBJECT = real("examples/hybrid_store.c, a store in the design of Viper")
MAKES = ("dmsim/fig14",)
MACHINE = "8468v-asic"
SMALL, LARGE = "216 B", "1,000 B"
#: Sizes of key and value.
SIZES = {SMALL: (16, 200), LARGE: (100, 900)}
#: Local DDR: the least that Linux boots with [MiB].
LOCAL = 256
#: 7.5 MB of LLC. 3 GB and 96 MB are the authors' (ferry-hhh/CXL-DMSim, 1c067ee, x86-cxl-run.py).
FEW_SLICES = "host.llc.slices=4"
#: Operations a second of silicon by size, then by DDR-L alone and DDR-L with CXL-ASIC, in the order of
#: OPERATIONS (pudding-art/CXL-DMSim-Figs, 807c85c, Viper/viper_limit_1011.py). Their largest gains are the
#: text's: "at most 25 times or 23 times".
PAPER = {
    SMALL: ((2_068_370, 1_845_050, 1_522_700, 1_200_950), (2_117_250, 1_913_380, 1_574_070, 1_240_380)),
    LARGE: ((545_408, 49_545, 52_091, 40_568), (795_015, 831_515, 1_199_380, 1_008_270)),
}
#: The pages of large records over local DDR. The first is fitted to gets with swap.
TIMES_LOCAL = (0.81, 1.0)
#: Operations of each kind but inserts: a quarter of the gets take a page from the drive.
TIMED = 4_000


def slots_per_page(size: str) -> int:
    """Records in a page of the store."""
    key, value = SIZES[size]
    return (PAGE - LINE) // (-(-(8 + key + value) // 8) * 8)


def records(times: float) -> int:
    """So many that the large ones take this many times local DDR."""
    return int(times * LOCAL * MIB / PAGE) * slots_per_page(LARGE)


def speeds(asked: Asked, size: str, times: float, *, expanded: bool) -> list[float]:
    """Operations a second of each kind."""
    key, value = SIZES[size]
    count = records(times)
    room = -(-(count + TIMED) // slots_per_page(size)) * PAGE
    options = ["--machine", MACHINE, "--set", FEW_SLICES, "--detail", "marker"]
    options += ["--memory", f"dram={LOCAL}M,cxl=1G"]
    options += ["--preferred", "dram"] if expanded else ["--membind", "dram", "--swap", "2G"]
    name = f"{size}-{times}-{'cxl' if expanded else 'swap'}".replace(" ", "").replace(",", "")
    words = map(str, (room, key, value, count, TIMED))
    said, _ = guests.run(asked.folder, name, options, [build(asked.folder), "fill", "-", *words])
    return [float(word) for word in said.split()[:4]]


@dataclass(frozen=True)
class Speeds:
    """Operations a second of each kind, with swap and with CXL memory."""

    swapped: Sequence[float]
    expanded: Sequence[float]

    @property
    def gains(self) -> list[float]:
        """How many times as fast each operation is with CXL memory."""
        return [more / less for more, less in zip(self.expanded, self.swapped, strict=True)]


def compared(asked: Asked, size: str, times: float) -> Speeds:
    """Run both machines."""
    swapped = speeds(asked, size, times, expanded=False)
    return Speeds(swapped, speeds(asked, size, times, expanded=True))


def gain_rows(size: str, found: Speeds) -> list[Row]:
    """A row an operation."""
    bars = zip(OPERATIONS, Speeds(*PAPER[size]).gains, found.gains, strict=True)
    return [Row(f"{operation} of {size}", round(paper, 2), gain, RATIO) for operation, paper, gain in bars]


def measure(asked: Asked) -> Report:
    """Both sizes of records, then more of them. Quick: large records only, of the figure's number."""
    most = TIMES_LOCAL[0]
    large = compared(asked, LARGE, most)
    get = OPERATIONS.index("get")
    fitted = Row(
        "get of 1,000 B with swap, which gave the size",
        PAPER[LARGE][0][get],
        large.swapped[get],
        "/s",
        calibrated=True,
    )
    rows = [fitted, *gain_rows(LARGE, large)]
    cells: list[list[Cell]] = [[LARGE, most, *large.gains]]
    if not asked.quick:
        for times in TIMES_LOCAL[1:]:
            cells.append([LARGE, times, *compared(asked, LARGE, times).gains])
        small = compared(asked, SMALL, most)
        share = most * slots_per_page(LARGE) / slots_per_page(SMALL)
        cells.append([SMALL, share, *small.gains])
        rows += gain_rows(SMALL, small)
    title = "CXL-DMSim figure 14: operations a second with CXL memory over those with swap"
    figures = Figures(title, rows, MAKES[0])
    bars = [pair for row, pair in zip(rows, figures.pairs(), strict=True) if not row.calibrated]
    columns = [
        Column("records"),
        Column("pages / local DDR", "{:.2f}"),
        *(Column(name, "{:.1f}") for name in OPERATIONS),
    ]
    table = Table("gain by how much fits", columns, cells)
    draw = partial(figure.bars, title="CXL-DMSim figure 14", y="times as fast as with swap", pairs=bars)
    return Report([figures, table], figure=draw)
