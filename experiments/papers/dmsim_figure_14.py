"""CXL-DMSim (Hong et al.), figure 14: a key-value store on too little memory, with swap and with CXL memory.

The paper runs Viper. `examples/hybrid_store.c` stands for it, with its pages in ordinary memory. Both sizes
of records have one number of records: small ones fit into local DDR, large ones are twice as much as there
is. DDR alone swaps to the machine's drive. The expanded machine takes local DDR first, then CXL memory. The
paper prints neither sizes nor the drive. So a second table shows how the gain depends on the share that
fits. About twenty minutes in all, an estimate: quick takes two.
"""

from __future__ import annotations

from functools import partial

from cxlab import figure

from experiments import guests
from experiments.experiment import Asked, Report, real
from experiments.papers.dmsim_figure_17 import LINE, MIB, OPERATIONS, PAGE, build
from experiments.report import RATIO, Cell, Column, Figures, Row, Table

SUBJECT = real("examples/hybrid_store.c, a store in the design of Viper")
MAKES = ("dmsim/fig14",)
MACHINE = "8468v-asic"
#: Sizes of key and value.
SIZES = {"216 B": (16, 200), "1,000 B": (100, 900)}
#: Local DDR: the least that Linux boots with [MiB].
LOCAL = 256
#: What the paper's text prints for the gain: at most, of two.
PAPER = (23.0, 25.0)
#: Records of each size. The pages of large ones are this many times local DDR; the first is the figure's.
TIMES_LOCAL = (2.0, 1.0, 0.75)
#: Operations of each kind.
TIMED = 1_000


def slots_per_page(size: str) -> int:
    """Records in a page of the store."""
    key, value = SIZES[size]
    return (PAGE - LINE) // (-(-(8 + key + value) // 8) * 8)


def records(times: float) -> int:
    """So many that the large ones take this many times local DDR."""
    return int(times * LOCAL * MIB / PAGE) * slots_per_page("1,000 B")


def speeds(asked: Asked, size: str, times: float, *, expanded: bool) -> list[float]:
    """Operations a second of each kind."""
    key, value = SIZES[size]
    count = records(times)
    room = -(-(count + 2 * TIMED) // slots_per_page(size)) * PAGE
    options = ["--machine", MACHINE, "--detail", "marker", "--memory", f"dram={LOCAL}M,cxl=1G"]
    options += ["--preferred", "dram"] if expanded else ["--membind", "dram", "--swap", "2G"]
    name = f"{size}-{times}-{'cxl' if expanded else 'swap'}".replace(" ", "").replace(",", "")
    words = map(str, (room, key, value, count, TIMED))
    said, _ = guests.run(asked.folder, name, options, [build(asked.folder), "bench", "-", *words])
    return [float(word) for word in said.split()[:4]]


def gains(asked: Asked, size: str, times: float) -> list[float]:
    """How many times as fast each operation is with CXL memory as with swap."""
    swapped = speeds(asked, size, times, expanded=False)
    expanded = speeds(asked, size, times, expanded=True)
    return [more / less for more, less in zip(expanded, swapped, strict=True)]


def measure(asked: Asked) -> Report:
    """Both sizes of records, then fewer of them. Quick: large records only, of the figure's number."""
    rows: list[Row] = []
    cells: list[list[Cell]] = []
    for times in TIMES_LOCAL[:1] if asked.quick else TIMES_LOCAL:
        found = gains(asked, "1,000 B", times)
        cells.append(["1,000 B", times, *found])
        if times != TIMES_LOCAL[0]:
            rows.append(Row(f"the same, pages of {times:g} times local DDR", None, max(found), RATIO))
        else:
            rows.append(
                Row("1,000 B, the largest gain of four", PAPER[0], max(found), RATIO, paper_to=PAPER[1])
            )
            rows += [
                Row(f"{operation} of 1,000 B", None, gain, RATIO)
                for operation, gain in zip(OPERATIONS, found, strict=True)
            ]
    if not asked.quick:
        found = gains(asked, "216 B", TIMES_LOCAL[0])
        share = TIMES_LOCAL[0] * slots_per_page("1,000 B") / slots_per_page("216 B")
        cells.append(["216 B", share, *found])
        rows += [
            Row(f"{operation} of 216 B", None, gain, RATIO)
            for operation, gain in zip(OPERATIONS, found, strict=True)
        ]
    title = "CXL-DMSim figure 14: operations a second with CXL memory over those with swap"
    figures = Figures(title, rows, MAKES[0])
    columns = [
        Column("records"),
        Column("pages / local DDR", "{:.2f}"),
        *(Column(name, "{:.1f}") for name in OPERATIONS),
    ]
    table = Table("gain by how much fits", columns, cells)
    draw = partial(
        figure.bars, title="CXL-DMSim figure 14", y="times as fast as with swap", pairs=figures.pairs()
    )
    notes = ["for 216 B the paper says that the speed stays relatively consistent, and prints no number"]
    return Report([figures, table], notes, figure=draw)
