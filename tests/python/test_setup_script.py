"""scripts/setup on hosts that lack something: it says the one thing to do, and changes nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

SETUP = Path(__file__).resolve().parents[2] / "scripts/setup"
NOBODY = 65534
PRESENT = {
    "dpkg-query": '#!/bin/sh\ncase "$3" in *Status*) echo installed;; *) echo 1:10.0.2;; esac\n',
    "apt-get": "#!/bin/sh\nfor s in bookworm bookworm-backports; do echo http://mirror/debian $s; done\n",
    "apt-cache": "#!/bin/sh\necho Depends: linux-image-6.12.95-amd64\n",
    "cargo": "#!/bin/sh\n",
    "uname": "#!/bin/sh\necho x86_64\n",
}


def setup(folder: Path, **changed: str) -> subprocess.CompletedProcess[str]:
    """``scripts/setup packages`` of a user who is not root, with the host's programs replaced."""
    programs = folder / "bin"
    programs.mkdir()
    for name, script in {**PRESENT, **{k.replace("_", "-"): v for k, v in changed.items()}}.items():
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
    project = folder / "project/scripts"
    project.mkdir(parents=True)
    shutil.copy(SETUP, project)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.getuid() == 0 else []
    return subprocess.run(
        [*drop, "bash", str(project / "setup"), "packages"],
        env={"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that another user may enter."""
    path = tmp_path_factory.mktemp("setup")
    for closed in (path, *path.parents):
        if closed.stat().st_uid == os.getuid() and closed.is_relative_to(tempfile.gettempdir()):
            closed.chmod(closed.stat().st_mode | 0o055)
    return path


def test_nothing_is_done_when_nothing_is_missing(folder: Path) -> None:
    done = setup(folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_not_root_is_told_the_one_command(folder: Path) -> None:
    done = setup(
        folder,
        dpkg_query="#!/bin/sh\nexit 1\n",
        apt_get="#!/bin/sh\necho http://mirror/debian bookworm\n",
    )
    assert done.returncode == 1
    install = "apt-get install -q -y --no-install-recommends"
    assert done.stderr.splitlines()[-1].strip() == (
        "sudo sh -c 'echo deb http://mirror/debian bookworm-backports main"
        " > /etc/apt/sources.list.d/cxlab-backports.list && apt-get update -q"
        f" && {install} gcc libc6-dev bubblewrap e2fsprogs"
        f" && {install} -t bookworm-backports qemu-system-x86 seabios'"
    )


def test_an_older_qemu_is_replaced_from_backports(folder: Path) -> None:
    done = setup(
        folder,
        dpkg_query='#!/bin/sh\ncase "$3" in *Status*) echo installed;; *) echo 1:7.2+dfsg-7;; esac\n',
    )
    assert done.returncode == 1
    assert "install -q -y --no-install-recommends -t bookworm-backports qemu-system-x86'" in done.stderr
    assert "echo deb" not in done.stderr


def test_another_system_is_told_what_is_needed(folder: Path) -> None:
    done = setup(folder, uname="#!/bin/sh\necho aarch64\n")
    assert done.returncode == 1
    assert "aarch64; CXLab is set up for Debian 12 on x86_64" in done.stderr
    assert "QEMU 10.0.x or 11.1.x" in done.stderr
