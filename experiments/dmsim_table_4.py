"""CXL-DMSim (Hong et al.), table IV and figure 15a: embedding reduction on 1 to 48 cores, where it waits.

Table IV is of CXL-DMSim's own simulator, which loses half of the queries from 12 to 48 cores; of its silicon
the paper prints the latency of L3 misses, 568 ns and 2.4 us, and that throughput falls. By Little's law these
latencies are 21.6 and 20.5 GB/s with 16 lines a core under way: 5 % less, not half. The curve over cores is
here for two depths of the FIFOs, table III's and CXL-DMSim's default, with prefetchers off and on. Queries
are as long as this bench's: only their ratios compare.
``.venv/bin/python -m experiments.dmsim_table_4 [--plot FILE]``: half a minute.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click
from cxlab.bench import sweep
from cxlab.bench.request import Placement, Workload
from cxlab.bench.result import Point, console
from cxlab.cli.output import PLOT_FILE
from cxlab.place import plot, report
from rich.table import Table

DATA = Path(__file__).resolve().parent.parent / "data"
MACHINE, DEVICE = "8468v-asic", "dmsim-asic"
CORES = (1, 2, 4, 8, 12, 16, 24, 36, 48)
FEW, MANY = 12, 48
#: Depth of the response FIFO in table III, and CXL-DMSim's default.
DEPTHS = (52, 128)
CXL = Placement((("cxl", 1),))
#: Stages of a load before the LLC has missed, and those of the device.
BEFORE_THE_MISS = ("translation", "fill_buffer", "to_home")
OF_THE_DEVICE = ("device_in", "device_queue", "media", "link_s2m")


@dataclass(frozen=True)
class Curve:
    """Points over ``CORES``."""

    what: str
    points: list[Point]

    def at(self, cores: int) -> Point:
        """With so many cores."""
        return self.points[CORES.index(cores)]


def machine(folder: Path, depth: int) -> str:
    """The machine with response FIFOs of ``depth``: its file."""
    device, count = re.subn(
        r"^((?:request|response)_fifo = \{ value = )\d+",
        rf"\g<1>{depth}",
        (DATA / "devices" / f"{DEVICE}.toml").read_text(),
        flags=re.MULTILINE,
    )
    assert count == 2, f"the device has {count} lines for FIFOs"
    # What is 64 stands above the FIFO (its source says so) and goes up with it.
    (folder / f"device-{depth}.toml").write_text(
        device.replace("value = 64,", f"value = {max(64, 2 * depth)},")
    )
    text = (DATA / "machines" / f"{MACHINE}.toml").read_text()
    host = (DATA / "hosts" / "xeon-8468v.toml").read_text()
    (folder / "host.toml").write_text(host)
    text = text.replace('"xeon-8468v"', '"host.toml"').replace(f'"{DEVICE}"', f'"device-{depth}.toml"')
    path = folder / f"machine-{depth}.toml"
    path.write_text(text)
    return str(path)


def run(machine: str, placement: Placement, prefetch: bool, cores: tuple[int, ...] = CORES) -> list[Point]:
    """Embedding reduction on so many cores."""
    workloads = [Workload(machine, placement, count, prefetch=prefetch) for count in cores]
    return sweep.run([workload.job_of({"embedding": {}}) for workload in workloads], str(placement))


def miss_latency(point: Point) -> float:
    """From the LLC's miss to the core [ns]."""
    before = sum(float(point["stages_ns"].get(stage, 0.0)) for stage in BEFORE_THE_MISS)
    return float(point["latency_ns"]) - before


def table_iv(curve: Curve) -> list[report.Row]:
    """48 cores over 12: table IV's statistics by their plain names; silicon's latencies."""
    few, many = curve.at(FEW), curve.at(MANY)
    misses = miss_latency(few), miss_latency(many)

    def grows(value: str) -> float:
        return float(many[value]) / float(few[value])

    def of_the_device(point: Point) -> float:
        return sum(float(point["stages_ns"].get(stage, 0.0)) for stage in OF_THE_DEVICE)

    growths = (
        ("L3 miss, 48 over 12 (silicon)", 2400 / 568, misses[1] / misses[0]),
        ("L3 miss, 48 over 12 (table)", 1.2e6 / 1.3e5, misses[1] / misses[0]),
        ("load to use, 48 over 12 (table)", 198 / 97, grows("latency_ns")),
        ("queries/s, 48 over 12 (table)", 8.8e5 / 1.8e6, grows("queries_per_second")),
    )
    return [
        report.Row("L3 miss, 12 cores (silicon)", 568.0, misses[0], "ns"),
        report.Row("L3 miss, 48 cores (silicon)", 2400.0, misses[1], "ns"),
        *(report.Row(what, round(paper, 2), simulated, "x") for what, paper, simulated in growths),
        report.Row("device's response, 12 (table)", 81.0, of_the_device(few), "ns"),
        report.Row("device's response, 48 (table)", 81.0, of_the_device(many), "ns"),
    ]


def figure_15a(machine: str, prefetch: bool) -> report.Row:
    """What half of the pages on CXL memory gain."""
    half = Placement((("dram", 1), ("cxl", 1)))
    [both], [alone] = (
        run(machine, placement, prefetch, (MANY,)) for placement in (half, Placement((("dram", 1),)))
    )
    gain = report.change(both["queries_per_second"], alone["queries_per_second"])
    return report.Row("half on CXL over DDR-L alone (15a)", 16.0, gain)


def over_cores(curves: list[Curve]) -> Table:
    """Queries a second."""
    table = Table(title="queries a second, in 10^5, over cores, all on CXL-ASIC", title_justify="left")
    for heading in ("", *map(str, CORES)):
        table.add_column(heading, justify="right" if heading else "left")
    for curve in curves:
        table.add_row(curve.what, *(f"{point['queries_per_second'] / 1e5:.2f}" for point in curve.points))
    return table


@click.command()
@click.option("--plot", "plot_file", type=PLOT_FILE, help="Draw throughput over cores.")
def main(plot_file: Path | None) -> None:
    """The curves, then table IV for each."""
    with tempfile.TemporaryDirectory(prefix="table-4-") as name:
        cases = [(depth, prefetch) for depth in DEPTHS for prefetch in (False, True)]
        machines = {depth: machine(Path(name), depth) for depth in DEPTHS}
        curves = [
            Curve(
                f"FIFO of {depth}, prefetchers {'on' if prefetch else 'off'}",
                run(machines[depth], CXL, prefetch),
            )
            for depth, prefetch in cases
        ]
        gains = [figure_15a(machines[depth], prefetch) for depth, prefetch in cases]
    console().print(over_cores(curves))
    for curve, gain in zip(curves, gains, strict=True):
        report.show(f"CXL-DMSim table IV, {curve.what}", [*table_iv(curve), gain])
    if plot_file is not None:
        lines = [
            plot.Line(
                curve.what,
                [(n, p["queries_per_second"] / 1e5) for n, p in zip(CORES, curve.points, strict=True)],
            )
            for curve in curves
        ]
        title = "Embedding reduction on CXL-ASIC"
        plot.lines(plot_file, title, "cores", "queries a second [10^5]", lines)


if __name__ == "__main__":
    main()
