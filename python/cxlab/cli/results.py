"""Messages of a run on standard error when it has ended."""

from __future__ import annotations

import errno
import shlex
import signal
from pathlib import Path
from typing import Any

from rich.console import Console

from cxlab.cli import figures
from cxlab.run.errors import KeepFailed
from cxlab.run.guest import protocol as guest
from cxlab.run.request import Outcome, Request
from cxlab.run.results.run_directory import RunDirectory

#: Files named one by one; the rest is in summary.json.
MOST_NAMED = 10
#: What a signal of the guest may be about that is CXLab's.
WHY: dict[int, str] = {
    signal.SIGILL: ": it executed an instruction that QEMU's processor has not, AVX-512 perhaps (GST-4 in "
    "DEVIATIONS.md); a build for x86-64-v3 has none of these"
}
STEPS = {
    "stdin": "its standard input could not be opened",
    "working_folder": "its working folder could not be entered",
    "identity": "its user could not be set",
    "placement": "its memory policy could not be set",
}


def show(
    request: Request, outcome: Outcome, directory: RunDirectory, keep: Path | None, *, everything: bool
) -> None:
    """Everything about the run but the program's own output; with `everything` each statistic as well."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)

    def say(text: str) -> None:
        console.print(f"cxlab: {text}", markup=False)

    if outcome.failure is not None:
        say(f"{outcome.failure}; the results so far are marked as not complete")
    if outcome.exit is not None:
        _say_end(request, outcome.exit, outcome.bound, say)
        _say_files(outcome.exit.files, _fate(request, outcome, keep), say)
        _say_moved(request, outcome.exit, say)
    for notice in outcome.notices:
        say(notice)
    simulated = outcome.simulated
    if request.detail == "marker" and simulated and simulated.simulated_seconds == 0 and outcome.complete:
        say(
            f"{request.program.argv[0]} executed no marker that begins a region: nothing was timed; "
            "--detail all times the whole program"
        )
    elif simulated is not None:
        title = f"{request.machine.name}, {request.program.placement.text}"
        figures.show(console, title, simulated, everything=everything)
    say(f"results: {directory.path}")


def _fate(request: Request, outcome: Outcome, keep: Path | None) -> str:
    """Say what becomes of the files that the program wrote."""
    if request.checkpoint is not None:
        return "dropped"
    if keep is None:
        return "dropped, --keep DIR copies them out"
    if isinstance(outcome.failure, KeepFailed):
        return f"kept in {keep} but for what is said above"
    return f"kept in {keep}" if outcome.complete else "dropped, because the run is not complete"


def _say_end(request: Request, end: guest.Exit, bound: str | None, say: Any) -> None:
    program = request.program.argv[0]
    if bound is not None:
        say(f"{program} was ended by {bound}, as asked")
        return
    match end.status:
        case guest.NotStarted("execute", number, message):
            known = {errno.ENOENT: "not found", errno.ENOTDIR: "not found"}
            say(f"{program}: {known.get(number, message)}")
        case guest.NotStarted(step, _, message):
            say(f"{program} was not started: {STEPS[step]}: {message} (folder: {request.program.cwd})")
        case guest.Signalled(number):
            say(f"{program} was ended by {_signal_name(number)}{WHY.get(number, '')}")
        case guest.ExitCode():
            pass
    if end.oom:
        say(
            f"a node was too small: --memory makes it larger, now {_sizes(request)}. The guest's kernel said:"
        )
        for line in end.oom:
            say(f"  {line}")


def _say_moved(request: Request, end: guest.Exit, say: Any) -> None:
    """Say what Linux moved between nodes and to the disk, and what that cost in simulated time."""
    moves = {
        "promoted": end.pages.get("pgpromote_success", 0),
        "demoted": end.pages.get("pgdemote_kswapd", 0) + end.pages.get("pgdemote_direct", 0),
        "swapped out": end.pages.get("pswpout", 0),
        "swapped in": end.pages.get("pswpin", 0),
    }
    if not any(moves.values()):
        return
    counts = ", ".join(f"{count} {what}" for what, count in moves.items() if count)
    waited = end.stalls_us.get("memory_some", 0) / 1000
    moving = sum(end.movers_us.values()) / 1000
    say(
        f"pages of 4 KiB that Linux moved: {counts}; tasks waited {waited:.3f} ms for memory "
        f"(simulated, PSI), kswapd and kcompactd worked {moving:.3f} ms"
    )
    if request.effect.moved_note:
        say(request.effect.moved_note)


def _signal_name(number: int) -> str:
    return signal.Signals(number).name if number < signal.SIGRTMIN else f"signal {number}"


def _sizes(request: Request) -> str:
    pairs = zip(request.machine.nodes, request.node_bytes, strict=True)
    return ", ".join(f"{node.name} {size / 2**20:.0f} MiB" for node, size in pairs)


def _say_files(files: tuple[guest.WrittenFile, ...], fate: str, say: Any) -> None:
    if not files:
        return
    names = [shlex.quote(f.path) + (f" ({f.kind})" if f.kind != "file" else "") for f in files[:MOST_NAMED]]
    more = f", and {len(files) - MOST_NAMED} more (summary.json)" if len(files) > MOST_NAMED else ""
    say(f"the program wrote, and this is {fate}: {', '.join(names)}{more}")
