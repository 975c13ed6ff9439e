"""Known gaps of the guest. Each test fails on the day when its row of DEVIATIONS.md is no longer true."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest
from guests import Cxlab

BOOT = [sys.executable, "-m", "cxlab", "boot", "--cxl", "device", "--memory", "dram=512M,cxl=256M"]
SIGBUS = 7
#: [bytes]
PRINTED = 1 << 20

#: The width that lspci shows; the device's own list of poison, by Linux's tracepoint
#: (Documentation/ABI/testing/sysfs-bus-cxl, trigger_poison_list); a write to the poisoned line; timers.
LOOK = """lspci -vv -d ::0502 | grep -c 'LnkSta:.*Speed 32GT/s, Width x16'
grep -c GenuineIntel /proc/cpuinfo
mount -t tracefs none /sys/kernel/tracing; cd /sys/kernel/tracing
echo 1 > events/cxl/cxl_poison/enable
echo 1 > /sys/bus/cxl/devices/mem0/trigger_poison_list
grep -c ': cxl_poison:' trace
{poisoned} = /dev/dax0.0 4096 || echo $?
echo 1 > events/timer/hrtimer_start/enable; echo 1 > events/timer/hrtimer_expire_entry/enable
{rings} 9
echo 0 > tracing_on; grep it_real_fn trace"""


@pytest.fixture(scope="module")
def looked(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Root's look at a device with a poisoned line, whose link has come down."""
    folder = tmp_path_factory.mktemp("look")
    script = folder / "look.sh"
    script.write_text(LOOK.format(poisoned=programs / "poisoned", rings=programs / "rings"))
    options = ["--managed", "application", "--poison", "cxl=4096", "--retrain", "cxl=x1,8GT/s"]
    command = [*BOOT, "--detail", "marker", *options, "--script", str(script), "--out", str(folder / "out")]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    [retrained] = json.loads((folder / "out/config.json").read_bytes())["retrainings"]
    assert (retrained["width"], retrained["rate"]) == ("x1", "8 GT/s")
    return done.stdout.decode().splitlines()


def test_a_device_tells_nothing_of_its_poison(looked: list[str]) -> None:
    """GST-8."""
    intel, listed, written = looked[1:4]
    assert (intel, listed) == ("1", "0")
    # On hardware a line that is written as a whole is good again: "ok".
    assert written == str(128 + SIGBUS)


def test_a_link_that_came_down_shows_the_width_of_boot(looked: list[str]) -> None:
    """GST-9."""
    assert looked[0] == "1"


def test_timers_wait_for_a_sync_point(looked: list[str]) -> None:
    """GST-6: Linux's own clock at the interrupt, less when the timer was due [ns]."""
    due = [int(line.split("softexpires=")[1].split()[0]) for line in looked if "hrtimer_start" in line]
    rang = [int(line.split("now=")[1]) for line in looked if "hrtimer_expire_entry" in line]
    assert len(due) == len(rang) == 9
    late = [then - wanted for wanted, then in zip(due, rang, strict=True)]
    assert min(late) >= 0
    assert median(late) > 1000


def test_passing_output_on_is_part_of_the_region(tmp_path: Path) -> None:
    """GST-5."""
    took = {}
    for name, where in (("null", "/dev/null"), ("port", "/dev/stdout")):
        (tmp_path / name).mkdir()
        ran = Cxlab(tmp_path / name, "all").sh(
            f"head -c {PRINTED} /dev/zero > {where}", options=["--memory", "dram=512M,cxl=256M"]
        )
        assert ran.status == 0, ran.stderr
        took[name] = ran.summary["time"]["busy_s"]
    # A copy into the pipe is the program's own; one out of it and one into the port are init's.
    assert took["port"] > took["null"] + 2 * PRINTED / 64 * 1e-9
