"""Benches on this host: the static program cxlab-memo measures, and the results have the bench's shape.

    Workload --> cxlab-memo's command line --> its JSON --> Result, with provenance

Only the node, by Linux's number, is of this host; threads, mix, stores and pattern are the bench's. What memo
has more to say (intervals, percentiles, caveats) it says itself: its table goes to the terminal as it is.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from cxlab.bench.request import Placement, Workload
from cxlab.bench.result import Result
from cxlab.error import Code, InputError
from cxlab.run.guest import artefacts

#: What a shell reports after SIGINT: memo then has written what it had.
INTERRUPTED = 130


class MemoSettings(Struct, frozen=True):
    """Settings of memo, as far as they are read here."""

    threads: int | list[int] | None = None


class MemoDocument(Struct, frozen=True):
    """The document of ``cxlab-memo --json`` (crates/memo), as far as it is read here."""

    machine: str
    node: str
    settings: MemoSettings
    points: list[dict[str, Any]]
    provenance: dict[str, Any]
    complete: bool


@dataclass(frozen=True)
class HostResult(Result):
    """A bench that has run on this host."""

    #: memo's: command, host, clock, method, caveats
    provenance: dict[str, Any] = field(default_factory=dict)
    complete: bool = True
    #: memo's points
    measured: list[dict[str, Any]] = field(default_factory=list)
    #: what memo printed
    text: str = ""

    def documents(self) -> list[dict[str, Any]]:
        """Memo's points, as memo wrote them."""
        return self.measured

    def document(self) -> dict[str, Any]:
        """Write the result as a simulated bench's, with provenance and whether it ran to its end."""
        return {**super().document(), "complete": self.complete, "provenance": self.provenance}


def run(bench: str, node: int | None, arguments: Sequence[str], workload: Workload) -> HostResult:
    """Run one bench.

    Args:
        bench: of cxlab-memo.
        node: Linux's number of the memory's node; the first CPU's where there is none.
        arguments: of that bench.
        workload: as it stands in the result; machine and placement become the host's.

    Raises:
        InputError: memo refuses, or has measured nothing.

    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "memo.json"
        where = [] if node is None else ["--node", str(node)]
        command = [artefacts.built(artefacts.MEMO), bench, *where, *arguments, "--json", out]
        # Progress, and what it says of an interruption, go through; ctrl-C reaches it as it reaches us.
        with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True) as memo:
            text = _read(memo)
        if memo.returncode not in (0, INTERRUPTED) or not out.exists():
            found = f"cxlab-memo has measured nothing (exit status {memo.returncode})"
            raise InputError(Code.HOST, f"bench {bench} --host", found, "what cxlab-memo says above")
        document = msgspec.json.decode(out.read_bytes(), type=MemoDocument)
    threads = document.settings.threads
    here = replace(
        workload,
        machine=document.machine,
        placement=Placement(((document.node, 1),)),
        # memo's bandwidth takes several counts; the bench asks for one.
        threads=workload.threads if threads is None else threads[0] if isinstance(threads, list) else threads,
    )
    return HostResult(
        bench,
        here,
        (),
        provenance=document.provenance,
        complete=document.complete,
        measured=document.points,
        text=text,
    )


def _read(memo: subprocess.Popen[str]) -> str:
    """All that memo prints; it ends by itself after ctrl-C."""
    assert memo.stdout is not None
    while True:
        try:
            return memo.stdout.read()
        except KeyboardInterrupt:
            continue
