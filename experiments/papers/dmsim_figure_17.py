"""CXL-DMSim (Hong et al.), figure 17: a key-value store on a CXL-SSD over the same store on CXL memory.

The paper runs Viper. `examples/hybrid_store.c` stands for it: an index in DRAM, records in pages of /dev/dax.
Each operation is timed by the guest's clock. The paper prints neither the size of its data nor that of the
SSD's cache. So the rows have a cache that holds all records. A table shows what is lost as it holds fewer.
The data are larger than the LLC. About half an hour in all, an estimate: quick takes two minutes.
"""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path

from cxlab import figure

from experiments import guests
from experiments.experiment import Asked, Report, real
from experiments.report import BASE, Cell, Column, Figures, Row, Table

SUBJECT = real("examples/hybrid_store.c, a store in the design of Viper")
MAKES = ("dmsim/fig17",)
MEMORY, SSD = "8468v-asic", "dmsim-ssd"
OPERATIONS = ("insert", "get", "update", "delete")
PAGE, LINE, MIB = 4096, 64, 1 << 20
#: Sizes of key and value, records: more than the 105 MB of the LLC.
SIZES = {"216 B": (16, 200, 600_000), "1,000 B": (100, 900, 140_000)}
#: Operations of each kind; without a cache, where each takes some flash reads.
TIMED, TIMED_WITHOUT = 5_000, 300
#: The cache over the pages of the records.
FITS, SHARES = 1.5, (1.5, 0.9, 0.5)
#: The least cache that there can be stands for none.
NO_CACHE = 16 * PAGE
#: What the paper's text prints for LRU and FIFO over all operations [% of CXL memory].
PAPER = (72.0, 88.0)


def pages_of(size: str) -> int:
    """Pages that hold the records, with those that the inserts add."""
    key, value, records = SIZES[size]
    slot = -(-(8 + key + value) // 8) * 8
    return -(-(records + TIMED) // ((PAGE - LINE) // slot))


def speeds(
    asked: Asked, name: str, size: str, machine: str, changes: dict[str, str], timed: int
) -> list[float]:
    """Operations a second of each kind."""
    key, value, records = SIZES[size]
    store = build(asked.folder)
    memory = -(-pages_of(size) * PAGE // MIB) + 32
    options = ["--machine", machine, "--cxl", "device", "--managed", "application", "--detail", "marker"]
    options += ["--warm-up", "--memory", "dram=2G,cxl=1G"]
    options += [
        part for item in changes.items() for part in ("--set", f"nodes.cxl.device.cache.{'='.join(item)}")
    ]
    numbers = map(str, (memory * MIB, key, value, records, timed))
    said, _ = guests.run(asked.folder, name, options, [store, "bench", "/dev/dax0.0", *numbers])
    return [float(word) for word in said.split()[:4]]


def build(folder: Path) -> Path:
    """Compile the store, unless it is there."""
    program = folder / "hybrid_store"
    if not program.exists():
        source = guests.ROOT / "examples" / "hybrid_store.c"
        subprocess.run(["gcc", "-O2", "-o", program, source], check=True)
    return program


def cache(size: str, share: float, policy: str) -> dict[str, str]:
    """A cache of so much of the records' pages, in sets of 8."""
    capacity = int(share * pages_of(size)) // 8 * 8 * PAGE
    return {"capacity": f"{capacity} B", "policy": policy}


def percent_of(memory: list[float], ssd: list[float]) -> list[float]:
    """The SSD's speeds [% of the memory's]."""
    return [100 * found / own for found, own in zip(ssd, memory, strict=True)]


def measure(asked: Asked) -> Report:
    """Both sizes, policies and shares. Quick: small records, LRU, a cache that holds all."""
    sizes, policies, shares = (
        (["216 B"], ["lru"], (FITS,)) if asked.quick else (list(SIZES), ["lru", "fifo"], SHARES)
    )
    rows: list[Row] = []
    cells: list[list[Cell]] = []
    for size in sizes:
        memory = speeds(asked, f"{size}-memory".replace(" ", ""), size, MEMORY, {}, TIMED)
        for policy in policies:
            for share in shares:
                name = f"{size}-{policy}-{share}".replace(" ", "")
                found = speeds(asked, name, size, SSD, cache(size, share, policy), TIMED)
                part = percent_of(memory, found)
                cells.append([f"{size}, {policy}", share, *part])
                if share == FITS:
                    rows += [
                        Row(f"{operation} of {size}, {policy}", PAPER[0], percent, BASE, paper_to=PAPER[1])
                        for operation, percent in zip(OPERATIONS, part, strict=True)
                    ]
        if not asked.quick:
            bare = {"capacity": f"{NO_CACHE} B", "ways": "16"}
            found = speeds(asked, f"{size}-none".replace(" ", ""), size, SSD, bare, TIMED_WITHOUT)
            cells.append([f"{size}, no cache", 0.0, *percent_of(memory, found)])
    figures = Figures("CXL-DMSim figure 17: the store on CXL-SSD, of CXL memory [%]", rows, MAKES[0])
    columns = [
        Column("records"),
        Column("cache / data", "{:.2f}"),
        *(Column(name, "{:.1f}") for name in OPERATIONS),
    ]
    table = Table("simulated, of CXL memory [%]", columns, cells)
    draw = partial(figure.bars, title="CXL-DMSim figure 17", y="of CXL memory [%]", pairs=figures.pairs())
    return Report([figures, table], figure=draw)
