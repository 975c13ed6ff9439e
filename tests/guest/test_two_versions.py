"""Two versions of CXLab on one host, with one cache folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import cxlab as package
import pytest
from cxlab.run.guest import artefacts, cache
from guests import Cxlab

HERE = Path(package.__file__).parent
#: The content of the cache was made with these parts of CXLab.
PARTS = (artefacts.QEMU_PLUGIN, artefacts.GUEST_INIT)


def newer_version(folder: Path) -> Path:
    """A copy of the package. Its plugin and its init are other files, and do what these here do."""
    copy = folder / HERE.name
    shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for part in PARTS:
        with (copy / artefacts.built(part).relative_to(HERE)).open("ab") as file:
            file.write(b"newer")
    return folder


def contents(folder: Path) -> dict[Path, str]:
    """Hashes of the states and of the archives: what a version makes for itself."""
    kept = [path for name in ("boot", "initramfs") for path in (folder / name).rglob("*") if path.is_file()]
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in kept}


@pytest.mark.once_a_week
def test_each_takes_what_it_made(cxlab: Cxlab, tmp_path: Path) -> None:
    shared = tmp_path / "cache" / "cxlab"
    shared.mkdir(parents=True)
    (shared / "kernel").symlink_to(cache.folder() / "kernel")
    versions = {"older": HERE.parent, "newer": newer_version(tmp_path / "newer")}

    def run(version: str) -> dict[str, Any]:
        environment = {
            **os.environ,
            "XDG_CACHE_HOME": str(shared.parent),
            "PYTHONPATH": str(versions[version]),
        }
        command = cxlab.command(["--detail", "all", "--memory", "dram=256M,cxl=128M"], ["/bin/true"])
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
        return cxlab.summary()

    ran = run("older")
    of_older = contents(shared)
    run("newer")
    of_both = contents(shared)
    # Nothing of the older version is changed or gone, and the newer one took nothing of it.
    assert of_older.items() < of_both.items()
    assert len(of_both) == 2 * len(of_older)
    again = run("older")
    assert contents(shared) == of_both
    assert again["simulated_seconds"] == ran["simulated_seconds"] > 0
    assert again["instructions"] == ran["instructions"]
