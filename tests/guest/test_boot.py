"""``cxlab boot``: a prompt at a terminal, and a script, on the machine that ``cxlab run`` has."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

BOOT = [sys.executable, "-m", "cxlab", "boot", "--cxl", "device", "--memory", "dram=512M,cxl=256M"]
#: Far beyond any boot [s].
PATIENCE = 120.0


class Terminal:
    """A terminal with the command behind it."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execv(command[0], command)
        self.said = b""

    def wait_for(self, words: bytes) -> None:
        """Until the guest has said them, after what was waited for before."""
        end = time.monotonic() + PATIENCE
        while words not in self.said and time.monotonic() < end:
            if select.select([self.descriptor], [], [], 0.5)[0]:
                self.said += os.read(self.descriptor, 4096)
        assert words in self.said, self.said
        self.said = self.said.partition(words)[2]

    def type(self, keys: bytes) -> None:
        os.write(self.descriptor, keys)

    def status(self) -> int:
        try:
            while os.read(self.descriptor, 4096):
                pass
        except OSError:
            pass  # its other end is closed
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_a_prompt_hears_keys_and_signals(tmp_path: Path) -> None:
    terminal = Terminal(BOOT, tmp_path)
    terminal.wait_for(b"booting 8468v-asic (memory: dram, cxl). Nothing is timed.")
    terminal.wait_for(b"`exit` or ctrl-] ends it.")
    terminal.wait_for(b"# ")
    terminal.type(b"tty; numactl -H | grep 'node 1 size'\n")
    terminal.wait_for(b"/dev/pts/0")
    terminal.wait_for(b"node 1 size: 256 MB")
    terminal.wait_for(b"# ")
    terminal.type(b"while :; do :; done\n")
    time.sleep(1)
    terminal.type(b"\x03")  # ctrl-C is the guest's
    terminal.wait_for(b"# ")
    terminal.type(b"echo status $?\n")
    terminal.wait_for(b"status 130")
    terminal.wait_for(b"# ")
    terminal.type(b"exit 3\n")
    assert terminal.status() == 3


def test_a_script_runs_as_root_on_the_models_clock(tmp_path: Path) -> None:
    script = tmp_path / "look.sh"
    script.write_text("id -u; cxl list | grep -c memdev\n(sleep 0.05; date +%N) > /dev/null\nexit 7\n")
    command = [*BOOT, "--script", str(script), "--detail", "all", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 7, done.stderr.decode()
    assert done.stdout.split() == [b"0", b"2"]
    assert b"simulated time" in done.stderr
