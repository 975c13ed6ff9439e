"""Root of the guest attacks the host: prints a line for each try, ``NAME: RESULT``.

Arguments: the host's folder with bait, the process id of a process of the host's.
"""

import os
import signal
import socket
import subprocess
import sys

BAIT, PID = sys.argv[1:]
MOUNT = "/mnt"


def tried(name, attempt):
    try:
        result = attempt()
    except OSError as error:
        result = error.strerror
    print(f"{name}: {result}", flush=True)


def descriptors_of_init():
    """A descriptor of the share would lead to the host's /proc."""
    found = []
    for descriptor in os.listdir("/proc/1/fd"):
        place = f"/proc/1/fd/{descriptor}/proc/{PID}/environ"
        if os.path.exists(place):
            found.append(read(place))
    return found


def bare(folder):
    """The share without what the guest has mounted over it."""
    return sorted(os.listdir(f"{MOUNT}/{folder}"))


def read(path):
    with open(path, "rb") as file:
        return file.read(100)


def connect():
    with socket.socket(socket.AF_UNIX) as end:
        end.connect(f"{BAIT}/socket")
        return "connected"


def pipe():
    end = os.open(f"{BAIT}/pipe", os.O_WRONLY | os.O_NONBLOCK)
    return os.write(end, b"from the guest")


def link():
    """A hard link to the host's file is one to the guest's copy."""
    os.link(f"{BAIT}/file", f"{BAIT}/second")
    with open(f"{BAIT}/second", "a") as file:
        file.write("changed")
    return "made"


def device():
    """The host's first disk, by number: the guest has none."""
    os.mknod("/tmp/disk", 0o60600, os.makedev(254, 0))
    return read("/tmp/disk")


def forks():
    """Children that never end, until the kernel refuses or there are many."""
    made = 0
    while made < 1000:
        if os.fork() == 0:
            while True:
                signal.pause()
        made += 1
    return "done"


def changing():
    """A file that the host truncates and rewrites meanwhile: any bytes, but an end."""
    for _ in range(20):
        with open(f"{BAIT}/changing", "rb") as file:
            size = len(file.read())
    return "read" if size <= 1 << 20 else size


def main():
    subprocess.run(["mount", "--bind", "/", MOUNT], check=True)
    tried("init", descriptors_of_init)
    for folder in ("proc", "sys", "dev", "run"):
        tried(f"bare {folder}", lambda folder=folder: bare(folder))
    tried("hidden folder", lambda: bare(f"{BAIT}/hidden"))
    tried("hidden file", lambda: read(f"{MOUNT}/{BAIT}/secret"))
    tried("other user's", lambda: read(f"{BAIT}/other"))
    tried(
        "second mount",
        lambda: (
            subprocess.run(
                "mount -t 9p -o trans=virtio host /media", shell=True, capture_output=True
            ).returncode
        ),
    )
    tried(
        "write",
        lambda: (
            subprocess.run(
                f"mount -o remount,rw {MOUNT}; echo x > {BAIT}/file", shell=True, capture_output=True
            ).returncode
        ),
    )
    tried("socket", connect)
    tried("pipe", pipe)
    tried("link", link)
    tried("device", device)
    tried("many", lambda: len(os.listdir(f"{BAIT}/many")))
    tried("changing", changing)
    tried("forks", forks)


main()
