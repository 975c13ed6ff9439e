"""Results take no name of the system's: a device, a pipe and a link stay what they are."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from cxlab import whole_file
from cxlab.error import HostRefuses
from cxlab.output import whole, write_json


def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_json(pipe, {"a": 1}, None)
    reader.join()
    assert read == [b'{\n  "a": 1\n}\n']
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_the_null_device_stays_a_device(tmp_path: Path) -> None:
    null = Path("/dev/null")
    if os.geteuid() == 0:
        # One of our own: a failure would take the host's.
        null = tmp_path / "null"
        os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    write_json(null, {"a": 1}, None)
    assert stat.S_ISCHR(null.stat().st_mode)


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    link, target = tmp_path / "link", folder / "target"
    target.write_text("before")
    link.symlink_to(target)
    write_json(link, {"a": 1}, None)
    assert link.is_symlink()
    assert target.read_text() == '{\n  "a": 1\n}\n'
    assert [path.name for path in folder.iterdir()] == ["target"]


def test_a_full_device_is_an_error_with_a_name() -> None:
    with pytest.raises(HostRefuses, match="/dev/full was not written: No space left on device"):
        write_json(Path("/dev/full"), {"a": 1}, None)


def test_a_block_that_raises_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    with pytest.raises(ValueError), whole(path) as file:
        file.write(b"half")
        raise ValueError
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_what_a_killed_process_left_is_removed_what_a_live_one_has_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a[1].json"
    live = whole_file.WholeFile(path)
    assert whole_file.remove_leftovers(path) == []
    dead = tmp_path / ".a[1].json.x.unfinished"
    dead.write_text("half")
    (tmp_path / ".a1.json.x.unfinished").write_text("of another file")
    assert whole_file.remove_leftovers(path) == [dead]
    live.commit()
    assert sorted(p.name for p in tmp_path.iterdir()) == [".a1.json.x.unfinished", "a[1].json"]
