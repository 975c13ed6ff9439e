"""Key figures of a machine's nodes, measured by the bench: idle latency, and bandwidth of 16 threads that
read.

The figures are cached under a hash of the resolved machine and of the compiled model: each is measured
once. They are what `cxlab machines` shows and what the guest's firmware tells Linux (HMAT).
"""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path

from msgspec import structs

from cxlab import model
from cxlab.bench.request import Placement, Workload
from cxlab.bench.result import counted
from cxlab.border import MachineFigures
from cxlab.run.guest import cache

#: Load threads, as `cxlab bench bandwidth` has them without --threads.
THREADS = 16
FILE = "figures.json"


def described(machine: str) -> MachineFigures:
    """A machine as the model describes it, each node with what the bench measures.

    Raises:
        RefusedByModel: the model refuses the machine.

    """
    document = model.describe(machine)
    text = json.dumps(document.spec, sort_keys=True)
    digest = hashlib.sha256(f"{_model_digest()} {text}".encode()).hexdigest()[:32]
    names = [node.name for node in document.nodes]
    kept = cache.entry(f"figures/{digest}", lambda folder: _fill(folder, machine, names))
    figures = json.loads((kept / FILE).read_text())
    nodes = [structs.replace(node, **figures[node.name]) for node in document.nodes]
    return structs.replace(document, nodes=nodes)


@functools.cache
def _model_digest() -> str:
    return hashlib.sha256(model.file().read_bytes()).hexdigest()


def _fill(folder: Path, machine: str, nodes: list[str]) -> None:
    calls = []
    for node in nodes:
        placement = Placement(((node, 1),))
        idle = Workload(machine, placement, threads=0).job(0)
        full = Workload(machine, placement, THREADS, latency_thread=False).job(0)
        calls += [functools.partial(model.bench_point, job) for job in (idle, full)]
    points = model.parallel(calls)
    figures = {
        node: {
            "latency_ns": points[2 * place].latency_ns,
            "bandwidth_gb_s": counted(points[2 * place + 1].bandwidth_mb_s) / 1e3,
        }
        for place, node in enumerate(nodes)
    }
    (folder / FILE).write_text(json.dumps(figures))
