"""All tests: what takes minutes comes first, so that workers end at about the same time; Ctrl-C is heard."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
#: Folders whose files boot guests or fit machines. One file is one worker's.
FIRST = ("guest", "workloads", "calibrate", "golden", "newcomer", "experiments", "bench")


def pytest_configure() -> None:
    """A shell's background job ignores Ctrl-C, and so would all that a test starts there."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
        return FIRST.index(folder) if folder in FIRST else len(FIRST)

    items.sort(key=place)
