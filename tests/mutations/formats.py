"""The formats that CXLab reads: a file of each, and how it is read as a command reads it."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click
from click.testing import CliRunner
from cxlab import model
from cxlab.bench.curves import Comparison, read_curves
from cxlab.calibrate import measured
from cxlab.caption import log
from cxlab.cli.plan import command as plan
from cxlab.error import MachineError
from cxlab.plan.applications import EXAMPLE
from cxlab.run.guest import artefacts
from cxlab.run.host.ports import ControlPort

from .building import Defect, build

ROOT = Path(__file__).parents[2]
NODES = ("dram", "cxl")
CURVES = b"""path,threads,rw_mix,store_type,pattern,inject_delay,latency_ns,bandwidth_MBps
lat=DDR-local,16,1:0,none,sequential,0,376,230000
lat=DDR-local,16,1:0,none,sequential,500,180,90000
lat=DDR-local,16,1:0,none,sequential,9000,118,3000
CXL-local,4,2:1,temporal,random,0,900,21000
CXL-local,4,2:1,temporal,random,1000,290,9000
"""
MEASURED = CURVES.replace(b"lat=DDR-local", b"dram").replace(b"CXL-local", b"cxl")
MLC = b"""Intel(R) Memory Latency Checker - v3.11b
Command line parameters: --loaded_latency

Measuring Loaded Latencies for the system
Using 2:1 Reads-Writes traffic type
Inject\tLatency\tBandwidth
Delay\t(ns)\tMB/sec
==========================
 00000\t806.94\t  47898.1
 20000\t250.12\t   1237.6
"""
BENCH = json.dumps(
    {
        "bench": "loaded-latency",
        "node": "cxl",
        "threads": 16,
        "mix": "1:0",
        "store": "ordinary",
        "pattern": "sequential",
        "settings": {"threads": 16},
        "points": [
            {"delay": 0, "latency_ns": 900.5, "bandwidth_mb_s": 21000.0, "mix": "1:0"},
            {"delay": 500, "latency_ns": 290.25, "bandwidth_mb_s": 9000.0},
        ],
    },
    indent=1,
).encode()
SUMMARY = json.dumps(
    {
        "complete": True,
        "simulated_seconds": 0.25,
        "instructions": {"user": 1000000, "kernel": 4000},
        "nodes": {
            "dram": {"read_bytes": 1000, "write_bytes": 20},
            "cxl": {"read_bytes": 9000000, "write_bytes": 1000},
        },
    },
    indent=1,
).encode()
LOG = (
    b'{"format": "cxlab-caption 1", "machine": "x"}\n'
    b'{"time_s": 0.001, "cxl_share": 0.25, "placement": "3:1", "throughput": 812.5, "ipc": 0.7}\n'
    b'{"time_s": 0.002, "cxl_share": 0.5, "placement": "1:1", "throughput": 700, "left_out": true, '
    b'"verdict": "worse", "next_cxl_share": 0.25}\n'
)
EVENTS = (
    b'{"event": "ready", "kernel": "6.12", "nodes": [{"node": 0, "ranges": [[0, 655360], [1048576, 1000]]}], '
    b'"regions": [{"window": 0, "mode": "ram", "base": 4563402752, "size": 1000, "granularity": 256, '
    b'"serials": [1, 2], "node": 1, "device": "dax0.0"}]}\n'
    b'{"event": "exit", "status": {"code": 3}, "stdout_bytes": 5, "stderr_bytes": 0, "files": [{"path": '
    b'"/a", "kind": "file", "size": 3, "mode": 420, "lost": null}, {"path": [255, 1], "kind": "deleted", '
    b'"size": 0, "mode": 0, "lost": "x"}], "oom": ["out of memory"], "moved": {"pages": {"pgdemote": 3}, '
    b'"stalls_us": {"memory.some": 4}, "movers_us": {"kswapd0": 1}}, "begun": true, '
    b'"ended": false, "stopped": true}\n'
    b'{"event": "exit", "status": {"not_started": {"step": "execute", "errno": 2, "message": "x"}}, '
    b'"stdout_bytes": 0, "stderr_bytes": 0, "files": [], "oom": [], "moved": {"pages": {}, "stalls_us": {}, '
    b'"movers_us": {}}, "begun": false, "ended": false, "stopped": false}\n'
    b'{"event": "failed", "code": "GST001", "message": "no such node"}\n'
)
SAMPLES = b"".join(
    b'{"time_s": %d, "throughput": %d.5, "norm_ipc": 0.%d, "l1_miss_latency_ns": %d, '
    b'"ddr_read_latency_ns": %d, "cxl_read_latency_ns": 400}\n' % sample
    for sample in ((i, i * i, 10 + i * 7 % 11, 50 + i * 5 % 13, 120 + i * i % 5) for i in range(8))
)
DESCRIPTION = json.dumps(
    {
        "machine": "8468v-asic",
        "cpus": 1,
        "nodes": [{"node": 0, "ranges": [[0, 655360], [1048576, 2146435072]]}],
        "regions": [
            {"node": 1, "base": 4563402752, "size": 2147483648, "granularity": 256, "targets": [0, 1]}
        ],
        "retrainings": [{"node": 1, "at": "1 ms", "lanes": "x4", "rate": "16 GT/s"}],
    }
).encode()


@dataclass(frozen=True)
class Format:
    """A format."""

    name: str
    #: whole files
    seeds: tuple[bytes, ...]
    #: reads a file; raises `InputError` or `MachineError` for one that is refused
    read: Callable[[Path], None]


def _command(group: click.Command, *arguments: object) -> None:
    """Run a command: what it raises is raised here."""
    texts = [str(argument) for argument in arguments]
    result = CliRunner().invoke(group, texts, standalone_mode=False)
    if result.exception is not None:
        raise result.exception


COST = ("cost", "--r-d", "10", "--r-c", "8", "--c", "2", "--draws", "3")


def _prices(path: Path) -> None:
    _command(plan, *COST, "--dram", "512 GiB", "--prices", path)


def _applications(path: Path) -> None:
    _command(plan, "mix", path, "--quick")


def _run(path: Path) -> None:
    folder = path.parent / "folder"
    folder.mkdir(exist_ok=True)
    (folder / "summary.json").write_bytes(path.read_bytes())
    other = path.parent / "dram"
    other.mkdir(exist_ok=True)
    (other / "summary.json").write_bytes(
        SUMMARY.replace(b"9000000", b"0").replace(b'"write_bytes": 1000', b'"write_bytes": 0')
    )
    cost = ("cost", "--c", "2", "--r-t", "1.1", "--draws", "3")
    slow = path.parent / "slow"
    slow.mkdir(exist_ok=True)
    (slow / "summary.json").write_bytes(SUMMARY.replace(b"0.25", b"2.5"))
    runs = (f"dram={other}", f"cxl={folder}", f"slow={slow}")
    _command(plan, *cost, *(part for run in runs for part in ("--from-run", run)))


def _bench(path: Path) -> None:
    cost = ("cost", "--c", "2", "--r-t", "1.1", "--draws", "3", "--r-d", "10")
    _command(plan, *cost, "--from-run", f"dram={path}", "--from-run", f"cxl={path}")


def _curves(path: Path) -> None:
    curves, _ = read_curves(path.parent)
    for curve in curves:
        compared = Comparison(curve, [(2000.0, 120.0), (90000.0, 400.0)])
        _ = (curve.label, curve.role, curve.classes, compared.peak_error, compared.below_knee())
        _ = (compared.idle(), compared.full_load(), compared.errors("idle"), compared.errors("at the peak"))


def _measured(path: Path) -> None:
    for series in measured.read([path], measured.Told("cxl", 4), NODES):
        for point in series.points:
            for figure in (point.latency, point.bandwidth):
                if figure is not None and not 0 < figure < 1e9:
                    raise Defect(f"{figure} is believed")


def _log(path: Path) -> None:
    log.read(path)


def _events(path: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(path.read_bytes())
        theirs.close()
        ControlPort(ours).receive()


def _fit(path: Path) -> None:
    program = artefacts.built(artefacts.CAPTION)
    out = path.parent / "model.json"
    command = [str(program), "fit", str(path), "--output", str(out)]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    if done.returncode in (1, 2):
        raise MachineError(done.stderr)
    if done.returncode != 0:
        raise Defect(f"status {done.returncode}: {done.stderr}")


def _check(data: bytes) -> int:
    """FNV-1a of 64 bits, as a trace has it of its description (crates/access/src/trace.rs)."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def trace(description: bytes) -> bytes:
    """A whole trace without records."""
    closing = (15 << 6 | 1).to_bytes(8, "little") + (1).to_bytes(8, "little")
    header = b"CXLTRACE" + (8).to_bytes(4, "little") + len(description).to_bytes(4, "little")
    # A frame of one raw block (RFC 8878, 3.1.1).
    frame = b"\x28\xb5\x2f\xfd\x20\x10" + (len(closing) << 3 | 1).to_bytes(3, "little") + closing
    return header + description + _check(description).to_bytes(8, "little") + frame


def _description(path: Path) -> None:
    whole = path.parent / "changed.trace"
    whole.write_bytes(trace(path.read_bytes()))
    model.replay(json.dumps({"trace": str(whole), "machine": None, "timeline": None, "sample": None}))


def _flash(path: Path) -> None:
    """A flash part that a drive's file names."""
    drive = path.parent / "flash-drive.toml"
    text = (ROOT / "data/drives/pm983.toml").read_text()
    drive.write_text(
        re.sub(r'^part = \{ value = "[^"]*"', 'part = { value = "part.toml"', text, flags=re.MULTILINE)
    )
    (path.parent / "part.toml").write_bytes(path.read_bytes())
    machine = path.parent / "machine.toml"
    text = (ROOT / "data/machines/8468v-asic.toml").read_text()
    machine.write_text(re.sub(r'^drive = "[^"]*"$', f'drive = "{drive.name}"', text, flags=re.MULTILINE))
    _build(machine)


def _machine(path: Path) -> None:
    (path.parent / "machine.toml").write_bytes(path.read_bytes())
    _build(path.parent / "machine.toml")


def _part(kind: str) -> Callable[[Path], None]:
    """A file that a machine file, or its host file, names in the place of one that ships."""

    def read(path: Path) -> None:
        machine, host = path.parent / "machine.toml", path.parent / "host.toml"
        named = re.compile(rf'^{kind} = "[^"]*"$', re.MULTILINE)
        for made, shipped in ((machine, "machines/8468v-asic"), (host, "hosts/xeon-8468v")):
            text = (ROOT / f"data/{shipped}.toml").read_text()
            made.write_text(named.sub(f'{kind} = "part.toml"', text))
        if kind != "host":
            machine.write_text(machine.read_text().replace('host = "xeon-8468v"', 'host = "host.toml"'))
        (path.parent / "part.toml").write_bytes(path.read_bytes())
        _build(machine)

    return read


def _build(machine: Path) -> None:
    whole = machine.parent / "machine.trace"
    whole.write_bytes(trace(DESCRIPTION.replace(b"8468v-asic", str(machine).encode())))
    build(machine, whole)


def _shipped(*names: str) -> tuple[bytes, ...]:
    return tuple((ROOT / f"data/{name}.toml").read_bytes() for name in names)


FORMATS = (
    Format("prices", tuple(p.read_bytes() for p in sorted((ROOT / "data/prices").glob("*.toml"))), _prices),
    Format("applications", (EXAMPLE.encode(),), _applications),
    Format("run", (SUMMARY,), _run),
    Format("bench", (BENCH,), _bench),
    Format("curves.csv", (CURVES,), _curves),
    Format("measured", (MEASURED, BENCH), _measured),
    Format("mlc", (MLC,), _measured),
    Format("caption-log", (LOG,), _log),
    Format("caption-samples", (SAMPLES,), _fit),
    Format("events", tuple(EVENTS.splitlines(keepends=True)), _events),
    Format("description", (DESCRIPTION,), _description),
    Format("machine", _shipped("machines/8468v-asic", "machines/8468v-fpga"), _machine),
    Format("host", _shipped("hosts/xeon-8468v"), _part("host")),
    Format("core", _shipped("cores/golden-cove"), _part("microarchitecture")),
    Format(
        "device",
        _shipped("devices/dmsim-asic", "devices/a1000", "devices/cmm-h-505", "devices/skybyte"),
        _part("device"),
    ),
    Format("drive", _shipped("drives/pm983"), _part("drive")),
    Format("flash", _shipped("flash/v-nand-tlc", "flash/z-nand"), _flash),
)


def judge(found: Format, text: bytes, folder: Path) -> None:
    """Read a changed file: what is neither read nor refused by name is raised."""
    path = folder / found.name
    path.write_bytes(text)
    try:
        found.read(path)
    except (click.ClickException, MachineError) as error:
        # cxlab-memo's words are passed on.
        if "panicked" in str(error):
            raise Defect(str(error)) from error
