"""Modes: the commands that are disturbed, and what each leaves."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

CXLAB = (sys.executable, "-m", "cxlab")
TRACES = Path(__file__).parents[2] / "tests" / "golden" / "traces"
TRACE = str(TRACES / "chase.trace")
#: Several processes and pipes, in a few million instructions.
SORT = ("sh", "-c", "seq 300 | sort -r | sort -n | md5sum")
#: Who stands in a mode's processes: the command itself, and its children by the beginning of their names.
SUPERVISOR, QEMU, MODEL = "cxlab", "qemu", "python"
#: Disks: of the run's folder, and of the cache.
RESULTS, CACHE = "results", "cache"
#: A program that is kept after its first line, and goes on with the sort.
LOADED = ("sh", "-c", f"echo loaded; {SORT[2]}")
CHECKPOINT = (
    "checkpoint",
    "loaded",
    "--memory",
    "dram=512M,cxl=256M",
    "--from-output",
    "loaded",
    "--",
    *LOADED,
)
#: It holds more than DRAM has, and reads its oldest pages again.
HOARDER = ("python3", "-S", "-c", "held = b'x' * (260 << 20); print(sum(held[::1 << 16]))")
SWAPS = ("--memory", "dram=256M,cxl=256M", "--membind", "dram", "--swap", "512M")
#: About what of it goes out to the swap disk [bytes].
HOARDED = 128 << 20


@dataclass(frozen=True)
class Mode:
    """A command, and what it leaves."""

    name: str
    #: after ``cxlab``, in a folder of its own
    arguments: tuple[str, ...]
    #: files that an undisturbed run leaves, bit for bit the same each time
    exact: tuple[str, ...]
    targets: tuple[str, ...] = (SUPERVISOR, QEMU, MODEL)
    #: the command has a terminal, where this is typed
    typed: bytes | None = None
    #: it is ended before it could end: so long is waited at most [s]
    cut_after: float | None = None
    #: a trace that it leaves: its bytes differ from run to run, what its replay says does not
    replays: str | None = None
    #: it saves a boot in the cache, or loads one
    boots: bool = False
    #: a cache of its own, for what it leaves there
    own_cache: bool = False
    #: before all tries, after ``cxlab``
    prepared: tuple[str, ...] = ()
    #: a checkpoint that it leaves: what a run from it says does not differ from run to run
    checkpoint: str | None = None
    #: its results lie on a disk beside files without a name that grow to this [bytes]
    nameless: int = 0

    @property
    def disks(self) -> tuple[str, ...]:
        """Disks that may be full."""
        if self.checkpoint is not None:
            return (CACHE,)
        return (RESULTS, CACHE) if self.boots else (RESULTS,)


def _guest(name: str, *options: str, program: tuple[str, ...] = SORT, replays: str | None = None) -> Mode:
    arguments = ("run", "--out", "out", "--overwrite", *options, "--", *program)
    return Mode(
        name, arguments, ("stdout", "out/statistics.json"), boots="--cxl" not in options, replays=replays
    )


MODES = (
    _guest("run"),
    Mode(
        "boot",
        ("boot", "--out", "out", "--overwrite", "--detail", "off"),
        (),
        targets=(SUPERVISOR, QEMU),
        typed=b"echo here; exit\n",
    ),
    Mode(
        "replay", ("replay", TRACE, "--json", "replay.json"), ("stdout", "replay.json"), (SUPERVISOR, MODEL)
    ),
    _guest("sample", "--sample", "detail=1k,warm=2k,every=50k"),
    _guest("record", "--record", "run.trace", replays="run.trace"),
    Mode(
        "caption",
        ("caption", "--out", "out", "--overwrite", "--start", "50%", "--most-samples", "8", "--", *SORT),
        ("out/statistics.json",),
    ),
    Mode(
        "calibrate",
        ("calibrate", "--measured", "curve.csv", "--start", "spr-a1000", "--out", "fitted.toml"),
        (),
        targets=(SUPERVISOR,),
        cut_after=15.0,
    ),
    Mode("sweep", ("sweep", "sweep.toml", "--out", "sweep"), ("sweep/runs/*.parquet",), (SUPERVISOR, MODEL)),
    _guest("4 vCPUs", "--cpus", "4"),
    _guest("device", "--cxl", "device", "--membind", "cxl"),
    Mode("checkpoint", CHECKPOINT, ("stdout",), (SUPERVISOR, QEMU), own_cache=True, checkpoint="loaded"),
    Mode(
        "from",
        ("run", "--out", "out", "--overwrite", "--from", "loaded"),
        ("stdout", "out/statistics.json"),
        own_cache=True,
        prepared=CHECKPOINT,
    ),
    # Runs with a disk differ from date to date (DEVIATIONS, GST-18).
    replace(
        _guest("swap", *SWAPS, "--detail", "off", program=HOARDER),
        exact=("stdout",),
        boots=False,
        nameless=HOARDED,
    ),
)
#: Files that commands read, by name.
INPUTS = {
    "sweep.toml": f"""[axes]
machine = ["8468v-asic", "8468v-fpga"]

[axes.set]
"nodes.cxl.device.root_port.response_fifo" = [32, 48, 64]

[workloads.again]
replay = "{TRACES / "device.trace"}"
""",
    "curve.csv": """path,threads,rw_mix,store_type,pattern,inject_delay,latency_ns,bandwidth_MBps
cxl,16,1:0,none,sequential,0,900,40000
cxl,16,1:0,none,sequential,500,290,20000
cxl,16,1:0,none,sequential,9000,250,900
""",
}
