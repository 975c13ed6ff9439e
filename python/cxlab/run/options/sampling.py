"""Sampling: which part of a run is followed in detail, as ``--sample`` asks for it.

Windows of one processor are counted in instructions. Those of several lie in their common simulated time.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass

import click

from cxlab.border import SampleJob
from cxlab.run.errors import BadRequest
from cxlab.run.options import processors
from cxlab.run.options.option import Effect, Given, Option
from cxlab.run.simulated_time import UNITS, parse_ps

#: Decimal, as instructions are counted.
PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
EXAMPLE = "detail=1M,warm=2M,every=100M"
AUTO = "auto"
#: What `auto` asks for: short programs are timed wholly, of long ones half of `most` windows or more.
AUTO_DETAIL, AUTO_WARM, AUTO_MOST = 20_000, 60_000, 512
EXAMPLE_OF_SEVERAL = "detail=50us,warm=100us,every=5ms"
#: Of a long run in full detail.
ADVICE = (
    f"If the program is much longer, end this run with ctrl-C and add --sample {AUTO}. "
    "It times windows of the program only, and gives each figure its interval"
)
#: DEVIATIONS, SMP-7.
NOT_SHOWN = (
    "intervals of several processors are not shown to hold. Threads that meet at other moments can do other "
    "things, in full detail too. Compare with a shorter run in full detail, at two values of --skew"
)


@dataclass(frozen=True)
class Sample:
    """Windows of ``detail``, ``warm`` ahead of each not counted, one in ``every``: instructions, or ns.

    Or at most ``most`` windows: their distance doubles where there would be more.
    """

    detail: int
    warm: int
    #: None: `most` says how many there are
    every: int | None
    #: draws where each window is
    seed: int
    #: None: `every` says how far apart they are
    most: int | None = None

    def job(self) -> SampleJob:
        """The sampling as the model takes it."""
        job: SampleJob = {"detail": self.detail, "warm": self.warm, "seed": self.seed}
        if self.every is not None:
            job["every"] = self.every
        if self.most is not None:
            job["most"] = self.most
        return job

    def plugin(self) -> str:
        """The sampling as an argument of the QEMU plugin (crates/qemu-plugin/src/arguments.rs)."""
        windows = f"most={self.most}" if self.every is None else str(self.every)
        return f"{self.detail}:{self.warm}:{windows}:{self.seed}"


def _count(text: str, option: str) -> int:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kMG]?)", text)
    count = None if match is None else float(match[1]) * PREFIXES[match[2]]
    if count is None or not count.is_integer():
        raise BadRequest(
            f"{option}: '{text}' is not a number of instructions; valid: 100k, 2M, 1.5M and the like"
        )
    return int(count)


def _nanoseconds(text: str, option: str) -> int:
    ps = parse_ps(text)
    if ps is None:
        raise BadRequest(
            f"{option}: '{text}' is not a time; windows of several processors lie in simulated time; "
            f"valid: {EXAMPLE_OF_SEVERAL} and the like"
        )
    return round(ps / UNITS["ns"])


def parse(text: str | None, seed: int, cpus: int = 1) -> Sample | None:
    """Read the sample that is asked for, if any, for a guest of so many processors.

    Raises:
        BadRequest: a key that is unknown, twice there or missing, or windows that do not fit.

    """
    if text is None:
        return None
    if text == AUTO and cpus > 1:
        raise BadRequest(
            f"--sample {AUTO} counts instructions, for one processor. With --cpus {cpus}, give times: "
            f"{EXAMPLE_OF_SEVERAL}"
        )
    if text == AUTO:
        return Sample(AUTO_DETAIL, AUTO_WARM, None, seed, AUTO_MOST)
    option, given = f"--sample {text}", {}
    example, read = (EXAMPLE, _count) if cpus == 1 else (EXAMPLE_OF_SEVERAL, _nanoseconds)
    valid = f"{AUTO}, or {EXAMPLE}" if cpus == 1 else example
    for item in text.split(","):
        key, _, value = item.partition("=")
        if key not in ("detail", "warm", "every") or key in given:
            raise BadRequest(f"{option}: '{item}'; valid: {valid}, each once")
        given[key] = read(value, option)
    if missing := [key for key in ("detail", "warm", "every") if key not in given]:
        raise BadRequest(f"{option}: {', '.join(missing)} is missing; valid: {example}")
    every = given["every"]
    sample = Sample(given["detail"], given["warm"], every, seed)
    if sample.detail == 0 or sample.detail + sample.warm > every:
        raise BadRequest(
            f"{option}: the windows do not fit; valid: detail of 1 or more, detail + warm of at most every"
        )
    return sample


SAMPLE: Option[str | None] = Option(
    "--sample",
    "Time only parts of a long program, called windows. `auto` chooses them: up to some forty million "
    "instructions are timed whole, and a longer program has 256 to 512 windows. To choose yourself, give "
    "instructions: each `every` has one window of `detail`, after `warm` that are simulated and not counted. "
    "Between windows, caches, TLBs and branch predictor stay warm. With several processors, give times: "
    f"{EXAMPLE_OF_SEVERAL}.  [default: every instruction is timed]  Example: auto",
    {"metavar": "auto|detail=N,warm=N,every=N"},
    needs_detail=True,
)
SEED: Option[int] = Option(
    "--sample-seed",
    "Number that decides where the windows of --sample lie.  Example: 7",
    {"type": click.IntRange(min=0, max=2**63 - 1), "default": 0, "show_default": True, "metavar": "N"},
)
WARM_UP: Option[bool] = Option(
    "--warm-up",
    "Simulate caches and branch predictor before timing begins, too. Without it they are cold there. "
    "Needs --detail marker or --from-output.  [default: off]",
    {"is_flag": True},
)


def effect(given: Given) -> Effect:
    """Return the plugin's arguments for the three options.

    Raises:
        BadRequest: a sample that cannot be.

    """
    sample = parse(given[SAMPLE], given[SEED], given[processors.CPUS])
    plugin: tuple[str, ...] = () if sample is None else (f"sample={sample.plugin()}",)
    if given[WARM_UP]:
        plugin += ("warmup=program",)
    config = {"sample": None if sample is None else asdict(sample), "warm_up": given[WARM_UP]}
    return Effect(config=config, plugin=plugin)
