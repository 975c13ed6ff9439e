"""The request for a bench: machine, placement, threads, mix. It is turned into jobs of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cxlab.asked_machine import settings_of
from cxlab.border import BenchJob, ChaseOrder, Isa, Pages, Pattern, Store, Work, WorkLoadedLatency
from cxlab.error import Code, InputError

#: Intel MLC's inject delays as the EuroSys'24 artifact ran them [core cycles]; 0 is the peak, 20000 is idle.
DELAYS = (0, 2, 8, 15, 50, 100, 200, 300, 400, 500, 700, 1000, 1300, 1700, 2500, 3500, 5000, 9000, 20000)
#: lat_mem_rd's buffers, 1 KiB to 1 GiB
SIZES = tuple(
    f"{1 << step % 10} {unit}" for step in range(21) for unit in [("KiB", "MiB", "GiB")[step // 10]]
)
#: of the model's random streams
SEED = 1
#: sizes of the pages that buffers are made of
PAGES: tuple[Pages, Pages] = ("2MiB", "4KiB")


@dataclass(frozen=True)
class Mix:
    """Lines read to lines written at the memory, ownership reads included."""

    reads: int
    writes: int

    def __str__(self) -> str:
        """The mix as ``R:W``."""
        return f"{self.reads}:{self.writes}"

    @property
    def read_share(self) -> float:
        """Lines read among all [0..1]."""
        return self.reads / (self.reads + self.writes)

    @staticmethod
    def parse(text: str) -> Mix:
        """From ``R:W``.

        Raises:
            InputError: it is not two whole numbers, or both are 0.

        """
        parts = text.split(":")
        if len(parts) != 2 or not all(part.isdecimal() for part in parts):
            raise InputError(
                Code.BENCH, "--mix", f"`{text}` is not R:W", "lines read to lines written, as 1:0, 2:1 or 1:1"
            )
        mix = Mix(int(parts[0]), int(parts[1]))
        if mix.reads + mix.writes == 0:
            raise InputError(Code.BENCH, "--mix", "0:0 moves no line", "R:W with one of them above 0")
        return mix


@dataclass(frozen=True)
class Placement:
    """Which nodes the pages of the buffers go round, and how many go to each in turn."""

    shares: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        """A node's name, or ``dram=3,cxl=1``."""
        if len(self.shares) == 1:
            return self.shares[0][0]
        return ",".join(f"{node}={weight}" for node, weight in self.shares)

    @staticmethod
    def parse(node: str | None, interleave: str | None, weighted: str | None) -> Placement:
        """From the three options, of which exactly one is given.

        Raises:
            InputError: none or several are given, or a weight is no number from 1 to 255.

        """
        given = [option for option in (node, interleave, weighted) if option is not None]
        if len(given) != 1:
            found = f"{len(given)} of them are given" if given else "none of them is given"
            options = "--node, --interleave, --weighted-interleave"
            raise InputError(Code.BENCH, options, found, "exactly one of them")
        if node is not None:
            return Placement(((node, 1),))
        if interleave is not None:
            return Placement(tuple((name.strip(), 1) for name in interleave.split(",")))
        return Placement(tuple(_share(part) for part in given[0].split(",")))


def _share(part: str) -> tuple[str, int]:
    name, _, weight = part.partition("=")
    if not weight.isdecimal() or not 1 <= int(weight) <= 255:
        raise InputError(
            Code.BENCH,
            "--weighted-interleave",
            f"`{part}` is no weighted node",
            "NODE=WEIGHT, weight 1 to 255, as in dram=3,cxl=1",
        )
    return name.strip(), int(weight)


def parse_size(text: str) -> str:
    """A size as the model writes it, ``32 MiB``, from ``32MiB`` or ``32 MiB``.

    Raises:
        InputError: it is no whole number with a unit.

    """
    for unit in ("KiB", "MiB", "GiB"):
        number = text.removesuffix(unit).strip()
        if text.endswith(unit) and number.isdecimal():
            return f"{int(number)} {unit}"
    raise InputError(
        Code.BENCH, "--size", f"`{text}` is no size", "a whole number of KiB, MiB or GiB, as 32MiB"
    )


@dataclass(frozen=True)
class Workload:
    """Work of the load threads and of the latency thread."""

    machine: str
    placement: Placement
    threads: int
    mix: Mix = Mix(1, 0)
    store: Store = "ordinary"
    pattern: Pattern = "sequential"
    latency_thread: bool = True
    #: order of the latency thread: in blocks as Intel MLC, or over its buffer as lat_mem_rd and Mess
    chase: ChaseOrder = "blocks"
    #: vectors that the load threads access a line by
    isa: Isa = "avx512"
    #: of the buffers: one of PAGES
    pages: Pages = PAGES[0]
    #: node of the page tables; the machine's first one if there is none
    page_tables: str | None = None
    #: of the cores; as the host file has them where it is ``None``
    prefetch: bool | None = None
    #: bytes of all buffers over those of the device's cache; ``None`` where buffers have their own size
    of_cache: float | None = None
    #: what the machine's parts do is checked
    check: bool = False

    def job(self, delay: int) -> BenchJob:
        """The model's job for one delay [core cycles]."""
        work: WorkLoadedLatency = {
            "loaded_latency": {
                "mix": {"reads": self.mix.reads, "writes": self.mix.writes},
                "store": self.store,
                "pattern": self.pattern,
                "latency_thread": self.latency_thread,
                "chase": self.chase,
                "isa": self.isa,
            }
        }
        return self.job_of(work, delay)

    def job_of(self, work: Work, delay: int = 0) -> BenchJob:
        """The model's job for another kernel on the same placement."""
        job: BenchJob = {
            "machine": str(self.machine),
            "set": settings_of(self.machine),
            "placement": [{"node": node, "weight": weight} for node, weight in self.placement.shares],
            "threads": self.threads,
            "delay": delay,
            "work": work,
            "pages": self.pages,
            "page_tables": self.page_tables,
            "prefetch": self.prefetch,
            "seed": SEED,
        }
        if self.check:
            job["check"] = True
        return job if self.of_cache is None else {**job, "of_cache": self.of_cache}

    def settings(self) -> dict[str, Any]:
        """Return the settings as results have them."""
        return {
            "threads": self.threads,
            "mix": str(self.mix),
            "store": self.store,
            "pattern": self.pattern,
            "pages": self.pages,
            "chase": self.chase,
            "isa": self.isa,
        }
