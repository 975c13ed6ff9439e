"""The guest's kernel in its cache: never half there, and no network once it is there."""

from __future__ import annotations

import lzma
import os
from pathlib import Path

import pytest
from cxlab.run.errors import KernelImageError, UnusableFolder
from cxlab.run.guest import cache, kernel_image

RELEASE = "6.12.95+deb12-amd64"
SHOW = """#!/bin/sh
printf 'Package: linux-image-amd64\\nDepends: linux-image-6.1.0-56-amd64 (= 6.1)\\n\\n'
printf 'Package: linux-image-amd64\\nDepends: linux-image-6.12.95+deb12-amd64 (= 6.12.95-1)\\n'
printf 'Package: linux-image-amd64\\nDepends: linux-image-6.12.9+deb12-amd64 (= 6.12.9-1)\\n'
"""
#: apt-get download: an archive in the folder it is called in.
DOWNLOAD = '#!/bin/sh\necho "$@" >> "$LOG"\ntouch image.deb\n'
UNPACK = f'#!/bin/sh\nmkdir -p "$3/boot" && echo kernel > "$3/boot/vmlinuz-{RELEASE}"\n'


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH on which apt and dpkg are ours."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, script in (("apt-cache", SHOW), ("apt-get", DOWNLOAD), ("dpkg-deb", UNPACK)):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    return folder


def test_the_newest_of_the_series_is_taken_once(programs: Path, tmp_path: Path) -> None:
    image = kernel_image.ensure()
    assert image.release == RELEASE
    assert image.vmlinuz.read_text() == "kernel\n"
    assert image.folder == tmp_path / "cache/cxlab/kernel" / RELEASE
    for program in programs.iterdir():
        program.unlink()
    assert kernel_image.ensure() == image
    assert (tmp_path / "log").read_text().count(f"linux-image-{RELEASE}") == 1


def test_what_was_half_unpacked_is_not_taken(programs: Path, tmp_path: Path) -> None:
    (programs / "dpkg-deb").write_text('#!/bin/sh\nmkdir -p "$3/boot"\necho no space >&2\nexit 2\n')
    with pytest.raises(KernelImageError, match="no space"):
        kernel_image.ensure()
    assert kernel_image.cached() is None
    left = [p.name for p in (tmp_path / "cache/cxlab/kernel").iterdir() if not p.name.endswith(".lock")]
    assert left == []


def test_an_apt_without_backports_is_told_the_next_step(programs: Path) -> None:
    (programs / "apt-cache").write_text(
        "#!/bin/sh\nprintf 'Depends: linux-image-6.1.0-56-amd64 (= 6.1)\\n'\n"
    )
    with pytest.raises(
        KernelImageError, match=r"(?s)knows no linux-image-amd64 of Linux 6.12.*bookworm-backports"
    ):
        kernel_image.ensure()


@pytest.mark.parametrize("root", ["lib", "usr/lib"])  # Debian 12, Debian 13
def test_modules_are_decompressed_and_missing_ones_named(tmp_path: Path, root: str) -> None:
    folder = tmp_path / root / "modules" / RELEASE / "kernel/fs/9p"
    folder.mkdir(parents=True)
    (folder / "9p.ko.xz").write_bytes(lzma.compress(b"module"))
    image = kernel_image.KernelImage(RELEASE, tmp_path)
    assert image.module("fs/9p/9p") == b"module"
    with pytest.raises(KernelImageError, match=r"has no module fs/10p"):
        image.module("fs/10p")


def test_an_interrupted_fill_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def interrupted(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.entry("a/b", interrupted)
    assert [p.name for p in (tmp_path / "cxlab/a").iterdir()] == [".b.lock"]


def test_a_relative_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / ".cache/cxlab"


def test_a_home_that_is_read_only_has_its_cache_in_var_tmp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(cache, "TEMPORARY", tmp_path)
    assert cache.folder() == tmp_path / "home/.cache/cxlab"
    # Root writes to any folder that is not of a read-only file system: only the answer of access(2) tells.
    monkeypatch.setattr(os, "access", lambda *_: False)
    own = tmp_path / f"cxlab-{os.getuid()}"
    assert cache.folder() == own and own.stat().st_mode & 0o777 == 0o700
    own.chmod(0o777)
    with pytest.raises(UnusableFolder, match="can be written by others; set XDG_CACHE_HOME"):
        cache.folder()
