"""Run streams of TPC-H's queries side by side.

::

    streams.py SCALE QUERIES STREAMS PROCESSORS MEMORY WORK SEED

Each stream is a session of its own, and streams are dealt to the processors. It runs each query once, in an
order that the seed draws. The server has MEMORY, of which each stream wants WORK [kB].
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cluster
import drive
import memory
import tpch
from answers import are_published


class Stream(threading.Thread):
    """A session that runs its queries one after the other."""

    def __init__(
        self, sockets: Path, texts: Mapping[int, str], numbers: Sequence[int], processor: int
    ) -> None:
        """Connect; the session's process is on a processor."""
        super().__init__()
        self._texts, self._numbers = texts, numbers
        self._connection = cluster.connected(sockets)
        os.sched_setaffinity(self._connection.info.backend_pid, {processor})
        self.seconds: list[float] = []
        self.answers: dict[int, list[tuple[Any, ...]]] = {}

    def run(self) -> None:
        """Ask and fetch."""
        cursor = self._connection.cursor()
        for number in self._numbers:
            begun = time.perf_counter()
            cursor.execute(self._texts[number])
            self.answers[number] = cursor.fetchall()
            self.seconds.append(time.perf_counter() - begun)


def main() -> int:
    """Serve, measure and check."""
    thousandths, queries, *numbers = sys.argv[1:]
    streams, processors, kilobytes, work, seed = map(int, numbers)
    division = memory.divide(kilobytes, streams, work)
    folder = Path(os.environ["WORKLOAD_DISK"]) / "cluster"
    cluster.given_to_owner(folder)
    folder.chmod(0o700)
    sockets = Path(tempfile.mkdtemp())
    sockets.chmod(0o777)
    # The planner must know that nothing else caches, or it looks rows up that it would have to read.
    settings = {
        "shared_buffers": f"{division.tables}kB",
        "effective_cache_size": f"{division.tables}kB",
        "work_mem": f"{division.work}kB",
    }
    # The server's user cannot reach what is in root's home.
    direct = shutil.copy(Path(os.environ["WORKLOAD_BUILD"]) / "program", sockets)
    environment = {**os.environ, "LD_PRELOAD": str(direct)}
    command = cluster.server(folder, sockets, **settings)
    with subprocess.Popen(command, user=cluster.owner(), cwd=sockets, env=environment) as server:
        try:
            cluster.wait(sockets, server)
            orders = [tpch.stream(queries, f"{seed * streams + place}") for place in range(streams)]
            return measure(sockets, int(thousandths) / 1000, orders, processors)
        finally:
            server.terminate()


def measure(sockets: Path, scale: float, orders: Sequence[Sequence[int]], processors: int) -> int:
    """Run a stream for each order of queries: 0, or 1 if an answer is wrong."""
    reference = tpch.empty()
    texts = dict(reference.execute("SELECT query_nr, query FROM tpch_queries()").fetchall())
    running = [Stream(sockets, texts, order, place % processors) for place, order in enumerate(orders)]
    region = ctypes.CDLL(f"{os.environ['WORKLOAD_BUILD']}/program")
    before, begun = drive.traffic(), time.perf_counter()
    region.begin()
    for stream in running:
        stream.start()
    for stream in running:
        stream.join()
    region.end()
    took, done = time.perf_counter() - begun, drive.traffic().since(before)
    if any(len(stream.seconds) != len(orders[0]) for stream in running):
        return 1
    if not all(are_published(reference, scale, stream.answers) for stream in running):
        return 1
    print("measure elapsed", took * 1e3)
    tpch.print_times([seconds for stream in running for seconds in stream.seconds])
    print("measure read", done.read / 1e6)
    print("measure requests", done.reads)
    print("measure held", cluster.held(sockets) / 1e6)
    return 0


if __name__ == "__main__":
    sys.exit(main())
