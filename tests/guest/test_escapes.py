"""Root of the guest against the host: it reads only what is shared, and writes only what is asked for.

One boot tries many things (tests/programs/escape.py). tests/python/test_keep.py has what a hostile guest may
leave for ``--keep`` to take.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

import pytest
from cxlab.run.errors import ConsoleFlood, KeepFailed
from cxlab.run.guest import artefacts, initramfs, kernel_image
from cxlab.run.host import jail, landlock, supervisor
from cxlab.run.host.keep import Keep
from cxlab.run.options.confinement import Mode
from guests import COMMAND, ENDLESS, Cxlab, run_as_root

ESCAPE = Path(__file__).parent.parent / "programs/escape.py"
MANY = 5_000
SECRET = "of the host's process only"


def lay_bait(folder: Path) -> list[socket.socket]:
    """Files that the guest must not read, must not write to, or must survive reading."""
    (folder / "hidden").mkdir()
    (folder / "hidden/key").write_text("secret")
    (folder / "secret").write_text("secret")
    (folder / "file").write_text("the host's")
    (folder / "other").write_text("another user's")
    (folder / "other").chmod(0o600 if os.geteuid() == 0 else 0)
    if os.geteuid() == 0:
        os.chown(folder / "other", 65534, 65534)
    os.mkfifo(folder / "pipe")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(folder / "socket"))
    listening.listen()
    (folder / "many").mkdir()
    for number in range(MANY):
        (folder / f"many/{number}").touch()
    (folder / "changing").write_bytes(b"x")
    return [listening]


def rewrite(path: Path, stop: threading.Event) -> None:
    while not stop.is_set():
        path.write_bytes(os.urandom(1 << 20))
        os.truncate(path, 100)


def test_root_of_the_guest_stays_in_it(tmp_path: Path) -> None:
    bait = tmp_path / "bait"
    bait.mkdir()
    listening = lay_bait(bait)
    stop = threading.Event()
    writer = threading.Thread(target=rewrite, args=(bait / "changing", stop))
    with subprocess.Popen(["sleep", "1000"], env={"SECRET": SECRET}) as process:
        script = tmp_path / "script.sh"
        script.write_text(f"exec python3 {ESCAPE} {bait} {process.pid}\n")
        writer.start()
        try:
            hide = ["--hide", str(bait / "hidden"), "--hide", str(bait / "secret")]
            command = [sys.executable, "-m", "cxlab", "boot", "--detail", "off", "--jail", "require", *hide]
            command += ["--script", str(script), "--out", str(tmp_path / "out")]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        finally:
            stop.set()
            writer.join()
            process.kill()
    assert done.returncode == 0, done.stderr
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert said == {
        "init": "[]",
        **{f"bare {folder}": "[]" for folder in ("proc", "sys", "dev", "run")},
        "hidden folder": "[]",
        "hidden file": said["hidden file"],
        "other user's": "Permission denied",
        "second mount": "32",  # mount(8): failed
        "write": said["write"],
        "socket": "Connection refused",
        "pipe": "No such device or address",
        "link": "made",
        "device": "No such device or address",
        "many": str(MANY),
        "changing": "read",
        "forks": said["forks"],
    }
    # The guest has room for a thousand children, or its kernel says no. Its end is as always.
    assert said["forks"] in {"done", os.strerror(errno.EAGAIN), os.strerror(errno.ENOMEM)}
    assert "secret" not in said["hidden file"] and SECRET not in done.stdout
    assert (bait / "file").read_text() == "the host's"
    assert not (bait / "second").exists()
    listening[0].setblocking(False)
    with pytest.raises(BlockingIOError):
        listening[0].accept()


#: Root of the guest mounts the share for kept files itself, and leaves links in it.
PLANT = """
mkdir /tmp/keep && mount -t 9p -o trans=virtio,version=9p2000.L keep /tmp/keep
ln -s {outside} /tmp/keep/home
mkdir -p /tmp/keep/tmp && ln -s {outside}/mine /tmp/keep/tmp/link && mkfifo /tmp/keep/tmp/pipe
printf '#!/bin/sh\\nid' > /tmp/keep/shell && chmod 6755 /tmp/keep/shell
umount /tmp/keep
mkdir -p /home/x && echo theirs > /home/x/mine; echo theirs > /home/mine; echo theirs > /tmp/link
cp /bin/sh /tmp/shell && chmod 6755 /tmp/shell
(while :; do mv /tmp/a /tmp/b; mv /tmp/b /tmp/a; done) > /dev/null 2>&1 &
"""


def test_root_of_the_guest_keeps_nothing_outside_of_the_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine")
    archive = initramfs.ensure(kernel_image.ensure(), artefacts.built(artefacts.GUEST_INIT))
    with Keep(tmp_path / "kept") as keep:
        script = PLANT.format(outside=outside)
        outcome = run_as_root(tmp_path, archive, "sh", "-c", script, keep=keep.arriving)
        assert outcome.exit is not None, outcome.failure
        # What lies in the way of a file that init copies is that file's loss.
        with pytest.raises(KeepFailed):
            keep.accept(outcome.exit.files)
    assert [(p.name, p.read_text()) for p in outside.iterdir()] == [("mine", "mine")]
    for path in (tmp_path / "kept").rglob("*"):
        assert path.is_symlink() or path.is_dir() or (path.is_file() and path.stat().st_mode & 0o6000 == 0)
    assert (tmp_path / "kept/tmp/shell").stat().st_mode & 0o7777 == 0o755


def test_a_full_disk_is_said_and_what_fits_is_kept(cxlab: Cxlab, tmp_path: Path) -> None:
    script = "head -c 3000000 /dev/urandom > big; echo small > small; head -c 3000000 /dev/zero > other"
    keep = tmp_path / "kept"
    keep.mkdir()
    run = cxlab.command(["--keep", str(keep)], ["sh", "-c", script])
    user = [] if os.geteuid() == 0 else ["-r"]
    small = (
        f'mount -t tmpfs -o size=1m small {keep}; "$@"; status=$?; '
        f"find {keep} -type f -name small; exit $status"
    )
    done = subprocess.run(
        ["unshare", *user, "-m", "sh", "-c", small, "sh", *run],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 125, done.stderr
    assert (
        f"MCH014: --keep {keep}: 2 of 3 files are not kept: {tmp_path}/big: No space left on device"
        in done.stderr
    )
    assert done.stdout == f"{keep}{tmp_path}/small\n"
    summary = cxlab.summary()
    assert summary["complete"] is False and "No space left on device" in summary["reason"]


def test_a_recording_that_was_cut_has_not_its_name(tmp_path: Path) -> None:
    cxlab = Cxlab(tmp_path, "all", overwrite=False)
    trace, timeline = tmp_path / "trace", tmp_path / "timeline.json"
    options = ["--record", str(trace), "--timeline", str(timeline)]
    run = cxlab.start("sh", "-c", ENDLESS, options=options)
    assert run.stdout is not None and run.stderr is not None
    assert run.stdout.readline() == b"running\n"
    # The same folder is in use, and so it is when this run has ended.
    again = subprocess.run(cxlab.command([], ["true"]), capture_output=True, text=True, check=False)
    assert again.returncode == 125 and "MCH015: another run writes to" in again.stderr
    time.sleep(1)
    run.send_signal(signal.SIGTERM)
    said = run.stderr.read().decode()
    assert run.wait() == 128 + signal.SIGTERM
    assert f"--record {trace}: not written, because the run is not complete" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    again = subprocess.run(cxlab.command([], ["true"]), capture_output=True, text=True, check=False)
    assert again.returncode == 125 and "holds an earlier run (config.json, summary.json" in again.stderr
    assert cxlab.summary()["complete"] is False


def test_a_console_that_is_flooded_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "MOST_CONSOLE_BYTES", 1 << 20)
    archive = initramfs.ensure(kernel_image.ensure(), artefacts.built(artefacts.GUEST_INIT))
    outcome = run_as_root(tmp_path, archive, "sh", "-c", "cat /dev/zero > /dev/ttyS0")
    assert isinstance(outcome.failure, ConsoleFlood)
    # A look every quarter of a second: what comes in between is little.
    assert (tmp_path / "out/console.log").stat().st_size < 16 << 20


def peak_kib(pid: int) -> int:
    [line] = [
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM")
    ]
    return int(line.split()[1])


def count(stream: IO[bytes]) -> int:
    total = 0
    while data := stream.read(1 << 20):
        total += len(data)
    return total


def test_a_flood_of_output_passes_in_bounded_memory(cxlab: Cxlab) -> None:
    """`FLOOD_MIB` says how much; .ci/weekly has 10 GiB."""
    flood = int(os.environ.get("FLOOD_MIB", "128")) << 20
    run = cxlab.start("sh", "-c", f"echo begin; head -c {flood} /dev/zero")
    assert run.stdout is not None and run.stderr is not None
    assert run.stdout.readline() == b"begin\n"
    before = peak_kib(run.pid)
    left = flood - (16 << 20)
    while left > 0:
        left -= len(run.stdout.read(min(left, 1 << 20)))
    # What has passed is at least seven times that.
    assert peak_kib(run.pid) - before < 16 << 10
    assert count(run.stdout) == 16 << 20
    assert run.wait() == 0, run.stderr.read()


def test_no_jail_is_said_or_refused(tmp_path: Path) -> None:
    (tmp_path / "bwrap").write_text(
        "#!/bin/sh\necho bwrap: No permissions to create new namespace >&2; exit 1\n"
    )
    (tmp_path / "bwrap").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = [*COMMAND, "--detail", "off", "--out", str(tmp_path / "out"), *options, "--", "true"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    refused = run("--jail", "require")
    assert refused.returncode == 125
    assert "MCH013: this host allows no namespaces: bwrap: No permissions" in refused.stderr
    assert "--hide needs a jail" in run("--hide", str(tmp_path / "bwrap")).stderr
    ran = run()
    assert ran.returncode == 0
    assert "cxlab: no jail (this host allows no namespaces: bwrap: No permissions" in ran.stderr
    assert "root in the guest reads the host's /proc, /sys, /dev and /run" in ran.stderr


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (
            "mkdir",
            "ENOSPC",
            "MCH021: the jail of QEMU and the model could not be made: bwrap: .*No space left",
        ),
        ("clone", "EAGAIN", "MCH021: the jail of QEMU and the model could not be made: bwrap: .*unavailable"),
        ("clone", "ENOSPC", "MCH013: this host allows no namespaces: bwrap: .*max_[*]_namespaces exceeded"),
    ],
)
def test_what_a_jail_lacks_is_said(tmp_path: Path, call: str, error: str, said: str) -> None:
    # The host's own bwrap, one of whose calls the kernel refuses.
    refused = f"-f -o /dev/null -e trace={call} -e inject={call}:error={error}:when=1"
    bwrap = tmp_path / "bwrap"
    bwrap.write_text(f'#!/bin/sh\nexec {shutil.which("strace")} {refused} {shutil.which("bwrap")} "$@"\n')
    bwrap.chmod(0o755)
    command = [*COMMAND, "--jail", "require", "--out", str(tmp_path / "out"), "--", "true"]
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert re.search(said, done.stderr), done.stderr
    assert done.returncode == 125
    assert not (tmp_path / "out").exists()


LOOK = """
grep -E '^(CapPrm|CapEff|NoNewPrivs)' /proc/self/status
echo processes $(ls /proc | grep -c '^[1-9]')
echo devices $(ls /dev)
echo sys $(ls -A /sys) run $(ls -A /run)
echo share $(cd {share} && ls -A proc sys dev run | grep -v :)
echo network $(tail -n +3 /proc/net/dev | cut -d: -f1)
echo variables $(env | cut -d= -f1)
echo hidden $(ls -A {folder}/hidden {share}{folder}/hidden | grep -v :)
for file in {folder}/new /proc/sysrq-trigger /proc/sys/kernel/hostname /dev/new /run/new /run/share/tmp/new
do echo $file $(sh -c "echo x > $file" 2>&1 | grep -c cannot); done
echo given > {folder}/given
"""


def test_what_a_jailed_process_sees(tmp_path: Path) -> None:
    """The jail itself, without a guest: rights, processes, network, devices, files."""
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/key").touch()
    (tmp_path / "given").touch()
    room = jail.find(Mode.REQUIRE, [tmp_path / "hidden"]).room()
    look = LOOK.format(share=room.share(), folder=tmp_path)
    room.writes(tmp_path / "given")
    information, write_end = os.pipe()
    command = room.command(["/bin/sh", "-c", look], Path("/"), {"GIVEN": "1"}, write_end)
    done = subprocess.run(command, env={}, pass_fds=[write_end], capture_output=True, text=True, check=False)
    os.close(write_end)
    os.close(information)
    assert done.stdout.splitlines() == [
        "CapPrm:\t0000000000000000",
        "CapEff:\t0000000000000000",
        "NoNewPrivs:\t1",
        # The shell, the one of $(), ls and grep.
        "processes 4",
        "devices null urandom",
        "sys run share",
        "share",
        "network lo",
        "variables GIVEN PWD",
        "hidden",
        *(f"{tmp_path}/new 1", "/proc/sysrq-trigger 1", "/proc/sys/kernel/hostname 1"),
        *("/dev/new 1", "/run/new 1", "/run/share/tmp/new 1"),
    ], done.stderr
    assert (tmp_path / "given").read_text() == "given\n"


#: What a jail's process tries behind Landlock: a line for each, with the error's name.
TRIES = """
import ctypes, errno, os, socket, stat, sys
given, other = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)

def tried(name, attempt):
    try:
        attempt()
        print(name, "done")
    except OSError as error:
        print(name, errno.errorcode[error.errno])

def write(path):
    return lambda: open(path, "w").write("x")

def mount():
    if libc.mount(b"none", given.encode(), b"tmpfs", 0, None) != 0:
        raise OSError(ctypes.get_errno(), "mount")

def bind():
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))

def connect():
    with socket.socket() as end:
        end.connect(("127.0.0.1", 1))

tried("read", lambda: open(other).read())
tried("execute", lambda: os.spawnv(os.P_WAIT, "/bin/true", ["true"]))
tried("write given", write(given + "/new"))
tried("make folder", lambda: os.mkdir(given + "/folder"))
tried("rename given", lambda: os.rename(given + "/new", given + "/folder/new"))
tried("remove", lambda: os.remove(given + "/folder/new"))
tried("write other", write(other))
tried("truncate other", lambda: os.truncate(other, 0))
tried("make other", write(os.path.dirname(other) + "/made"))
tried("move out", lambda: os.rename(given, os.path.dirname(other) + "/moved"))
tried("make fifo", lambda: os.mkfifo(given + "/fifo"))
tried("make socket", lambda: os.mknod(given + "/socket", stat.S_IFSOCK))
tried("make device", lambda: os.mknod(given + "/device", stat.S_IFCHR, os.makedev(1, 5)))
tried("null device", write("/dev/null"))
tried("zero device", write("/dev/zero"))
tried("mount", mount)
tried("bind", bind)
tried("connect", connect)
"""
#: Landlock's own answers: to files EACCES, between folders EXDEV, to mount(2) EPERM.
ANSWERS = {
    **{"read": "done", "execute": "done", "write given": "done", "make folder": "done"},
    **{"rename given": "done", "remove": "done", "write other": "EACCES", "truncate other": "EACCES"},
    **{"make other": "EACCES", "move out": "EACCES", "make fifo": "EACCES", "make socket": "EACCES"},
    **{"make device": "EACCES", "null device": "done", "zero device": "EACCES", "mount": "EPERM"},
    **{"bind": "EACCES", "connect": "EACCES"},
}


@pytest.mark.skipif((landlock.version() or 0) < 4, reason="this kernel has no Landlock of version 4")
def test_landlock_refuses_what_is_not_given_without_any_jail(tmp_path: Path) -> None:
    """The second wall alone: no mount is read-only, and as root all would be allowed."""
    given, other = tmp_path / "given", tmp_path / "other"
    given.mkdir()
    other.write_text("whole")
    wall = [sys.executable, "-I", "-S", str(jail.WALL), str(given), "--"]
    command = [*wall, sys.executable, "-c", TRIES, str(given), str(other)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert dict(line.rsplit(" ", 1) for line in done.stdout.splitlines()) == ANSWERS, done.stderr
    assert other.read_text() == "whole" and sorted(path.name for path in tmp_path.iterdir()) == [
        "given",
        "other",
    ]


@pytest.mark.skipif((landlock.version() or 0) < 6, reason="this kernel has no Landlock of version 6")
def test_landlock_lets_no_signal_and_no_abstract_socket_out() -> None:
    """Both as the same user, with no namespace between."""
    with socket.socket(socket.AF_UNIX) as end, subprocess.Popen(["sleep", "1000"]) as process:
        name = f"cxlab-{os.getpid()}"
        end.bind(f"\0{name}")
        end.listen()
        tries = (
            "import os, signal, socket\n"
            f"for attempt in (lambda: os.kill({process.pid}, signal.SIGTERM), "
            f"lambda: socket.socket(socket.AF_UNIX).connect('\\0{name}')):\n"
            "    try:\n        attempt()\n        print('done')\n"
            "    except PermissionError:\n        print('refused')\n"
        )
        wall = [sys.executable, "-I", "-S", str(jail.WALL), "--"]
        done = subprocess.run(
            [*wall, sys.executable, "-c", tries], capture_output=True, text=True, check=False
        )
        process.kill()
    assert done.stdout.split() == ["refused", "refused"], done.stderr


def test_a_kernel_without_landlock_has_the_jail_alone(tmp_path: Path) -> None:
    # The host's own kernel, which strace lets answer as one without it.
    absent = ["strace", "-f", "-o", "/dev/null", "-e", "inject=landlock_create_ruleset:error=ENOSYS"]
    wall = [sys.executable, "-I", "-S", str(jail.WALL), "--"]
    write = ["/bin/sh", "-c", f"echo x > {tmp_path}/new"]
    subprocess.run([*absent, *wall, *write], check=True)
    assert (tmp_path / "new").read_text() == "x\n"
