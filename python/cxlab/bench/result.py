"""A result: what was asked and the points, as JSON and as tables."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from cxlab.bench.request import Workload

Point = dict[str, Any]


@dataclass(frozen=True)
class Result:
    """A bench that has run."""

    bench: str
    workload: Workload
    points: list[Point]

    def document(self) -> dict[str, Any]:
        """As ``--json`` writes it; bandwidths in 10^6 B/s, latencies in ns, delays in core cycles."""
        placement = self.workload.placement
        return {
            "bench": self.bench,
            "machine": self.workload.machine,
            "node": str(placement),
            "placement": dict(placement.shares),
            **self.workload.settings(),
            "points": self.points,
        }


#: characters a line, where no terminal says how many
WIDE = 150


def console() -> Console:
    """Standard output; tables that go into a file or a pipe keep their lines whole."""
    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=WIDE)


def write(path: Path, document: dict[str, Any]) -> None:
    """Write JSON, whole or not at all."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(json.dumps(document, indent=1) + "\n")
    os.replace(unfinished, path)


def mlc_lines(result: Result) -> list[str]:
    """Intel MLC's three columns."""
    lines = ["Inject\tLatency\tBandwidth", "Delay\t(ns)\tMB/sec", "=========================="]
    for point in result.points:
        lines.append(
            f" {point['delay']:05d}\t{point['latency_ns'] or 0:7.2f}\t{point['bandwidth_mb_s']:10.1f}"
        )
    return lines


def stages_table(point: Point) -> Table:
    """Where a load's time goes."""
    table = Table(title="where a load's time goes", title_justify="left")
    table.add_column("stage")
    table.add_column("mean", justify="right")
    for stage, mean in point["stages_ns"].items():
        table.add_row(stage, f"{mean:.1f} ns")
    total = sum(point["stages_ns"].values())
    table.add_row("sum", f"{total:.1f} ns", style="bold")
    return table


def embedding_table(result: Result) -> Table:
    """One row a number of threads: throughput, and where the loads waited (CXL-DMSim's table IV)."""
    table = Table(title=f"{result.workload.machine}, {result.workload.placement}", title_justify="left")
    headings = (
        "threads",
        "queries/s",
        "[MB/s]",
        "load to use [ns]",
        "L3 miss [ns]",
        "LSQ full",
        "root port [ns]",
    )
    for heading in headings:
        table.add_column(heading, justify="right")
    for point in result.points:
        stages = point["stages_ns"]
        before = stages.get("fill_buffer", 0.0) + stages.get("to_home", 0.0)
        point["l3_miss_latency_ns"] = point["latency_ns"] - before
        table.add_row(
            str(point["threads"]),
            f"{point['queries_per_second']:.3g}",
            f"{point['bandwidth_mb_s']:.0f}",
            f"{point['latency_ns']:.0f}",
            f"{point['l3_miss_latency_ns']:.0f}",
            str(point["lsq_full_events"]),
            f"{stages.get('root_port_queue', 0.0):.0f}",
        )
    return table


def points_table(result: Result, key: str) -> Table:
    """One row a point, `key` first: bandwidth, latency, row hits, links, queues."""
    table = Table(title=f"{result.workload.machine}, {result.workload.placement}", title_justify="left")
    table.add_column(key)
    for heading in (
        "latency [ns]",
        "[MB/s]",
        "read",
        "written",
        "row hits",
        "m2s",
        "s2m",
        "full",
        "retries",
    ):
        table.add_column(heading, justify="right")
    for point in result.points:
        latency = point["latency_ns"]
        table.add_row(
            str(point[key]),
            "-" if latency is None else f"{latency:.1f}",
            f"{point['bandwidth_mb_s']:,.0f}",
            f"{point['read_mb_s']:,.0f}",
            f"{point['write_mb_s']:,.0f}",
            *_way(point),
        )
    return table


def _way(point: Point) -> tuple[str, str, str, str, str]:
    """Row hits, link utilisation by direction, full-queue events and retries over all ports of a point."""
    ports = [port for node in point["nodes"].values() for port in node["ports"]]
    hits = [port["row_hit_share"] for port in ports if port["row_hit_share"] is not None]
    links = [port["cxl"] for port in ports if port["cxl"]]

    def share(values: list[float]) -> str:
        return f"{sum(values) / len(values):.0%}" if values else "-"

    full = sum(node["table_full_events"] for node in point["nodes"].values())
    full += sum(link["root_port"]["full"] for link in links)
    full += sum(link["device"][f"{kind}_queue_full"] for link in links for kind in ("read", "write"))
    retries = sum(link[way]["retries"] for link in links for way in ("m2s", "s2m"))
    return (
        share(hits),
        share([link["m2s"]["utilisation"] for link in links]),
        share([link["s2m"]["utilisation"] for link in links]),
        f"{full:,}",
        f"{retries:,}" if links else "-",
    )
