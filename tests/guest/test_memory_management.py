"""Linux manages CXL memory: weights, promotion, demotion and swap, each with its price in simulated time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from guests import PYTHON, Cxlab
from test_placement import TOUCH

MIB = 1 << 20
LINE = 64
#: 8468v-asic without load, calibrated to CXL-DMSim figure 10 [ns].
LATENCY_NS = {0: 130.0, 1: 284.0}
#: One boot's worth of programs larger than DRAM: 300 MiB where DRAM has 256.
LARGER = ["--cxl", "device", "--memory", "dram=256M,cxl=256M", "--swap", "512M"]
READS = 300


def test_weights_of_4_to_1_place_800_of_1000_pages(tmp_path: Path) -> None:
    options = ["--cxl", "device", "--memory", "dram=512M,cxl=256M", "--weighted-interleave", "dram=4,cxl=1"]
    said = json.loads(Cxlab(tmp_path).run(PYTHON, "-c", TOUCH, options=options).stdout)
    counts = {int(node): int(pages) for node, pages in said["counts"].items()}
    # A turn may begin on either node.
    assert counts == pytest.approx({0: 800, 1: 200}, abs=4)


def test_a_hot_set_is_promoted_and_its_time_falls(programs: Path, tmp_path: Path) -> None:
    """Scans every 10 ms in place of 1 s: a page that is touched after a scan moves to DRAM."""
    size = 32 * MIB
    ran = Cxlab(tmp_path, "marker").run(
        *(str(programs / "hotset"), str(size), "15", "20000"),
        options=["--cxl", "device", "--memory", "dram=1G,cxl=512M", "--tiering", "10"],
    )
    assert ran.status == 0, ran.stderr
    rounds, pages = ran.stdout.decode().splitlines()
    ns = [float(round) for round in rounds.split()]
    # CXL-DMSim, figure 10: 284 ns from CXL memory; what has moved is in DRAM, at 130 ns, or in the LLC.
    assert ns[0] == pytest.approx(284.0, rel=0.03)
    assert ns[-1] <= 130.0
    assert f"N0={size // 4096}" in pages
    assert ran.summary["moved_pages"]["pgpromote_success"] == size // 4096
    assert "8192 promoted" in ran.stderr and "not every 1000" in ran.stderr


@pytest.mark.once_a_week
def test_a_program_larger_than_dram_is_slower_with_swap_than_with_cxl(programs: Path, tmp_path: Path) -> None:
    """The one may use DRAM and the disk, the other both nodes; a read of the disk takes 85 us at least."""
    took, moved = {}, {}
    for name, options in (("swap", ["--membind", "dram"]), ("cxl", ["--tiering", "10"])):
        folder = tmp_path / name
        folder.mkdir()
        ran = Cxlab(folder, "marker").run(
            *(str(programs / "pressure"), str(300 * MIB), str(READS)), options=[*LARGER, *options]
        )
        assert ran.status == 0, ran.stderr
        ns, wrong = ran.stdout.split()
        assert int(wrong) == 0
        took[name], moved[name] = float(ns), ran.summary["moved_pages"]
        assert "pages of 4 KiB that Linux moved" in ran.stderr
        if name == "swap":
            # The program waits for its disk, and nothing is computed meanwhile: it is alone.
            assert ran.summary["time"]["io_s"] > 0.5 * ran.summary["simulated_seconds"]
        else:
            # What it cost is said, too: demotion is kswapd's work.
            assert sum(ran.summary["movers_us"].values()) > 0
    assert moved["swap"]["pswpout"] > 0
    # Each page that came back was one request at least.
    assert took["swap"] * READS > moved["swap"]["pgmajfault"] / 2 * 85_000
    assert moved["cxl"]["pgdemote_kswapd"] > 0 == moved["cxl"]["pswpin"]
    assert took["cxl"] < took["swap"]


def test_a_files_pages_are_cached_on_either_node_at_its_price(programs: Path, tmp_path: Path) -> None:
    """The page cache takes pages by the policy of who reads first (Linux, filemap_alloc_folio)."""
    lines = 16 * MIB // LINE
    at, links = 0, [0] * lines
    for _ in range(lines):  # a full-period linear congruence, as in tests/programs/chase.c
        after = (at * 0x5851F42D4C957F2D + 0x14057B7EF767814F) % lines
        links[at] = after * LINE
        at = after
    data = b"".join(link.to_bytes(8, "little") + bytes(LINE - 8) for link in links)
    script = ""
    for node in LATENCY_NS:
        file = tmp_path / str(node)
        file.write_bytes(data)
        script += f"numactl --membind={node} {programs / 'file_chase'} {file} 5000\n"
    options = ["--cxl", "device", "--memory", "dram=512M,cxl=256M"]
    ran = Cxlab(tmp_path, "marker").sh(script, options=options)
    assert ran.status == 0, ran.stderr
    said = ran.stdout.decode().splitlines()
    for (node, latency), ns, maps in zip(LATENCY_NS.items(), said[::2], said[1::2], strict=True):
        assert f"N{node}={16 * MIB // 4096} " in maps + " "
        # A file's pages are of 4 KiB: a walk reads its last entry from L2 or the LLC (33 ns).
        assert 0.97 * latency <= float(ns) <= 1.03 * latency + 33


#: Maps 64 MiB, asks for huge pages if told to, touches all, and prints how much has huge pages [KiB].
TOUCH_A_MAP = """
import mmap, sys
area = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
if sys.argv[1] == "asks":
    area.madvise(mmap.MADV_HUGEPAGE)
for place in range(0, len(area), 4096):
    area[place] = 1
kept = [line.split() for line in open("/proc/self/smaps_rollup")]
print(next(int(line[1]) for line in kept if line[0] == "AnonHugePages:"))
"""


@pytest.mark.parametrize(
    ("choice", "asks", "huge"),
    [("always", False, True), ("madvise", False, False), ("madvise", True, True), ("never", True, False)],
)
def test_huge_pages_go_to_those_whom_the_setting_names(
    tmp_path: Path, choice: str, asks: bool, huge: bool
) -> None:
    """Linux 6.12, Documentation/admin-guide/mm/transhuge.rst. Ends of the map may be in no huge page."""
    ran = Cxlab(tmp_path, "off").run(
        *(PYTHON, "-c", TOUCH_A_MAP, "asks" if asks else "takes"), options=["--huge-pages", choice]
    )
    assert ran.status == 0, ran.stderr
    found = int(ran.stdout)
    assert found >= (60 << 10) if huge else found == 0
