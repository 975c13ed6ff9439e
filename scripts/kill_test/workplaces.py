"""Workplaces: where a mode's command runs, what it reads there, and what it leaves."""

from __future__ import annotations

import hashlib
import os
import pty
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from modes import CXLAB, INPUTS, Mode


@dataclass(frozen=True)
class Workplace:
    """A mode's own."""

    mode: Mode
    #: where the command runs
    folder: Path
    #: where its standard output and error are, which no full disk takes
    said: Path

    @classmethod
    def below(cls, folder: Path, mode: Mode) -> Workplace:
        """In a folder of all modes, with what the command reads."""
        name = mode.name.replace(" ", "-")
        place = cls(mode, folder / name, folder / "said" / name)
        for needed in (place.folder, place.said):
            needed.mkdir(exist_ok=True, parents=True)
        for file, text in INPUTS.items():
            (place.folder / file).write_text(text)
        return place

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
                    env={**os.environ, **(environment or {})},
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
        """What the last run said on its standard error."""
        return (self.said / "stderr").read_text(errors="replace")

    def clear(self) -> None:
        """Take away what the last run left."""
        left = () if self.mode.replays is None else (self.mode.replays,)
        for name in (*self.mode.exact, *left, "out/summary.json"):
            for path in self.folder.glob(name):
                path.unlink()

    def hashes(self) -> dict[str, str]:
        """Of each exact file as it is now."""
        folders = {"stdout": self.said}
        found = {name: _digest(folders.get(name, self.folder), name) for name in self.mode.exact}
        if self.mode.replays is not None:
            found[self.mode.replays] = self._replayed(self.mode.replays)
        return found

    def _replayed(self, trace: str) -> str:
        """What the replay of a trace says, or that there is none."""
        with tempfile.TemporaryDirectory() as other:
            said = Path(other) / "replay.json"
            command = [*CXLAB, "replay", trace, "--json", str(said)]
            done = subprocess.run(command, cwd=self.folder, capture_output=True, check=False)
            return hashlib.sha256(said.read_bytes()).hexdigest() if done.returncode == 0 else "not replayed"


def half_files(folder: Path) -> list[str]:
    """Names of files that somebody has not finished."""
    # A lock of the cache stays: it is an empty file.
    files = (path for path in folder.rglob("*") if path.suffix != ".lock")
    return [path.name for path in files if path.name.startswith(".") or "unfinished" in path.name]


def _digest(folder: Path, name: str) -> str:
    """Of the files of this name, which may have a ``*``, or that there is none."""
    files = [path for path in sorted(folder.glob(name)) if path.is_file()]
    content = hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files))
    return content.hexdigest() if files else "absent"
