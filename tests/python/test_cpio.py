"""The archive is what cpio(1), an independent reader, takes it for."""

from __future__ import annotations

import subprocess

from cxlab.run.guest.cpio import Archive


def test_cpio_lists_what_was_added() -> None:
    archive = Archive()
    archive.folder("dev")
    archive.character_device("dev/console", 5, 1)
    archive.file("init", b"#!odd", executable=True)
    archive.file("data", b"12345678")
    command = ["cpio", "--list", "--verbose", "--numeric-uid-gid"]
    listed = subprocess.run(command, input=archive.closed(), capture_output=True, check=True).stdout.decode()
    rows = [line.split() for line in listed.splitlines()]
    assert [(row[0], row[-1]) for row in rows] == [
        ("drwxr-xr-x", "dev"),
        ("crw-------", "dev/console"),
        ("-rwxr-xr-x", "init"),
        ("-rw-r--r--", "data"),
    ]
    assert rows[1][4:6] == ["5,", "1"]
    assert (rows[2][4], rows[3][4]) == ("5", "8")
