"""Sampling: which guest instructions are followed in detail, as ``--sample`` asks for it."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from cxlab.machine.errors import BadRequest

#: Decimal, as instructions are counted.
UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
EXAMPLE = "detail=1M,warm=2M,every=100M"


@dataclass(frozen=True)
class Sample:
    """Windows of ``detail`` instructions, ``warm`` ahead of each not counted, one in ``every``."""

    detail: int
    warm: int
    every: int
    #: draws where the first window is
    seed: int

    def job(self) -> dict[str, Any]:
        """For the model."""
        return asdict(self)

    def plugin(self) -> str:
        """For the QEMU plugin (crates/qemu-plugin/src/arguments.rs)."""
        return f"{self.detail}:{self.warm}:{self.every}:{self.seed}"


def _count(text: str, option: str) -> int:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kMG]?)", text)
    count = None if match is None else float(match[1]) * UNITS[match[2]]
    if count is None or not count.is_integer():
        raise BadRequest(f"{option}: '{text}' is no number of instructions, as in 100k, 2M or 1.5M")
    return int(count)


def parse(text: str | None, seed: int) -> Sample | None:
    """What is asked for, if anything.

    Raises:
        BadRequest: a key that is unknown, twice there or missing, or windows that do not fit.

    """
    if text is None:
        return None
    option, given = f"--sample {text}", {}
    for item in text.split(","):
        key, _, value = item.partition("=")
        if key not in ("detail", "warm", "every") or key in given:
            raise BadRequest(f"{option}: '{item}'; valid: {EXAMPLE}, each once")
        given[key] = _count(value, option)
    if missing := [key for key in ("detail", "warm", "every") if key not in given]:
        raise BadRequest(f"{option}: {', '.join(missing)} is missing; valid: {EXAMPLE}")
    sample = Sample(given["detail"], given["warm"], given["every"], seed)
    if sample.detail == 0 or sample.detail + sample.warm > sample.every:
        raise BadRequest(
            f"{option}: a window has an instruction or more; detail and warm together are no more than every"
        )
    return sample
