"""The last line of the model's process, with types: its result or its error.

The process runs on its own, in a jail. If it was killed, there is no line, and `of` gives an empty answer.
"""

from __future__ import annotations

from typing import IO, Any

import msgspec
from msgspec import Struct

from cxlab.run.host import memory_file


class Refusal(Struct, frozen=True):
    """The model's own error. Its message begins with its code."""

    code: str
    message: str


class Answer(Struct, frozen=True):
    """The answer of the process. At most one of the two is there."""

    error: Refusal | None = None
    #: a `RunResult`, not yet read
    summary: dict[str, Any] | None = None


def of(result: IO[bytes]) -> Answer:
    """Read the file that the process wrote its answer to."""
    return msgspec.convert(memory_file.last_json(result), type=Answer)
