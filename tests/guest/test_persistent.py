"""Persistent partitions: pmem regions of Linux's own driver, as the real tools see them, kept over a kill."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path

import pytest
from guests import Cxlab
from test_bad_ends import named
from test_cxl_device import found

MIB, GIB = 1 << 20, 1 << 30
#: One device of two partitions, and its volatile one a program's.
HALVES = ["--cxl", "device", "--memory", "dram=1G,cxl=512M", "--persistent", "cxl=256M"]
SIZES = ("16", "200")
BYTES = str(32 * MIB)
KEYS = 400
#: Changes whose words may still be in the guest when it is killed: far above what its pipes and ports hold.
MOST_AHEAD = 20_000
#: CXL 3.1, table 8-2: the consortium's DVSECs for GPF of a port and of a device.
GPF_PORT, GPF_DEVICE = "0004", "0005"


def kept_in(folder: Path) -> list[str]:
    return [*HALVES, "--persistent-in", str(folder / "pmem")]


def test_a_device_has_both_partitions_and_says_gpf(tmp_path: Path) -> None:
    """CXL 3.1, 8.1.6 and 8.1.7: what a port and a device tell of a Global Persistent Flush."""
    script = f"""cxl list -v | tr -d '\\n'; echo
ndctl list -RN | tr -d '\\n'; echo
daxctl list | tr -d '\\n'; echo
numactl -H | sed -n 's/^node 1 size: //p'
lspci -vv | grep -c 'Vendor=1e98 ID={GPF_PORT}'
lspci -vv -d ::0502 | grep -c 'Vendor=1e98 ID={GPF_DEVICE}'
dmesg | grep -cE '(cxl|nd_|nvdimm|dax).*([Ff]ailed|error:)'; true"""
    ran = Cxlab(tmp_path).sh(script, options=HALVES)
    assert ran.status == 0, ran.stderr
    topology, nvdimm, dax, node, ports, devices, complaints = ran.stdout.decode().splitlines()

    seen = json.loads(topology)
    assert (set(found(seen, "ram_size")), set(found(seen, "pmem_size"))) == ({256 * MIB}, {256 * MIB})
    [root] = found(seen, "decoders:root0")[0]
    ram, pmem = sorted(found(root, "regions:decoder0.0")[0], key=lambda region: region["resource"])
    assert (ram["size"], pmem["size"]) == (256 * MIB, 256 * MIB)
    assert sorted(found(seen, "mode")) == ["pmem", "ram"]
    assert pmem["resource"] == ram["resource"] + 256 * MIB
    [region] = found(json.loads(nvdimm), "regions")[0]
    [namespace] = region["namespaces"]
    assert (region["type"], region["size"], namespace["mode"]) == ("pmem", 256 * MIB, "devdax")
    # Programs have to flush their caches: a GPF is no promise.
    assert region["persistence_domain"] == "memory_controller"
    # Some of the partition describes its pages (64 B each), and its size is a multiple of 2 MiB.
    assert 248 * MIB <= namespace["size"] < 256 * MIB
    modes = {device["chardev"]: device["mode"] for device in json.loads(dax)}
    assert modes[namespace["chardev"]] == "devdax"
    assert node == "256 MB"
    assert (int(ports) >= 1, int(devices), int(complaints)) == (True, 1, 0)
    volatile, persistent = ran.summary["regions"]
    assert (volatile["mode"], volatile["managed"], volatile["node"]) == ("ram", "kernel", 1)
    assert (persistent["mode"], persistent["device"]) == ("pmem", namespace["chardev"])
    assert persistent["base"] == pmem["resource"]


@pytest.mark.skipif(os.getuid() != 0, reason="ndctl is for root, which the guest's user is if the host's is")
def test_ndctl_makes_a_disk_that_outlives_the_guest(tmp_path: Path) -> None:
    """Two devices, all of both persistent: no NUMA node is theirs, and lines of the disk go to both."""
    options = ["--cxl", "device", "--interleave-ways", "2", "--memory", "dram=1G,cxl=512M"]
    options += ["--persistent", "cxl=512M", "--persistent-in", str(tmp_path / "pmem"), "--namespace", "none"]
    made = Cxlab(tmp_path, "all").sh(
        "ndctl create-namespace --mode fsdax >/dev/null && numactl -H | sed -n 's/^available: //p' "
        "&& yes kept | dd of=/dev/pmem0 bs=1M count=1 iflag=fullblock conv=fsync status=none",
        options=[*options, "--from-output", "1 nodes"],
    )
    assert made.status == 0, made.stderr
    assert made.stdout == b"1 nodes (0)\n"
    assert made.summary["regions"][0]["device"] is None
    configuration = json.loads((made.out / "config.json").read_bytes())
    assert configuration["persistent"] == {"bytes": {"cxl": 512 * MIB}, "namespace": "none", "kept": True}
    # 16,384 lines of 64 B, in turns of 256 B, less a few that are still in caches.
    writes = [device["writes"] for device in made.summary["nodes"]["cxl"]["devices"]]
    assert writes == pytest.approx([MIB / 64 / 2] * 2, rel=0.1)
    again = Cxlab(tmp_path).sh("head -c 10 /dev/pmem0", options=options)
    assert again.status == 0, again.stderr
    assert again.stdout == b"kept\nkept\n"
    assert again.summary["regions"][0]["device"] == "pmem0"
    other = [size.replace("cxl=512M", "cxl=1G") for size in options]
    refused = Cxlab(tmp_path).run("true", options=other)
    assert refused.status == 125
    assert "it holds other partitions" in refused.stderr


def recovered(store: Path, folder: Path) -> dict[int, int]:
    """Key and version of each record that a new guest finds, after a check that none is torn."""
    ran = Cxlab(folder).run(str(store), "check", "/dev/dax1.0", BYTES, *SIZES, options=kept_in(folder))
    assert ran.status == 0, ran.stderr
    rows = [tuple(map(int, line.split())) for line in ran.stdout.decode().splitlines()]
    assert len({key for key, _ in rows}) == len(rows), "a key is there twice"
    return dict(rows)


def changes(keys: int) -> Iterator[tuple[int, int]]:
    """Key and new version of each change that the store's `write` makes; version 0 is a deleted key.

    The random numbers are xorshift64* (Vigna, 2016), from the seed in the store's source.
    """
    state, word = 88172645463325252, (1 << 64) - 1

    def draw() -> int:
        nonlocal state
        state ^= state >> 12
        state ^= state << 25 & word
        state ^= state >> 27
        return state * 0x2545F4914F6CDD1D & word

    for version in count(1):
        key, kind = draw() % keys, draw() % 4
        yield key, 0 if kind == 0 else version


def test_what_was_acknowledged_before_the_guest_is_killed_is_there_after_it(
    hybrid_store: Path, tmp_path: Path, children: Callable[[int], set[int]]
) -> None:
    """The guest is ahead of its words: it has made all changes that it told, and then perhaps a few more.

    So what a new guest finds is the state after a whole number of changes.
    """
    written = ["write", "/dev/dax1.0", BYTES, *SIZES, str(KEYS)]
    running = Cxlab(tmp_path).start(str(hybrid_store), *written, options=kept_in(tmp_path))
    assert running.stdout is not None and running.stderr is not None
    heard = [running.stdout.readline() for _ in range(random.Random(15).randrange(2000, 4000))]
    os.kill(named(children(running.pid), "qemu"), signal.SIGKILL)
    rest, said = running.stdout.read(), running.stderr.read()
    assert running.wait() == 125, said
    whole = b"".join([*heard, rest]).rpartition(b"\n")[0].splitlines()
    told = [line.split() for line in whole if line.startswith(b"safe")]
    assert len(told) > KEYS
    there = recovered(hybrid_store, tmp_path)
    state: dict[int, int] = {}
    for number, (key, version) in enumerate(islice(changes(KEYS), len(told) + MOST_AHEAD), start=1):
        state[key] = version
        if number <= len(told):
            assert told[number - 1] == [b"safe", *(str(word).encode() for word in (key, version))]
        if number >= len(told) and there == {key: version for key, version in state.items() if version}:
            return
    pytest.fail(f"{len(told)} changes were acknowledged: what is there is the state after none that follows")
