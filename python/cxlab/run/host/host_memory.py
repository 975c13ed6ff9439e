"""Memory that this host has left. A guest grows as its program touches memory.

::

    /proc/meminfo MemAvailable --\\
                                  least of both --> below the reserve: HostMemoryLow, before the kernel kills
    memory.max - memory.current -/                  (of each cgroup v2 above this process)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cxlab.run.errors import HostMemoryLow
from cxlab.run.machine import Machine
from cxlab.run.size import MIB, UNITS, format_bytes

#: A run ends when less than this is left [bytes]. The supervisor looks four times a second.
RESERVE_BYTES = 1024 * MIB
#: Linux has 64 B for each page of 4 KiB of a node (struct page), which boot writes.
BYTES_FOR_EACH_OF_LINUX = 64
#: QEMU, model and the rest of the guest's kernel [bytes]; boot to a shell touched 0.4 GiB.
OWN_BYTES = 512 * MIB


@dataclass(frozen=True)
class HostMemory:
    """Files in which the host tells of its memory."""

    meminfo: Path = Path("/proc/meminfo")
    groups: Path = Path("/sys/fs/cgroup")
    own_group: Path = Path("/proc/self/cgroup")

    def available_bytes(self) -> int | None:
        """Return the memory that can be used without swapping [bytes]; None: the host does not tell."""
        left = [*self._of_meminfo(), *self._of_groups()]
        return min(left) if left else None

    def _of_meminfo(self) -> Iterator[int]:
        with suppress(OSError, ValueError):
            for line in self.meminfo.read_text().splitlines():
                if line.startswith("MemAvailable:"):
                    yield int(line.split()[1]) * UNITS["K"]

    def _of_groups(self) -> Iterator[int]:
        """Return what each group above this process has left, if it has a bound [bytes]."""
        with suppress(OSError, ValueError):
            # Version 2 has one line, of hierarchy 0 (cgroups(7)).
            own = [line[3:] for line in self.own_group.read_text().splitlines() if line.startswith("0::")]
            group = self.groups / own[0].lstrip("/") if own else self.groups
            for level in (group, *group.parents):
                if not level.is_relative_to(self.groups):
                    return
                yield from _left(level)


def _left(group: Path) -> Iterator[int]:
    with suppress(OSError, ValueError):
        most = (group / "memory.max").read_text().strip()
        if most != "max":
            yield max(0, int(most) - int((group / "memory.current").read_text()))


def check_boot(machine: Machine, node_bytes: tuple[int, ...], available: int | None) -> None:
    """Refuse nodes so large that not even Linux's own tables of their pages have room on this host.

    Raises:
        HostMemoryLow: boot alone would use up the host's memory.

    """
    wanted = sum(node_bytes) // BYTES_FOR_EACH_OF_LINUX + OWN_BYTES + RESERVE_BYTES
    if available is None or wanted <= available:
        return
    sizes = ",".join(
        f"{node.name}={format_bytes(size)}" for node, size in zip(machine.nodes, node_bytes, strict=True)
    )
    most = max(0, available - OWN_BYTES - RESERVE_BYTES) * BYTES_FOR_EACH_OF_LINUX
    raise HostMemoryLow(
        f"--memory {sizes}: Linux's tables of these pages and CXLab take {_gib(wanted)}, this host has "
        f"{_gib(available)} available; valid: {most // UNITS['G']}G in all. Make the nodes smaller"
    )


def check(available: int | None) -> None:
    """End a run ahead of the host's memory.

    Raises:
        HostMemoryLow: less is left than the reserve.

    """
    if available is not None and available < RESERVE_BYTES:
        raise HostMemoryLow(
            f"this host has {_gib(available)} of memory left, less than {_gib(RESERVE_BYTES)}: the run was "
            "ended before the host's kernel ends something. A guest takes memory as its program touches it. "
            "Give the program less to do, or use a host with more memory"
        )


def _gib(size: int) -> str:
    return f"{size / UNITS['G']:.1f} GiB"
