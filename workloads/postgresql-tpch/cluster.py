"""A PostgreSQL server of this workload: its programs, who runs it, and how it is asked."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg2

#: Where Debian has the programs of this version.
PROGRAMS = Path("/usr/lib/postgresql/15/bin")
#: PostgreSQL does not run as root. This user comes with Debian's package.
USER = "postgres"
DATABASE = "postgres"
#: Of tables and indexes [B].
PAGE = 8192
#: No network, no copies for a crash, no work in the background; a session is one process.
SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "bgwriter_lru_maxpages": "0",
    "checkpoint_timeout": "1d",
    "huge_pages": "off",
}


def owner() -> str | None:
    """User that runs the server: Debian's one if the caller is root, else the caller (None)."""
    return USER if os.geteuid() == 0 else None


def given_to_owner(folder: Path) -> None:
    """Let the server's user own a folder and all that is in it."""
    if (user := owner()) is None:
        return
    entry = pwd.getpwnam(user)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, entry.pw_uid, entry.pw_gid)


def command(program: str, *arguments: str | Path) -> list[str]:
    """A command of PostgreSQL's programs."""
    return [str(PROGRAMS / program), *map(str, arguments)]


def server(folder: Path, sockets: Path, **settings: str) -> list[str]:
    """The command that serves the cluster in a folder, with its socket in another."""
    all_settings = {**SETTINGS, "unix_socket_directories": str(sockets), **settings}
    given = [word for name, value in all_settings.items() for word in ("-c", f"{name}={value}")]
    return command("postgres", "-D", folder, *given)


def wait(sockets: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until the server answers.

    Raises:
        SystemExit: it has ended.

    """
    while process.poll() is None:
        done = subprocess.run(
            command("pg_isready", "-q", "-h", sockets, "-U", USER, "-d", DATABASE), check=False
        )
        if done.returncode == 0:
            return
    raise SystemExit(f"postgres ended with status {process.returncode}")


def held(sockets: Path) -> int:
    """Pages of tables and indexes in the server's memory [B]; the cluster has the extension for it."""
    cursor = connected(sockets).cursor()
    cursor.execute("SELECT count(*) FROM pg_buffercache WHERE relfilenode IS NOT NULL")
    [pages] = cursor.fetchone()
    return PAGE * int(pages)


def connected(sockets: Path) -> Any:
    """A session, whose statements are transactions of their own."""
    connection = psycopg2.connect(host=str(sockets), user=USER, dbname=DATABASE)
    connection.autocommit = True
    return connection
