"""The guest's disk as the tools of Linux read it: partx, dumpe2fs, e2fsck, swaplabel."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from cxlab.run.errors import BadRequest
from cxlab.run.host.disk import Disk, Layout
from cxlab.run.machine import load
from cxlab.run.options import disk, table
from cxlab.run.options.disk import Content, Files
from cxlab.run.size import MIB

TOOLS = "/usr/sbin:/sbin:/usr/bin:/bin"
SECTOR = 512


def tool(*command: str) -> str:
    """Return what a tool says of a disk; it must not complain."""
    program = shutil.which(command[0], path=TOOLS)
    assert program is not None, f"{command[0]} is missing"
    done = subprocess.run([program, *command[1:]], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def image(folder: Path, content: Content) -> Path:
    """The disk as a file with a name."""
    copy = folder / "image"
    with Disk(folder, content) as made, copy.open("wb") as target:
        os.sendfile(target.fileno(), made.ends.file, 0, made.layout.size)
        assert os.fstat(made.ends.file).st_size == made.layout.size
    return copy


def part_of(image: Path, begin: int, size: int) -> Path:
    """A part of the disk, as a file."""
    copy = image.with_suffix(".part")
    with image.open("rb") as whole:
        whole.seek(begin)
        copy.write_bytes(whole.read(size))
    return copy


def test_one_of_both_has_the_whole_disk() -> None:
    swap, files = Content(64 * MIB, None), Content(None, Files(64 * MIB, "/disk", None))
    assert Layout.of(swap).table() is None and Layout.of(files).table() is None
    [part] = Layout.of(swap).parts()
    assert (part.device, part.begin, part.size) == ("/dev/vda", 0, 64 * MIB)
    [part] = Layout.of(files).parts()
    assert (part.device, part.begin, part.size) == ("/dev/vda", 0, 64 * MIB)


def test_both_are_partitions_that_partx_finds(tmp_path: Path) -> None:
    made = image(tmp_path, Content(5 * MIB + 4096, Files(64 * MIB, "/disk", None)))
    found = tool("partx", "--raw", "--noheadings", "--output", "TYPE,START,SECTORS,SCHEME", str(made))
    # Each begins at a whole MiB: 1 for the table, 6 for what swap takes.
    assert [line.split() for line in found.splitlines()] == [
        ["0x82", str(MIB // SECTOR), str((5 * MIB + 4096) // SECTOR), "dos"],
        ["0x83", str(7 * MIB // SECTOR), str(64 * MIB // SECTOR), "dos"],
    ]
    assert tool("swaplabel", str(part_of(made, MIB, 5 * MIB))) == ""
    tool("e2fsck", "-f", "-n", str(part_of(made, 7 * MIB, 64 * MIB)))


def test_a_file_system_is_the_callers_and_has_a_copy_of_the_folder(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "below").mkdir(parents=True)
    (source / "below" / "data").write_bytes(b"x" * 9000)
    (source / "link").symlink_to("below/data")
    made = image(tmp_path, Content(None, Files(32 * MIB, "/disk", source)))
    assert "Journal" in tool("dumpe2fs", "-h", str(made))
    tool("e2fsck", "-f", "-n", str(made))
    assert tool("debugfs", "-R", "cat /below/data", str(made)) == "x" * 9000
    assert f"User: {os.getuid():>5}" in tool("debugfs", "-R", "stat <2>", str(made))
    assert 'Fast link dest: "below/data"' in tool("debugfs", "-R", "stat /link", str(made))


def test_the_same_disk_is_made_twice(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "data").write_bytes(b"y" * 5000)
    content = Content(None, Files(32 * MIB, "/disk", source))
    first = image(tmp_path, content).read_bytes()
    assert image(tmp_path, content).read_bytes() == first


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"disk": "1M"}, "16M or more"),
        ({"disk": "5"}, "is not a size"),
        ({"disk": "64M", "disk_at": "disk"}, "valid is an absolute path"),
        ({"disk": "64M", "disk_at": "/a/../b"}, "valid is an absolute path"),
        ({"disk": "64M", "disk_at": "/"}, "the guest has its own"),
        ({"disk": "64M", "disk_at": "/proc/x"}, "the guest has its own"),
        ({"disk_at": "/x"}, "--disk-at without --disk"),
        ({"disk_from": Path("/usr")}, "--disk-from without --disk"),
        ({"disk": "64M", "disk_from": Path("/no/such")}, "no such folder"),
        ({"disk": "16M", "disk_from": Path("/usr/bin")}, "Give a larger --disk"),
    ],
)
def test_what_cannot_be_is_named(options: dict[str, object], said: str) -> None:
    given = table.with_defaults({f"option_{name}": value for name, value in options.items()})
    with pytest.raises(BadRequest, match=said):
        disk.content(given, load("8468v-asic"))


def test_what_nearly_fits_is_told_by_mke2fs(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "data").write_bytes(os.urandom(16 * MIB - 4096))
    with pytest.raises(BadRequest, match=r"--disk 16M .* mke2fs cannot make the file system"):
        Disk(tmp_path, Content(None, Files(16 * MIB, "/disk", source)))
    assert [path.name for path in tmp_path.iterdir()] == ["source"]
