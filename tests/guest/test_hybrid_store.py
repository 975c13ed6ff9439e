"""The key-value store of examples/: a kill loses nothing that was safe; a guest keeps records on flash."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from guests import Cxlab

MIB = 1 << 20
BYTES = str(2 * MIB)
SIZES = [("16", "200"), ("100", "900")]
#: Fewer keys than slots, so that most changes are updates and deletes.
KEYS = 400


def recovered(store: Path, file: Path, sizes: tuple[str, str]) -> dict[int, int]:
    """Key and version of each record, after a check that no record is torn."""
    done = subprocess.run(
        [store, "check", file, BYTES, *sizes], check=True, capture_output=True, text=True
    ).stdout
    rows = [tuple(map(int, line.split())) for line in done.splitlines()]
    assert len({key for key, _ in rows}) == len(rows), "a key is there twice"
    return dict(rows)


@pytest.mark.parametrize("sizes", SIZES)
def test_what_was_acknowledged_before_a_kill_is_there_after_it(
    hybrid_store: Path, tmp_path: Path, sizes: tuple[str, str]
) -> None:
    draws = random.Random(7)
    for round_ in range(8):
        file, log = tmp_path / f"{round_}.dat", tmp_path / f"{round_}.log"
        file.write_bytes(b"")
        with file.open("r+b") as whole:
            whole.truncate(int(BYTES))
        with log.open("wb") as out:
            writer = subprocess.Popen([hybrid_store, "write", file, BYTES, *sizes, str(KEYS)], stdout=out)
        while writer.poll() is None and log.read_bytes().count(b"safe") < 2 * KEYS:
            time.sleep(0.005)
        time.sleep(draws.uniform(0.0, 0.3))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        lines = [line.split() for line in log.read_text().rpartition("\n")[0].splitlines()]
        safe = {int(key): int(version) for word, key, version in lines if word == "safe"}
        assert writer.returncode == -signal.SIGKILL, "it ended before it was killed"
        assert len(safe) > KEYS // 4, "it was killed before it had begun"
        # The last change may have been under way: then either version is right.
        word, key, version = lines[-1]
        begun = {int(key): int(version)} if word == "begin" else {}
        found = recovered(hybrid_store, file, sizes)
        for key_, wanted in safe.items():
            assert found.get(key_, 0) in {wanted, begun.get(key_, wanted)}, f"round {round_}, key {key_}"
        assert set(found) <= set(safe) | set(begun)
        # A recovered store has the same records when it is opened again.
        assert recovered(hybrid_store, file, sizes) == found


def test_a_torn_record_is_found(hybrid_store: Path, tmp_path: Path) -> None:
    file = tmp_path / "store.dat"
    file.write_bytes(bytes(int(BYTES)))
    subprocess.run(
        [hybrid_store, "bench", file, BYTES, *SIZES[0], "1000", "10"], check=True, capture_output=True
    )
    whole = bytearray(file.read_bytes())
    # The last byte of slot 5's value: a line of header, then slots of 224 B: sequence number, key, value.
    whole[64 + 5 * 224 + 8 + 16 + 199] ^= 1
    file.write_bytes(whole)
    done = subprocess.run(
        [hybrid_store, "check", file, BYTES, *SIZES[0]], check=False, capture_output=True, text=True
    )
    assert (done.returncode, "torn" in done.stderr) == (2, True)


@pytest.mark.parametrize("records", [40, 400])
def test_a_store_writes_to_no_page_before_it_has_a_record(
    hybrid_store: Path, tmp_path: Path, records: int
) -> None:
    file = tmp_path / "store.dat"
    file.write_bytes(bytes(int(BYTES)))
    words = [hybrid_store, "fill", file, BYTES, *SIZES[1], str(records), "10"]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert len(done.stdout.split()) == 4
    whole = file.read_bytes()
    used = sum(any(whole[at : at + 4096]) for at in range(0, len(whole), 4096))
    # Four records in a page. An update takes a free slot before it frees the old one.
    assert used in {records / 4, records / 4 + 1}
    # Each of the ten deletes took a record that the fill had put.
    assert len(recovered(hybrid_store, file, SIZES[1])) == records - 10


def test_a_guest_sees_the_flash_and_keeps_its_records_in_it(hybrid_store: Path, tmp_path: Path) -> None:
    script = f"""cxl list -M | tr -d '\\n'; echo
daxctl list | tr -d '\\n'; echo
{hybrid_store} bench /dev/dax0.0 {32 * MIB} 16 200 20000 500
{hybrid_store} check /dev/dax0.0 {32 * MIB} 16 200 | wc -l"""
    options = ["--machine", "cmm-h-800", "--cxl", "device", "--managed", "application"]
    ran = Cxlab(tmp_path, "marker").sh(script, options=[*options, "--memory", "dram=1G,cxl=1G"])
    assert ran.status == 0, ran.stderr
    devices, dax, speeds, records = ran.stdout.decode().splitlines()
    [device] = json.loads(devices)
    # Linux sees the part of the device that the guest was given.
    assert device["ram_size"] == 1 << 30
    assert json.loads(dax)[0]["mode"] == "devdax"
    # 500 more were put than deleted: as many.
    assert int(records) == 20_000
    insert, get, update, delete = map(float, speeds.split())
    # An update does what an insert does, and clears the old record's bit as a delete does.
    assert update < min(insert, delete)
    assert get > 0
    cxl = ran.summary["nodes"]["cxl"]
    # The look-up of each request in the device's cache (data/devices/cmm-h-800.toml).
    assert cxl["stages_ns"]["device_cache"] == pytest.approx(20)
