"""A checkpoint as a document, its name, and what a start from it is refused for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cxlab.run import machine as description
from cxlab.run.errors import CheckpointRefused
from cxlab.run.guest import cache, checkpoint
from cxlab.run.guest.protocol import Identity, Program
from cxlab.run.host import checkpointing, saved_boot
from cxlab.run.options import placement

VERSIONS = {"CXLab": "1", "the kernel": "vmlinuz-6.12.95", "QEMU": "10.0.2"}
#: A name of the operating system that is not UTF-8 (PEP 383).
ODD = "caf\udce9"
PROGRAM = Program(
    ("./server", ODD), "/tmp", Identity(1000, 1000, (27,)), {"LANG": "C", "NAME": ODD}, placement.DEFAULT
)


@pytest.fixture
def about() -> checkpoint.About:
    machine = description.load("8468v-asic")
    return checkpoint.about(machine, (1 << 30, 512 << 20), 2, PROGRAM, "ready", versions=VERSIONS, key="k")


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


def test_a_damaged_state_says_what_to_do(begun: checkpoint.Checkpoint) -> None:
    state = begun.folder / "state"
    state.write_bytes(bytes(range(256)))
    (begun.folder / "time").write_text("123456\n")
    saved_boot.seal(begun.folder)
    checkpointing.state_of(begun).__exit__()
    state.write_bytes(bytes(range(255)) + b"0")
    with pytest.raises(CheckpointRefused, match=r"loaded cannot be read: .* is damaged.*--remove loaded"):
        checkpointing.state_of(begun)


def test_a_state_without_a_seal_is_refused(begun: checkpoint.Checkpoint) -> None:
    (begun.folder / "state").write_bytes(b"state")
    (begun.folder / "time").write_text("123456\n")
    with pytest.raises(CheckpointRefused, match=r"loaded cannot be read: .*seal cannot be read"):
        checkpointing.state_of(begun)
