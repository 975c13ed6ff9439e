"""A log that cannot be written names its file."""

from __future__ import annotations

from pathlib import Path

import pytest
from cxlab.caption.log import LogFile


def test_a_log_on_a_full_disk_names_its_file() -> None:
    with (
        pytest.raises(OSError, match="No space left on device: '/dev/full'"),
        Path("/dev/full").open("wb") as file,
    ):
        log = LogFile(file, lambda _: None)
        log.record(b'{"format": "cxlab-caption 1"}')
        log.close()
