"""Which runs share the state of a machine on which Linux is up, and how QEMU is asked to write it."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from cxlab.run.host import qemu, saved_boot
from cxlab.run.host.disk import Ends
from cxlab.run.host.qmp import Monitor, Refused
from cxlab.run.host.saver import STATE, TIME
from test_qemu_command import COMMAND


@pytest.fixture
def command(tmp_path: Path) -> qemu.Command:
    program, plugin = tmp_path / "qemu", tmp_path / "plugin.so"
    program.write_text("qemu")
    plugin.write_text("plugin")
    own = qemu.Plugin(plugin, ring=7, model=8, detail="all", idle="jump")
    return replace(COMMAND, program=program, plugin=own)


def test_what_is_another_in_each_run_is_not_of_the_state(command: qemu.Command, tmp_path: Path) -> None:
    assert command.plugin is not None
    other = replace(
        command,
        run=tmp_path / "other",
        console=tmp_path / "console",
        ports=dict.fromkeys(command.ports, 77),
        share=Path("/run/share"),
        plugin=replace(
            command.plugin, ring=70, detail="marker", idle="pace", control=1, settings=("skew=1",)
        ),
    )
    assert saved_boot.key(other) == saved_boot.key(command)


def test_what_linux_sees_is_of_the_state(command: qemu.Command, tmp_path: Path) -> None:
    assert command.plugin is not None
    plugin = tmp_path / "newer.so"
    plugin.write_text("newer")
    program = tmp_path / "newer-qemu"
    program.write_text("newer qemu")
    others = [
        replace(command, cpus=2),
        replace(command, node_bytes=(1 << 30, 1 << 30, 512 << 20)),
        replace(command, kernel=Path("/boot/newer")),
        replace(command, initramfs=Path("/newer")),
        replace(command, keep=tmp_path),
        replace(command, processor=("avx2=off",)),
        replace(command, machine=replace(command.machine, tsc_hz=2_000_000_000)),
        replace(command, ports=dict.fromkeys(qemu.STEERING_PORTS, 9)),
        replace(command, plugin=replace(command.plugin, path=plugin)),
        replace(command, program=program),
        replace(command, version="10.0.13"),
    ]
    assert len({saved_boot.key(other) for other in (command, *others)}) == len(others) + 1


def test_a_large_guest_is_not_read_to_its_end(command: qemu.Command) -> None:
    assert saved_boot.can_save(command)
    assert saved_boot.can_save(replace(command, node_bytes=(32 << 30, 32 << 30, 0)))
    assert not saved_boot.can_save(replace(command, node_bytes=(64 << 30, 64 << 30, 0)))
    assert not saved_boot.can_save(replace(command, disk=Ends(3, 4, 5)))
    assert not saved_boot.can_save(replace(command, plugin=None))


def leave_state(folder: Path, number: int, size: int) -> None:
    """A state that was used after those of smaller numbers."""
    state = folder / str(number)
    state.mkdir()
    (state / STATE).write_bytes(b"x" * size)
    (state / TIME).write_text("1\n")
    os.utime(state / TIME, (1000 + number, 1000 + number))


def test_states_that_were_used_last_are_kept(tmp_path: Path) -> None:
    for number in range(saved_boot.MOST_KEPT + 3):
        leave_state(tmp_path, number, 1)
    saved_boot.forget_old(tmp_path)
    left = {int(path.name) for path in tmp_path.iterdir()}
    assert left == set(range(3, saved_boot.MOST_KEPT + 3))


def test_states_take_no_more_of_the_disk_than_they_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_boot, "MOST_BYTES", 3 << 20)
    for number in range(5):
        leave_state(tmp_path, number, 1 << 20)
    saved_boot.forget_old(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "3", "4"]
    # The newest one stays, though it alone is larger than all may be.
    leave_state(tmp_path, 5, 4 << 20)
    saved_boot.forget_old(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["5"]


def test_a_monitor_reads_whole_lines_and_hears_refusals() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        monitor = Monitor(ours)
        monitor.send("migrate", uri="file:x")
        assert json.loads(theirs.recv(1000)) == {"execute": "migrate", "arguments": {"uri": "file:x"}}
        theirs.sendall(b'{"return": {}}\r\n{"event": "ST')
        assert monitor.receive() == [{"return": {}}]
        theirs.sendall(b'OP"}\r\n')
        assert monitor.receive() == [{"event": "STOP"}]
        theirs.sendall(b'{"error": {"class": "GenericError", "desc": "no room"}}\r\n')
        with pytest.raises(Refused, match="no room"):
            monitor.receive()
        theirs.close()
        with pytest.raises(Refused, match="has gone"):
            monitor.receive()


@pytest.mark.parametrize("damage", ["state", "seal", "time"])
def test_a_damaged_state_is_saved_anew(
    command: qemu.Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    saved = []

    def save(folder: Path, *_: object) -> None:
        saved.append(folder)
        (folder / STATE).write_bytes(b"state")
        (folder / TIME).write_text("1\n")
        saved_boot.seal(folder)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(saved_boot, "_save", save)
    for _ in range(2):
        found = saved_boot.ensure(command, None, None, lambda: None)  # type: ignore[arg-type]
        assert found is not None
        found.__exit__()
        assert len(saved) == 1
    (found.folder / damage).write_text("other")
    with saved_boot.ensure(command, None, None, lambda: None) as again:  # type: ignore[arg-type, union-attr]
        assert again.time_ps == 1
    assert len(saved) == 2
