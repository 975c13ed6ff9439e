"""The request for a study: applications, the placement of their pages, and what moves them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import get_args

from cxlab.asked_machine import settings_of
from cxlab.border import AppSpec, KeyDistribution, Mempolicy, ProcessSpec, StudySpec, TieringKind, Ycsb
from cxlab.error import Code, InputError

#: Two of the testbed's DDR5 channels beside CXL-A (MICRO'23).
TWO_CHANNELS = "6430-cxl-a-2ch"
#: All eight.
EIGHT_CHANNELS = "6430-cxl-a"
#: Redis' time of a request beside its misses. An assumption, bounded by MICRO'23 (figures 6a, 9b): a store
#: that is 30 % slower still serves 85 K QPS. So a request takes at most 8.2 us on DDR, and its misses take
#: about 2 of them.
REQUEST_TIME = "6 us"
FAST, SLOW = "dram", "cxl"
YCSB: tuple[Ycsb, ...] = get_args(Ycsb)
KEYS: tuple[KeyDistribution, ...] = get_args(KeyDistribution)
TIERINGS: tuple[TieringKind, ...] = get_args(TieringKind)
#: Applications that need no more to be said.
PLAIN: dict[str, AppSpec] = {
    "embedding": {"embedding": {}},
    "phased": {"phased": {}},
    "pointer_rich": {"pointer_rich": {}},
    "scan": {"scan": {}},
    "streaming": {"streaming": {}},
}
APPLICATIONS = (*PLAIN, *(f"store-{workload}-{keys}" for workload in YCSB for keys in KEYS))


@dataclass(frozen=True)
class Application:
    """A synthetic application and its size."""

    name: str
    threads: int
    #: pages of 4 KiB of all threads together
    pages: int
    #: requests a second to each thread of a store; none: the next comes when the last is answered
    rate: float | None = None

    @staticmethod
    def of(name: str, threads: int | None = None, pages: int | None = None) -> Application:
        """An application in its usual size: 16 threads on 64 MiB, a store 1 thread on 32 MiB.

        Raises:
            InputError: there is none of that name.

        """
        if name not in APPLICATIONS:
            raise InputError(Code.STUDY, "--app", f"no application `{name}`", ", ".join(APPLICATIONS))
        usual = (16, 16384) if name in PLAIN else (1, 8192)
        return Application(name, threads or usual[0], pages or usual[1])

    @property
    def is_store(self) -> bool:
        """Whether it answers requests."""
        return self.name not in PLAIN

    def at(self, rate: float) -> Application:
        """The store with requests that arrive at random, so many a second for each thread."""
        return replace(self, rate=rate)

    def document(self) -> AppSpec:
        """Return the request as the model reads it."""
        if not self.is_store:
            return PLAIN[self.name]
        workload, keys = next((y, k) for y in YCSB for k in KEYS if self.name == f"store-{y}-{k}")
        return {"key_value": {"workload": workload, "keys": keys, "compute": REQUEST_TIME, "rate": self.rate}}


@dataclass(frozen=True)
class Share:
    """Whole percent of the pages that are on CXL memory."""

    percent: int

    def __post_init__(self) -> None:
        """Refuse what is no share."""
        if not 0 <= self.percent <= 100:
            raise InputError(Code.STUDY, "--share", f"{self.percent} %", "0 to 100 %")

    def mempolicy(self) -> Mempolicy:
        """Weighted interleave; bound to one node at the ends."""
        if self.percent in (0, 100):
            return {"bind": {"node": SLOW if self.percent else FAST}}
        divisor = gcd(self.percent, 100)
        weights = ((FAST, (100 - self.percent) // divisor), (SLOW, self.percent // divisor))
        return {"weighted": {"weights": [{"node": node, "weight": weight} for node, weight in weights]}}


@dataclass(frozen=True)
class Study:
    """Applications on a machine."""

    applications: Sequence[Application]
    share: Share = Share(0)
    machine: str = TWO_CHANNELS
    tiering: TieringKind = "none"
    #: frames of the fast node; none: room for all
    fast_frames: int | None = None
    #: only the fast node and an SSD
    swap: bool = False
    warm: str = "30 us"
    measure: str = "100 us"
    #: each application in so many processes of equal size
    processes: int = 1
    caches_divided_by: int = 64
    seed: int = 1

    def document(self) -> StudySpec:
        """Return the request as the model reads it."""
        pages = sum(application.pages for application in self.applications)
        room = pages + pages // 16 + 256
        capacity = {FAST: self.fast_frames or room} | ({} if self.swap else {SLOW: room})
        return {
            "machine": str(self.machine),
            "set": settings_of(self.machine),
            "caches_divided_by": self.caches_divided_by,
            "capacity": capacity,
            "processes": [self._process(application) for application in self.applications] * self.processes,
            "tiering": self.tiering,
            "swap": self.swap,
            "warm": self.warm,
            "measure": self.measure,
            "seed": self.seed,
        }

    def _process(self, application: Application) -> ProcessSpec:
        return {
            "app": application.document(),
            "threads": max(1, application.threads // self.processes),
            "pages": application.pages // self.processes,
            "mempolicy": self.share.mempolicy(),
            # A store's records come in no order; arrays are touched from their first page on.
            "order": "random" if application.is_store else "sequential",
        }
