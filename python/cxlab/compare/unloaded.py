"""Times of a load's stages on an idle machine: a chase by one thread, as in `cxlab bench latency`.

Prefetchers are off and pages are of 2 MiB, so that each load is the only one on its way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from cxlab import model
from cxlab.bench.request import Placement, Workload
from cxlab.border import BenchPoint


def stages_ns(machine: str, nodes: Sequence[str]) -> Mapping[str, Mapping[str, float]]:
    """Mean time of each stage, by node and stage, for these nodes of a machine [ns]."""

    def chase(node: str) -> BenchPoint:
        return model.bench_point(Workload(machine, Placement(((node, 1),)), threads=0, prefetch=False).job(0))

    points = model.parallel([partial(chase, node) for node in nodes])
    return {node: point.stages_ns for node, point in zip(nodes, points, strict=True)}
