"""A checkpoint as a document, its name, and what a start from it is refused for."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from cxlab.run import machine as description
from cxlab.run.errors import CheckpointRefused
from cxlab.run.guest import cache, checkpoint
from cxlab.run.guest.protocol import Identity, Program
from cxlab.run.host import checkpointing
from cxlab.run.options import placement

#: A state of 4 KiB and its time; of both, by sha256sum (`printf 123456 | cat state -`).
STATE, TIME_PS = bytes(range(256)) * 16, 123_456
SHA256 = "d17e0536f671b613dc4c5cda90e8e3c3415b5c18ac4b53e6289a9aec9902b1f0"
VERSIONS = {"CXLab": "1", "the kernel": "vmlinuz-6.12.95", "QEMU": "10.0.2"}
#: A name of the operating system that is not UTF-8 (PEP 383).
ODD = "caf\udce9"
PROGRAM = Program(
    ("./server", ODD), "/tmp", Identity(1000, 1000, (27,)), {"LANG": "C", "NAME": ODD}, placement.DEFAULT
)


@pytest.fixture
def about() -> checkpoint.About:
    machine = description.load("8468v-asic")
    return checkpoint.about(
        machine, (1 << 30, 512 << 20), 2, PROGRAM, "ready", versions=VERSIONS, key="k", state_sha256=SHA256
    )


@pytest.fixture
def begun(about: checkpoint.About, tmp_path: Path) -> checkpoint.Checkpoint:
    return checkpoint.Checkpoint("loaded", tmp_path, about)


def kept(name: str, about: checkpoint.About) -> Path:
    folder = cache.folder() / checkpoint.place(name)
    folder.mkdir(parents=True)
    (folder / checkpoint.ABOUT).write_text(about.written())
    return folder


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_what_is_written_is_read(about: checkpoint.About) -> None:
    again = checkpoint.About.read(about.written())
    assert again == replace(about, machine=replace(about.machine, resolved={}))
    assert again.program.argv[1] == ODD
    assert again.memory() == "dram=1G,cxl=512M"


def test_settings_come_behind_those_of_the_checkpoint(about: checkpoint.About) -> None:
    asked = replace(about, settings=("a=1",)).asked_machine(("b=2",))
    assert (str(asked), asked.settings) == ("8468v-asic", ("a=1", "b=2"))


@pytest.mark.parametrize("what", VERSIONS)
def test_another_version_is_refused_by_name(begun: checkpoint.Checkpoint, what: str) -> None:
    begun.refuse_others(VERSIONS)
    with pytest.raises(CheckpointRefused, match=f"{what} {VERSIONS[what]}; here is newer.*--remove loaded"):
        begun.refuse_others(VERSIONS | {what: "newer"})


def test_another_timing_is_taken_and_another_machine_refused_by_name(begun: checkpoint.Checkpoint) -> None:
    begun.refuse_machine(description.load("8468v-fpga"))
    machine = description.load("8468v-asic")
    for other, named in (
        (replace(machine, tsc_hz=1), "time-stamp counter of"),
        (replace(machine, nodes=machine.nodes[:1]), "the nodes dram, cxl"),
    ):
        with pytest.raises(CheckpointRefused, match=named):
            begun.refuse_machine(other)


def test_an_unknown_name_lists_those_that_are_there(about: checkpoint.About) -> None:
    with pytest.raises(CheckpointRefused, match="no checkpoint other; there are: none yet"):
        checkpoint.find("other")
    kept("loaded", about)
    assert checkpoint.find("loaded").about.text == "ready"
    with pytest.raises(CheckpointRefused, match="no checkpoint other; there are: loaded"):
        checkpoint.find("other")


def test_what_is_removed_is_gone_and_what_is_half_is_none(about: checkpoint.About) -> None:
    folder = kept("loaded", about)
    half = folder.with_name(".half.abcdefgh")
    half.mkdir()
    (half / checkpoint.ABOUT).write_text("")
    assert checkpoint.names() == ["loaded"]
    checkpoint.remove("loaded")
    assert checkpoint.names() == [] and not folder.exists()
    with pytest.raises(CheckpointRefused, match="no checkpoint loaded"):
        checkpoint.remove("loaded")


def test_a_damaged_document_says_what_to_do(about: checkpoint.About) -> None:
    (kept("loaded", about) / checkpoint.ABOUT).write_text('{"versions": 3}')
    with pytest.raises(CheckpointRefused, match=r"cannot be read.*--remove loaded"):
        checkpoint.find("loaded")


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "-x", "a" * 65])
def test_a_name_is_a_plain_word(name: str) -> None:
    with pytest.raises(CheckpointRefused, match="no name of a checkpoint"):
        checkpoint.check_name(name)


def state_in(folder: Path, state: bytes, time_ps: int) -> None:
    (folder / "state").write_bytes(state)
    (folder / "time").write_text(f"{time_ps}\n")


def test_a_whole_state_is_opened_from_its_beginning(begun: checkpoint.Checkpoint) -> None:
    state_in(begun.folder, STATE, TIME_PS)
    with checkpointing.state_of(begun) as state:
        assert state.time_ps == TIME_PS
        # QEMU reads from where the descriptor stands.
        assert os.read(state.descriptor, 1 << 20) == STATE


@pytest.mark.parametrize("place", [0, 7, 2_048 * 8 + 3, 4_096 * 8 - 1])
def test_a_state_with_another_bit_is_refused_by_name(begun: checkpoint.Checkpoint, place: int) -> None:
    damaged = bytearray(STATE)
    damaged[place // 8] ^= 1 << place % 8
    state_in(begun.folder, damaged, TIME_PS)
    with pytest.raises(
        CheckpointRefused, match=r"loaded cannot be read: .*/state or time beside it is damaged"
    ):
        checkpointing.state_of(begun)


@pytest.mark.parametrize(
    ("state", "time_ps"), [(STATE[:-1], TIME_PS), (STATE + b"0", TIME_PS), (STATE, 123_457)]
)
def test_a_state_of_another_length_or_time_is_refused(
    begun: checkpoint.Checkpoint, state: bytes, time_ps: int
) -> None:
    state_in(begun.folder, state, time_ps)
    with pytest.raises(CheckpointRefused, match="is damaged: its checksum is another"):
        checkpointing.state_of(begun)
