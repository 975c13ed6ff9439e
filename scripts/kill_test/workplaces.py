"""Workplaces: where a mode's command runs, what it reads there, and what it leaves."""

from __future__ import annotations

import hashlib
import os
import pty
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from cxlab.run.guest import cache, checkpoint
from modes import CXLAB, INPUTS, Mode
from msgspec import Struct


class _File(Struct, frozen=True):
    """A file that was read."""

    path: str
    sha256: str


class _Config(Struct, frozen=True):
    """Keys of config.json that are read here."""

    libraries: list[_File] = []


@dataclass(frozen=True)
class Workplace:
    """Folders of one mode."""

    mode: Mode
    #: where the command runs
    folder: Path
    #: where its standard output and error are, which no full disk takes
    said: Path
    #: a cache of its own, for modes that want one and for disks that are full
    cache: Path

    @classmethod
    def below(cls, folder: Path, mode: Mode) -> Workplace:
        """Make a mode's folders in that of all modes, with what the command reads."""
        name = mode.name.replace(" ", "-")
        place = cls(mode, folder / name, folder / "said" / name, folder / "cache" / name)
        for needed in (place.folder, place.said):
            needed.mkdir(exist_ok=True, parents=True)
        if mode.own_cache and not place.cache.exists():
            place.fill_cache()
        for file, text in INPUTS.items():
            (place.folder / file).write_text(text)
        return place

    def fill_cache(self) -> None:
        """Give it what every run needs from the cache: the guest's kernel."""
        common = cache.folder()
        shutil.copytree(common / "kernel", self.cache / common.name / "kernel")

    @property
    def checkpoints(self) -> Path:
        """Folder of its checkpoints."""
        return self.cache / cache.folder().name / checkpoint.FOLDER

    def prepare(self) -> None:
        """Make what the mode needs before all tries, once."""
        if self.mode.prepared and not self.checkpoints.exists():
            self._execute(*self.mode.prepared).check_returncode()

    def _variables(self) -> dict[str, str]:
        return {**os.environ, **({"XDG_CACHE_HOME": str(self.cache)} if self.mode.own_cache else {})}

    def _execute(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """Another command of CXLab, undisturbed."""
        command = [*CXLAB, *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=self._variables(), capture_output=True, check=False
        )

    @contextmanager
    def started(self, environment: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
        """The command in its folder; its terminal, if it has one, is open meanwhile."""

        def hear_ctrl_c() -> None:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)

        terminal: tuple[int, ...] = () if self.mode.typed is None else pty.openpty()
        if self.mode.typed is not None:
            os.write(terminal[0], self.mode.typed)
        try:
            with (self.said / "stdout").open("wb") as out, (self.said / "stderr").open("wb") as err:
                popen = subprocess.Popen(
                    [*CXLAB, *self.mode.arguments],
                    cwd=self.folder,
                    stdin=terminal[1] if terminal else subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    preexec_fn=hear_ctrl_c,
                    env={**self._variables(), **(environment or {})},
                )
            yield popen
        finally:
            for descriptor in terminal:
                os.close(descriptor)

    def run(self) -> int:
        """The status of an undisturbed run."""
        with self.started() as popen:
            return popen.wait()

    def errors(self) -> str:
        """Standard error of the last run."""
        return (self.said / "stderr").read_text(errors="replace")

    def clear(self) -> None:
        """Take away what the last run left."""
        left = () if self.mode.replays is None else (self.mode.replays,)
        for name in (*self.mode.exact, *left, "out/summary.json"):
            for path in self.folder.glob(name):
                path.unlink()
        if self.mode.checkpoint is not None:
            shutil.rmtree(self.checkpoints / self.mode.checkpoint, ignore_errors=True)

    def hashes(self) -> dict[str, str]:
        """Digest of each exact file as it is now."""
        folders = {"stdout": self.said}
        found = {name: _digest(folders.get(name, self.folder), name) for name in self.mode.exact}
        if self.mode.replays is not None:
            found[self.mode.replays] = self._replayed(self.mode.replays)
        if self.mode.checkpoint is not None:
            found["checkpoint"] = self._begun(self.mode.checkpoint)
        return found

    def read(self) -> dict[str, str]:
        """Digest of each file of this host that the last run's program read when it was started."""
        try:
            config = msgspec.json.decode((self.folder / "out/config.json").read_bytes(), type=_Config)
        except (OSError, msgspec.MsgspecError):
            return {}
        return {file.path: file.sha256 for file in config.libraries}

    def has_left(self) -> list[str]:
        """Names of what only a complete run leaves, for messages: its trace or its checkpoint."""
        found = []
        if self.mode.replays is not None and (self.folder / self.mode.replays).is_file():
            found.append("a trace")
        if self.mode.checkpoint is not None and (self.checkpoints / self.mode.checkpoint).exists():
            found.append("a checkpoint")
        return found

    def _begun(self, name: str) -> str:
        """Digest of the statistics of a run from the checkpoint, or that no run begins there."""
        with tempfile.TemporaryDirectory() as other:
            done = self._execute("run", "--from", name, "--out", f"{other}/out")
            if done.returncode != 0:
                return "no run begins there"
            return hashlib.sha256(Path(f"{other}/out/statistics.json").read_bytes()).hexdigest()

    def _replayed(self, trace: str) -> str:
        """Digest of the result of a trace's replay, or that the trace is not replayed."""
        with tempfile.TemporaryDirectory() as other:
            said = Path(other) / "replay.json"
            done = self._execute("replay", trace, "--json", str(said))
            return hashlib.sha256(said.read_bytes()).hexdigest() if done.returncode == 0 else "not replayed"


def half_files(folder: Path) -> list[str]:
    """Names of files that somebody has not finished."""
    # A lock of the cache stays: it is an empty file.
    files = (path for path in folder.rglob("*") if path.suffix != ".lock" and "kernel" not in path.parts)
    return [path.name for path in files if path.name.startswith(".") or "unfinished" in path.name]


def _digest(folder: Path, name: str) -> str:
    """Digest of the files of this name, which may have a ``*``, or that there is none."""
    files = [path for path in sorted(folder.glob(name)) if path.is_file()]
    content = hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files))
    return content.hexdigest() if files else "absent"
