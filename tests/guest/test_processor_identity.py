"""The guest's processor is the host file's, through Linux and glibc."""

from __future__ import annotations

from pathlib import Path

import pytest
from guests import Cxlab

KIB, MIB = 1 << 10, 1 << 20
ASK = """getconf -a | awk '/^LEVEL[123]_D?CACHE_SIZE|^LEVEL[23]_CACHE_SIZE/ { print $2 }'
cat /sys/devices/system/cpu/cpu0/cache/index3/size /sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list
sed -n '/^model name/{s/.*: //p;q}' /proc/cpuinfo
sed -n '/^flags/{p;q}' /proc/cpuinfo"""


@pytest.mark.parametrize(
    ("machine", "caches", "brand"),
    [
        # CXL-DMSim, table I
        ("8468v-asic", (48 * KIB, 2 * MIB, 195 * MIB // 2), "Intel(R) Xeon(R) Platinum 8468V"),
        # AMD, Software Optimization Guide (56305), and EPYC 7742: 256 MB of L3
        ("7742", (32 * KIB, 512 * KIB, 256 * MIB), "AMD EPYC 7742 64-Core Processor"),
    ],
)
def test_linux_and_glibc_see_the_hosts_caches(
    machine: str, caches: tuple[int, ...], brand: str, tmp_path: Path
) -> None:
    ran = Cxlab(tmp_path).sh(ASK, options=("--machine", machine, "--cpus", "2"))
    assert ran.status == 0, ran.stderr
    *sizes, linux, sharing, name, flags = ran.stdout.decode().splitlines()
    assert tuple(int(size) for size in sizes) == caches
    assert (linux, sharing, name) == (f"{caches[-1] // KIB}K", "0-1", brand)
    # GST-4 and GST-13: features are those that QEMU executes.
    assert "avx2" in flags.split() and not {"avx512f", "amx_tile"} & set(flags.split())
