"""A sweep's file and command, and a Slurm cluster of this one machine."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

#: A point of 20 ms; the latency of 1 KiB is the L1 cache's on every node.
TINY = """
[axes]
machine = ["8468v-asic", "8468v-fpga"]
placement = ["dram", "cxl"]
seed = [{seeds}]

[workloads.small]
bench = "latency"
size = "1KiB"
"""
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a sweep's file into the test's folder."""

    def made(text: str) -> Path:
        path = tmp_path / "tiny.toml"
        path.write_text(text)
        return path

    return made


def start(*arguments: str | Path, folder: Path, **variables: str) -> subprocess.Popen[str]:
    """``cxlab`` in ``folder``."""
    return subprocess.Popen(
        [sys.executable, "-m", "cxlab", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **variables},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def cxlab(*arguments: str | Path, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """``cxlab`` in ``folder``, to its end."""
    started = start(*arguments, folder=folder, **variables)
    said, errors = started.communicate()
    return subprocess.CompletedProcess(started.args, started.returncode, said, errors)


def processes_in(folder: Path) -> list[str]:
    """Command lines of the processes whose working folder is ``folder``."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink() == folder.resolve():
                found.append((entry / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return [command for command in found if command]


def gone(folder: Path) -> bool:
    """Whether no process runs in ``folder``, a moment later."""
    for _ in range(50):
        if not processes_in(folder):
            return True
        time.sleep(0.1)
    return False


def files(folder: Path) -> dict[str, bytes]:
    """Files that a sweep is made for: its list of runs, and their rows."""
    return {
        path.name: path.read_bytes() for path in sorted([folder / "sweep.json", *(folder / "runs").iterdir()])
    }


CONFIGURATION = """
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MailProg=/bin/true
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def slurm() -> Iterator[Path]:
    """A cluster's configuration: slurmctld, slurmd and munged of Debian run on this machine."""
    if shutil.which("slurmctld") is None or shutil.which("munged") is None or os.getuid() != 0:
        pytest.skip("needs root, slurm-wlm and munge: `scripts/setup tests` installs them")
    # A socket's path is short, so not in pytest's folder.
    folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
    folder.chmod(0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir(mode=0o755)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    configuration = folder / "slurm.conf"
    host = socket.gethostname().partition(".")[0]
    ports = (_free_port(), _free_port())
    cpus = os.cpu_count()
    configuration.write_text(CONFIGURATION.format(folder=folder, host=host, ports=ports, cpus=cpus))
    munge = [f"--{name}={folder}/munge.{name[0:4]}" for name in ("pid-file", "log-file", "seed-file")]
    commands = (
        ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.sock", *munge],
        ["slurmctld", "-D", "-f", str(configuration)],
        ["slurmd", "-D", "-f", str(configuration)],
    )
    running = []
    variables = {**os.environ, "SLURM_CONF": str(configuration)}
    try:
        for command in commands:
            log = (folder / f"{command[0]}.log").open("w")
            running.append(subprocess.Popen(command, stdout=log, stderr=log, env=variables))
            time.sleep(1)
        for _ in range(60):
            asked = ["sinfo", "--noheader", "--format=%t"]
            told = subprocess.run(asked, capture_output=True, text=True, env=variables, check=False)
            if told.stdout.strip() == "idle":
                break
            time.sleep(0.5)
        else:
            words = "".join((folder / f"{one[0]}.log").read_text() for one in commands)
            pytest.fail(f"the cluster did not come up: {told.stderr}{words}")
        yield configuration
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)
