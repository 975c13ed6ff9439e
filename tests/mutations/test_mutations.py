"""Files that were changed are read, or refused by name, within a moment: no traceback, no panic, no wait.

``FUZZ_SECONDS`` says for how long changes are drawn, for all formats together (default 15). The draw is
the same each time. What was found once stays in the folder `found`.
"""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random
from types import FrameType

import pytest

from .formats import FORMATS, Format, judge
from .mutation import changed

FOUND = Path(__file__).parent / "found"
SECONDS = float(os.environ.get("FUZZ_SECONDS", "15")) / len(FORMATS)
#: A file is read in a hundredth of this [s].
LIMIT = 30


@contextmanager
def limited() -> Iterator[None]:
    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"it is not read after {LIMIT} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check(found: Format, text: bytes, folder: Path) -> None:
    try:
        with limited():
            judge(found, text, folder)
    # A panic of the model is no Exception.
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | pytest.fail.Exception):
            raise
        left = folder / "finding"
        left.write_bytes(text)
        pytest.fail(f"{found.name}: copy {left} to {FOUND}/{found.name}-NAME\n{traceback.format_exc()}")


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: str(form.name))
def test_a_whole_file_is_read(form: Format, tmp_path: Path) -> None:
    for seed in form.seeds:
        path = tmp_path / form.name
        path.write_bytes(seed)
        form.read(path)


@pytest.mark.parametrize("path", sorted(FOUND.iterdir()), ids=lambda path: str(path.name))
def test_what_was_found_once_is_read_or_refused(path: Path, tmp_path: Path) -> None:
    (form,) = (form for form in FORMATS if path.name.startswith(f"{form.name}-"))
    check(form, path.read_bytes(), tmp_path)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: str(form.name))
def test_a_changed_file_is_read_or_refused(form: Format, tmp_path: Path) -> None:
    until = time.monotonic() + SECONDS
    for number in count():
        random = Random(number)
        check(form, changed(random.choice(form.seeds), random), tmp_path)
        if time.monotonic() > until:
            break
    print(f"{form.name}: {number + 1} changed files")
