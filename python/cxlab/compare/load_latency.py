"""Splits a load's latency into its wait in the core and the memory's time.

::

    mean_load_latency_ns  =  wait in the core (translation, fill buffer)  +  memory latency

A wait for a fill buffer says how many lines the core has under way. It says nothing of the memory's speed.
"""

from __future__ import annotations

from cxlab import model
from cxlab.border import NodeSummary
from cxlab.sampled import Term

#: Where the intervals of a sampled run have the two, below a node.
WAIT_IN_CORE = [Term(f"stages_ns.{name}") for name in model.core_stages()]
MEMORY_LATENCY = [
    Term("mean_load_latency_ns"),
    *(Term(f"stages_ns.{name}", -1) for name in model.core_stages()),
]


def wait_in_core_ns(node: NodeSummary) -> float | None:
    """Mean wait of a load before it leaves its core; None where no load came."""
    if node.mean_load_latency_ns is None:
        return None
    return sum(node.stages_ns.get(name, 0.0) for name in model.core_stages())


def memory_latency_ns(node: NodeSummary) -> float | None:
    """Mean time of a load from its core to the memory and back; None where no load came."""
    waited = wait_in_core_ns(node)
    return None if node.mean_load_latency_ns is None or waited is None else node.mean_load_latency_ns - waited
