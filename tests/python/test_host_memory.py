"""Memory that this host has left, from files of Linux's forms, and the warning before it runs out."""

from __future__ import annotations

from pathlib import Path

import pytest
from cxlab.run import machine
from cxlab.run.errors import HostMemoryLow
from cxlab.run.host.host_memory import HostMemory, check, check_boot

GIB = 1 << 30
MACHINE = machine.load("8468v-asic")


@pytest.fixture
def host(tmp_path: Path) -> HostMemory:
    """20 GiB available, no bound of a group."""
    (tmp_path / "meminfo").write_text("MemTotal:       25165824 kB\nMemAvailable:   20971520 kB\n")
    (tmp_path / "own").write_text("0::/user/session\n")
    (tmp_path / "groups/user/session").mkdir(parents=True)
    return HostMemory(tmp_path / "meminfo", tmp_path / "groups", tmp_path / "own")


def test_what_is_available_is_what_linux_says(host: HostMemory) -> None:
    assert host.available_bytes() == 20 * GIB


def test_the_tightest_group_above_this_process_counts(host: HostMemory) -> None:
    for group, most, used in (("user", 8 * GIB, 3 * GIB), ("user/session", 4 * GIB, GIB)):
        (host.groups / group / "memory.max").write_text(f"{most}\n")
        (host.groups / group / "memory.current").write_text(f"{used}\n")
    assert host.available_bytes() == 3 * GIB
    (host.groups / "user/session/memory.max").write_text("max\n")
    assert host.available_bytes() == 5 * GIB


def test_a_host_that_does_not_tell_is_no_reason_to_refuse(tmp_path: Path) -> None:
    silent = HostMemory(tmp_path / "no", tmp_path / "no", tmp_path / "no")
    assert silent.available_bytes() is None
    check(silent.available_bytes())
    check_boot(MACHINE, (64 * GIB, 64 * GIB), silent.available_bytes())


def test_nodes_whose_tables_have_room_may_be_larger_than_the_host() -> None:
    # 128 GiB of pages have tables of 2 GiB (64 B for each 4 KiB).
    check_boot(MACHINE, (64 * GIB, 64 * GIB), 4 * GIB)
    with pytest.raises(HostMemoryLow) as refused:
        check_boot(MACHINE, (64 * GIB, 64 * GIB), 3 * GIB)
    said = str(refused.value)
    assert "--memory dram=64G,cxl=64G" in said and "3.0 GiB available" in said and "valid: 96G in all" in said


def test_a_run_ends_before_the_hosts_memory_does() -> None:
    check(2 * GIB)
    with pytest.raises(HostMemoryLow) as ended:
        check(GIB // 2)
    assert "0.5 GiB of memory left" in str(ended.value)
