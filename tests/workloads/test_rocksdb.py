"""The store over RocksDB: values that leave memory come back whole, by LRU, and each miss reads the drive."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from cxlab.workload import description, prepared
from scipy.optimize import brentq
from shipped import WORKLOADS
from test_tiny import run

#: Draws for each record before the list of records by use counts, as flash.c has it.
WARM = 10
#: What the store adds to a seed, so that its draws are not the client's.
OTHER_SEED = 1000003
PORT = 7798
#: A random read of the machine's drive (Samsung, PM983 specification rev. 1.0) [s].
READ = 85e-6


@pytest.fixture(scope="module")
def ready() -> prepared.Prepared:
    workload = description.load(WORKLOADS / "rocksdb-ycsb")
    return prepared.prepare(workload, workload.values("tiny", ()), 0)


@pytest.fixture(scope="module")
def program(ready: prepared.Prepared) -> Path:
    return ready.build / prepared.PROGRAM


def missed(program: Path, law: str, records: int, spilled: int, draws: int, seed: int = 1) -> float:
    command = [program, "misses", law, records, spilled, draws, seed]
    said = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return float(said.stdout)


def drawn(program: Path, law: str, records: int, draws: int, seed: int = 1) -> list[int]:
    command = [program, "draw", law, records, 0, draws, seed + OTHER_SEED]
    said = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return [int(line.split()[0]) for line in said.stdout.splitlines()]


@pytest.mark.parametrize("law", ["uniform", "zipfian", "zipfian:4000", "latest"])
@pytest.mark.parametrize("spilled", [0, 20, 40])
def test_misses_are_those_of_a_list_by_use(program: Path, law: str, spilled: int) -> None:
    records, draws = 1000, 5000
    keys = drawn(program, law, records, WARM * records + draws)
    order: OrderedDict[int, None] = OrderedDict.fromkeys(range(records))
    for key in keys[: WARM * records]:
        order.move_to_end(key)
    held = OrderedDict.fromkeys(list(order)[records * spilled // 100 :])
    misses = 0
    for key in keys[WARM * records :]:
        if key in held:
            held.move_to_end(key)
            continue
        misses += 1
        held[key] = None
        held.popitem(last=False)
    assert missed(program, law, records, spilled, draws) == pytest.approx(misses / draws, rel=1e-8)


def fnv_hash(value: int) -> int:
    """YCSB's hash."""
    found = 0xCBF29CE484222325
    for byte in value.to_bytes(8, "little"):
        found = (found ^ byte) * 1099511628211 % 2**64
    return 2**64 - found if found >= 2**63 else found


@pytest.mark.parametrize("spilled", [20, 40])
def test_misses_are_what_che_computes(program: Path, spilled: int) -> None:
    # H. Che et al., Hierarchical Web caching systems, IEEE JSAC 2002. A record misses if nobody has asked for
    # it in a time that is the same for all. In that time as many records are asked for as fit.
    records, items = 5000, 20000
    asked = np.zeros(records)
    for item in range(items):
        asked[fnv_hash(item) % records] += (item + 1) ** -0.99
    asked /= asked.sum()

    def free(logarithm: float) -> float:
        return float((1 - np.exp(-asked * np.exp(logarithm))).sum()) - records * (1 - spilled / 100)

    time = np.exp(brentq(free, 0, 30))
    expected = float((asked * np.exp(-asked * time)).sum())
    assert missed(program, f"zipfian:{items}", records, spilled, 200_000) == pytest.approx(expected, rel=0.05)


class Talk:
    """A connection that speaks RESP2."""

    def __init__(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", PORT), timeout=20)
        self.answers = self.socket.makefile("rb")

    def ask(self, *words: str) -> list[bytes] | bytes:
        parts = [b"*%d\r\n" % len(words)]
        parts += [b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words]
        self.socket.sendall(b"".join(parts))
        return self.answer()

    def answer(self) -> list[bytes] | bytes:
        line = self.answers.readline()
        if line[:1] == b"*":
            return [bytes(self.answer()) for _ in range(int(line[1:]))]  # type: ignore[arg-type]
        return self.answers.read(int(line[1:]) + 2)[:-2] if line[:1] == b"$" else line


@pytest.fixture
def store(ready: prepared.Prepared, program: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A store of 1,000 records on this host, of which memory may hold 600."""
    assert ready.data is not None
    shutil.copytree(ready.data / "flash", tmp_path / "flash")
    command = [program, "serve", PORT, tmp_path / "flash", "c", "uniform", 1000, 40, 1, 0]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def connected(store: subprocess.Popen[str]) -> Talk:
    while store.poll() is None:
        try:
            return Talk()
        except ConnectionRefusedError:
            continue
    raise AssertionError("the store has ended")


def test_a_record_that_was_changed_comes_back_from_the_drive(store: subprocess.Popen[str]) -> None:
    talk = connected(store)
    names = [f"user{fnv_hash(number)}" for number in range(1000)]
    assert talk.ask("ZCARD", "_indices") == b":1000\r\n"
    before = {name: talk.ask("HGETALL", name) for name in names}
    assert all(len(fields) == 20 for fields in before.values())
    # A field is changed, and a record is new. Then all others are read, so both leave memory.
    assert talk.ask("HMSET", names[7], "field3", "x" * 100) == b"+OK\r\n"
    whole = [word for field in range(10) for word in (f"field{field}", "y" * 100)]
    assert talk.ask("HMSET", "user0", *whole) == b"+OK\r\n"
    for name in names[100:]:
        assert talk.ask("HGETALL", name) == before[name]
    fields = before[names[7]]
    assert isinstance(fields, list)
    place = fields.index(b"field3") + 1
    assert talk.ask("HGETALL", names[7]) == [*fields[:place], b"x" * 100, *fields[place + 1 :]]
    assert b"y" * 100 in talk.ask("HGETALL", "user0")
    assert talk.ask("HGETALL", "nobody") == []
    store.terminate()
    assert store.stdout is not None
    # 1,905 lookups. The first pass misses what memory did not hold, or what the pass pushes out. With a list
    # by use, a second pass over more than fits misses each. So do the changed record, twice, and the new one.
    misses = round(float(store.stdout.read().split()[-1]) / 100 * 1905)
    assert 400 <= misses - (900 + 3) <= 1000
    assert store.wait() == 0


def test_what_memory_holds_is_bounded_only_with_rocksdb(program: Path, tmp_path: Path) -> None:
    command = [program, "serve", PORT, tmp_path, "c", "uniform", 10, 40, 0, 0]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "nothing can be spilled" in done.stderr


@pytest.mark.once_a_week
def test_each_miss_costs_a_read_of_the_drive(tmp_path: Path) -> None:
    took, misses = [], []
    for spilled in (0, 40):
        options = ["--with", "distribution=uniform", "--with", f"spilled={spilled}", "--with", "warm=0"]
        folder = tmp_path / str(spilled)
        folder.mkdir()
        found = run(folder, "rocksdb-ycsb", "--membind", "dram", *options)["measures"]
        took.append(1 / found["throughput"]["seeds"][0])
        misses.append(found["misses"]["seeds"][0] / 100)
    assert misses[0] == 0
    # 100 draws of records of which 40 % are outside: within five standard deviations.
    assert misses[1] == pytest.approx(0.4, abs=5 * (0.4 * 0.6 / 100) ** 0.5)
    # The event loop waits for each. 16 KiB are four or five units of 4 KiB on several dies. So a read takes
    # longer than that of one unit, and less than two of them one after the other.
    assert READ < (took[1] - took[0]) / misses[1] < 2 * READ
