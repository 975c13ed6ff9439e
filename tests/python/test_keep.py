"""Files of a hostile guest do not get out of ``--keep DIR``, nor in with more rights."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from cxlab.run.errors import KeepFailed
from cxlab.run.guest.protocol import WrittenFile
from cxlab.run.host.keep import Keep


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of the user's with a file, beside the one for kept files."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "mine").write_text("mine")
    return folder


@pytest.fixture
def keep(tmp_path: Path) -> Iterator[Keep]:
    with Keep(tmp_path / "kept") as keep:
        yield keep


def arrive(keep: Keep, path: str, text: str = "theirs") -> WrittenFile:
    """A file that the guest has written, and reports as it is."""
    place = keep.arriving / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    return WrittenFile(path, "file", len(text), 0o644)


def test_a_link_of_an_earlier_run_is_not_followed(keep: Keep, outside: Path) -> None:
    (keep.folder / "home").symlink_to(outside)
    with pytest.raises(KeepFailed, match="home is no folder, and links are not followed"):
        keep.accept([arrive(keep, "/home/mine"), arrive(keep, "/else")])
    assert (outside / "mine").read_text() == "mine"
    assert (keep.folder / "else").read_text() == "theirs"


def test_a_link_in_a_files_place_is_replaced_not_followed(keep: Keep, outside: Path) -> None:
    (keep.folder / "mine").symlink_to(outside / "mine")
    keep.accept([arrive(keep, "/mine")])
    assert (outside / "mine").read_text() == "mine"
    assert not (keep.folder / "mine").is_symlink()


def test_a_link_in_what_has_arrived_is_not_followed(keep: Keep, outside: Path) -> None:
    (keep.arriving / "home").symlink_to(outside)
    (keep.arriving / "copy").symlink_to(outside / "mine")
    (keep.arriving / "home2").mkdir()
    reported = [WrittenFile(path, "file", 4, 0o644) for path in ("/home/mine", "/copy")]
    with pytest.raises(KeepFailed, match="2 of 2 files are not kept"):
        keep.accept(reported)
    assert (outside / "mine").read_text() == "mine"
    assert list(keep.folder.rglob("mine")) == []


@pytest.mark.parametrize(
    "path", ["/../outside/mine", "/a/../../outside/mine", "/.", "//", "", "/a/./b", "/a\0b"]
)
def test_a_report_of_another_place_is_refused(keep: Keep, outside: Path, path: str) -> None:
    (keep.arriving / "a").mkdir()
    with pytest.raises(KeepFailed, match="no path of a file"):
        keep.accept([WrittenFile(path, "file", 4, 0o644)])
    assert (outside / "mine").read_text() == "mine"


def test_a_kept_file_gives_nobody_more_rights(keep: Keep) -> None:
    file = arrive(keep, "/root-shell")
    (keep.arriving / "root-shell").chmod(0o6777)
    keep.accept([WrittenFile(file.path, "file", file.size, 0o6755)])
    assert stat.S_IMODE((keep.folder / "root-shell").stat().st_mode) == 0o755


def test_a_pipe_a_socket_and_a_device_are_no_files(keep: Keep) -> None:
    os.mkfifo(keep.arriving / "pipe")
    os.mknod(keep.arriving / "socket", stat.S_IFSOCK | 0o666)
    names = ["pipe", "socket"]
    if os.geteuid() == 0:
        os.mknod(keep.arriving / "device", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        names.append("device")
    with pytest.raises(KeepFailed, match=f"{len(names)} of {len(names)} files"):
        keep.accept([WrittenFile(f"/{name}", "file", 0, 0o666) for name in names])
    assert [path.name for path in keep.folder.iterdir()] == [keep.arriving.name]


def test_half_a_file_is_said_and_not_kept(keep: Keep) -> None:
    file = arrive(keep, "/half")
    with pytest.raises(KeepFailed, match="/half: 6 B of 12 B have arrived"):
        keep.accept([WrittenFile(file.path, "file", 12, 0o644)])
    assert not (keep.folder / "half").exists()


def test_what_the_guest_could_not_copy_is_said(keep: Keep) -> None:
    lost = WrittenFile("/big", "file", 1 << 30, 0o644, "No space left on device")
    with pytest.raises(KeepFailed, match="1 of 2 files are not kept: /big: No space left on device"):
        keep.accept([lost, arrive(keep, "/small")])
    assert (keep.folder / "small").read_text() == "theirs"


def test_a_hard_link_leads_to_no_other_file(keep: Keep) -> None:
    file = arrive(keep, "/one")
    os.link(keep.arriving / "one", keep.arriving / "two")
    keep.accept([file, WrittenFile("/two", "file", file.size, 0o600)])
    assert {path.name for path in keep.folder.iterdir()} == {"one", "two", keep.arriving.name}


def test_what_a_killed_run_left_is_removed_what_a_live_one_has_is_not(tmp_path: Path) -> None:
    with Keep(tmp_path / "kept") as live:
        left = tmp_path / "kept/.cxlab-keep-dead"
        (left / "closed").mkdir(parents=True)
        (left / "closed").chmod(0)
        with Keep(tmp_path / "kept") as second:
            assert second.removed == [left]
            assert live.arriving.exists() and not left.exists()
    assert list((tmp_path / "kept").iterdir()) == []
