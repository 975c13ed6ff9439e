"""The results of a run as a document (summary.json, ``--json FILE``), and its exit status.

Beside the model's own part (``simulated_seconds``, ``instructions``, ``ipc``, ``nodes``, ``time``; absent
with detail off) it has more. It says what ran, whether it ran to its end, and what that took on the host.
"""

from __future__ import annotations

import errno
from dataclasses import asdict
from typing import Any

from cxlab import model
from cxlab.run.errors import NOT_EXECUTABLE, NOT_FOUND, OWN_ERROR
from cxlab.run.guest import protocol as guest
from cxlab.run.interruption import Interrupted
from cxlab.run.options import date
from cxlab.run.request import Outcome, Request
from cxlab.run.results import inputs
from cxlab.version import cxlab_version


def exit_status(outcome: Outcome) -> int:
    """The program's own; 0 if a bound ended it; 128 + n for a signal; those of cxlab.run.errors."""
    if isinstance(outcome.failure, Interrupted):
        return 128 + outcome.failure.number
    if outcome.failure is not None or outcome.exit is None:
        return OWN_ERROR
    if outcome.bound is not None:
        return 0
    match outcome.exit.status:
        case guest.ExitCode(code):
            return code
        case guest.Signalled(number):
            return 128 + number
        case guest.NotStarted("execute", number, _):
            return NOT_FOUND if number in (errno.ENOENT, errno.ENOTDIR) else NOT_EXECUTABLE
        case guest.NotStarted():
            return OWN_ERROR


def config(request: Request, qemu_version: str) -> dict[str, Any]:
    """Make the resolved configuration: config.json."""
    return {
        "program": _program(request),
        "program_file": _program_file(request),
        **_files(request),
        "placement": request.program.placement.text,
        "memory_bytes": _memory(request),
        "cpus": request.cpus,
        **_disk(request),
        "persistent": _persistent(request),
        "date": None if request.checkpoint else date.text_of(request.date),
        "detail": request.detail,
        "checkpoint": None if request.checkpoint is None else request.checkpoint.name,
        **request.effect.config,
        "environment": {_text(k): _text(v) for k, v in request.program.environment.items()},
        "machine": request.machine.resolved,
        "versions": {"cxlab": cxlab_version(), "qemu": qemu_version, "kernel_image": request.kernel.name},
    }


def summary(request: Request, outcome: Outcome, qemu_version: str) -> dict[str, Any]:
    """The results: summary.json."""
    files = () if outcome.exit is None else outcome.exit.files
    return {
        "complete": outcome.complete,
        "reason": None if outcome.failure is None else str(outcome.failure),
        "exit_status": exit_status(outcome),
        # None: the program came to its own end, or the run did not come that far.
        "bound": outcome.bound,
        "program": _program(request),
        "machine": request.machine.name,
        "placement": request.program.placement.text,
        "memory_bytes": _memory(request),
        "cpus": request.cpus,
        **_disk(request),
        "regions": [_region(request, region) for region in outcome.regions],
        "detail": request.detail,
        "checkpoint": None if request.checkpoint is None else request.checkpoint.name,
        # Whether the run is complete is for us to say: QEMU, asked to end early, closes its stream in order.
        **_simulated(outcome),
        "host_seconds": {
            "boot": outcome.boot_seconds,
            "detail": outcome.detail_seconds,
            "total": outcome.total_seconds,
        },
        "host_memory_mb": outcome.host_memory_mb,
        "files": [{"path": _text(f.path), "kind": f.kind, "bytes": f.size} for f in files],
        "moved_pages": {} if outcome.exit is None else outcome.exit.pages,
        "stalls_us": {} if outcome.exit is None else outcome.exit.stalls_us,
        "movers_us": {} if outcome.exit is None else outcome.exit.movers_us,
        "out_of_memory": [] if outcome.exit is None else list(outcome.exit.oom),
        "versions": {"cxlab": cxlab_version(), "qemu": qemu_version, "kernel": outcome.kernel},
    }


#: Parts of the model's result that are files of their own, or for us to say.
ELSEWHERE = ("complete", "series", "statistics")


def _simulated(outcome: Outcome) -> dict[str, Any]:
    if outcome.simulated is None:
        return {}
    document = model.document(outcome.simulated)
    return {key: value for key, value in document.items() if key not in ELSEWHERE}


def _program(request: Request) -> dict[str, Any]:
    return {"argv": [_text(a) for a in request.program.argv], "cwd": _text(request.program.cwd)}


def _program_file(request: Request) -> dict[str, Any] | None:
    program = request.program
    found = inputs.program_file(program.argv[0], program.cwd, program.environment)
    return None if found is None else found | {"path": _text(found["path"])}


def _files(request: Request) -> dict[str, list[dict[str, Any]]]:
    program = request.program
    found = {
        "libraries": inputs.library_files(program.argv[0], program.cwd, program.environment),
        "input_files": inputs.argument_files(program.argv[1:], program.cwd),
    }
    return {key: [file | {"path": _text(file["path"])} for file in files] for key, files in found.items()}


def _region(request: Request, region: guest.Region) -> dict[str, Any]:
    """Return the regions that Linux committed, by the node's name."""
    window = request.topology.windows[region.window]
    node = request.machine.nodes[window.node].name
    managed = window.managed.value if region.mode == "ram" else None
    return {"name": node, "managed": managed, **asdict(region)}


def _persistent(request: Request) -> dict[str, Any]:
    """The persistent partitions, by node, and whether they outlive the run."""
    windows = [window for window in request.topology.windows if window.persistent]
    return {
        "bytes": {request.machine.nodes[window.node].name: window.persistent for window in windows},
        "namespace": windows[0].namespace.value if windows else None,
        "kept": request.topology.kept_in is not None,
    }


def _disk(request: Request) -> dict[str, Any]:
    """Swap and file system of the guest: how large they are, and which drive is under them."""
    on = request.disk
    swap = None if on is None else on.swap_bytes
    files = None if on is None else on.files
    drive = request.machine.drive
    name = None if drive is None else drive.name
    return {
        "swap": None if swap is None else {"bytes": swap, "drive": name},
        "disk": None
        if files is None
        else {
            "bytes": files.size,
            "drive": name,
            "at": _text(files.at),
            "from": None if files.source is None else _text(str(files.source)),
        },
    }


def _memory(request: Request) -> dict[str, int]:
    return {node.name: size for node, size in zip(request.machine.nodes, request.node_bytes, strict=True)}


def _text(raw: str) -> str:
    """Text for readers: bytes that are not UTF-8 become the replacement character."""
    return raw.encode(errors="surrogateescape").decode(errors="replace")
