"""A bug report has what a maintainer needs, and nothing private unless the user asks."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from cxlab.cli import report_bug

SECRET = "s3cret-token"
CONFIG = {
    "program": {"argv": ["./tool", f"--key={SECRET}"], "cwd": f"/home/{SECRET}"},
    "program_file": {"path": f"/home/{SECRET}/tool", "bytes": 85, "sha256": "fea"},
    "environment": {"TOKEN": SECRET},
    "cpus": 1,
    "versions": {"cxlab": "0.1.0", "qemu": "10.0.2"},
    "machine": {"name": "8468v-asic"},
}
SUMMARY = {
    "complete": False,
    "reason": f"MCH005: QEMU died in /home/{SECRET}",
    "program": CONFIG["program"],
    "files": [{"path": f"/home/{SECRET}/out", "kind": "file", "bytes": 1}],
    "ipc": 1.5,
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run that has failed."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "summary.json").write_text(json.dumps(SUMMARY))
    (folder / "statistics.json").write_text("{}")
    for name in ("console.log", "stdout", "stderr"):
        (folder / name).write_text(f"{name} says {SECRET}")
    return folder


def packed(run: Path, file: Path, *options: str) -> dict[str, str]:
    """Members of the archive, by name."""
    done = CliRunner().invoke(report_bug.command, [str(run), "-o", str(file), *options])
    assert done.exit_code == 0, done.output
    assert str(file) in done.output
    with tarfile.open(file) as tar:
        contents = {member.name: tar.extractfile(member) for member in tar.getmembers()}
        return {
            name.removeprefix("cxlab-bug/"): content.read().decode()
            for name, content in contents.items()
            if content is not None
        }


def test_nothing_private_is_in_it(run: Path, tmp_path: Path) -> None:
    members = packed(run, tmp_path / "bug.tar.gz")
    assert set(members) == {"config.json", "summary.json", "statistics.json", "doctor.txt"}
    assert not [name for name, text in members.items() if SECRET in text]
    config, summary = json.loads(members["config.json"]), json.loads(members["summary.json"])
    # What a maintainer asks first: the machine, versions, which program file, how it ended.
    assert config["machine"] == CONFIG["machine"] and config["versions"] == CONFIG["versions"]
    assert config["program_file"]["sha256"] == "fea"
    assert summary["reason"].startswith("MCH005: QEMU died in ") and summary["ipc"] == 1.5
    assert "QEMU" in members["doctor.txt"]


def test_private_files_are_there_if_the_user_asks(run: Path, tmp_path: Path) -> None:
    members = packed(run, tmp_path / "bug.tar.gz", "--private")
    assert json.loads(members["config.json"]) == CONFIG
    assert members["stdout"] == f"stdout says {SECRET}"


def test_a_run_that_has_not_ended_can_be_reported(run: Path, tmp_path: Path) -> None:
    (run / "summary.json").unlink()
    assert "config.json" in packed(run, tmp_path / "bug.tar.gz")


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(report_bug.command, [str(tmp_path), "-o", str(tmp_path / "bug.tar.gz")])
    assert "MCH023" in str(done.exception) and "holds no run" in str(done.exception)
    assert not (tmp_path / "bug.tar.gz").exists()
