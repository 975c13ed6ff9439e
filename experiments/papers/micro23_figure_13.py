"""MICRO'23 (Sun et al.), figure 13: Caption from 50 % on applications and mixes, beside static shares.

Caption's estimator is fitted as the paper fitted its own: on embedding reduction at several shares. Nothing
is fitted on the applications that it steers. An application stands for the SPEC program whose law of access
is nearest. An execution of the programs is twelve samples of 12 us: microseconds stand for seconds. Programs
with phases have samples of 30 us, so that an execution has all phases. Stores have 120 us (2 ms alone), so
that a sample has requests enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import mean, stdev

from cxlab import figure
from cxlab.border import CaptionMode, CaptionObjective
from cxlab.figure import Line
from cxlab.place.request import Application, Share, Study
from cxlab.place.study import CaptionSettings, caption, fit, quality, run

from experiments.experiment import Asked, Report, synthetic
from experiments.report import PAGES, Figures, Row, change

SUBJECT = synthetic("generators with the nearest law of access stand for SPEC programs, Redis and DLRM")
MAKES = ("micro23/fig13",)
#: Between two static shares [%], and executions of each run of Caption.
STEP, EXECUTIONS = 5, 32
QUICK_STEP, QUICK_EXECUTIONS = 25, 8


@dataclass(frozen=True)
class Case:
    """The applications that run together, and the paper's gain."""

    names: Sequence[str]
    beside: str
    #: gain over the better of 0 % and 50 % [%]
    gain: float | None

    @property
    def label(self) -> str:
        """Name of the case in the table."""
        return " + ".join(self.names)


CASES = (
    Case(["streaming"], "fotonik3d", 19.0),
    Case(["pointer_rich"], "mcf", 18.0),
    Case(["phased"], "roms", 8.0),
    Case(["embedding"], "cactuBSSN", 20.0),
    Case(["store-a-uniform"], "Redis", None),
    Case(["pointer_rich", "phased"], "mcf and roms", 24.0),
    Case(["streaming", "phased"], "cactuBSSN and roms", 1.0),
    Case(["store-a-uniform", "embedding"], "Redis and DLRM", 4.0),
)
FIT_SHARES = (9, 15, 20, 25, 30, 40, 50, 60, 67)
#: The last executions, which are the steady state.
STEADY = 6


def study(case: Case, share: int = 50) -> Study:
    """The programs of a case; two share the sixteen cores of a single one."""
    threads = 16 // len(case.names)
    applications = [
        Application.of(name) if name.startswith("store") else Application.of(name, threads)
        for name in case.names
    ]
    # A static share is counted for longer than an execution, so that the best of them is not the luckiest.
    stores = [application.is_store for application in applications]
    measure = "40 ms" if all(stores) else "2 ms" if any(stores) else "400 us"
    return Study(applications, Share(share), warm="60 us", measure=measure)


def settings(case: Case, mode: CaptionMode, objective: CaptionObjective, executions: int) -> CaptionSettings:
    """Caption from 50 %."""
    stores = [name.startswith("store") for name in case.names]
    if any(stores):
        sample = "2 ms" if all(stores) else "120 us"
    else:
        sample = "30 us" if "phased" in case.names else "12 us"
    return CaptionSettings(mode, 50, objective, executions, sample=sample)


def measure(asked: Asked) -> Report:
    """Fit, sweep, steer, compare; quick: the first case alone."""
    step, executions = (QUICK_STEP, QUICK_EXECUTIONS) if asked.quick else (STEP, EXECUTIONS)
    shares = FIT_SHARES[::4] if asked.quick else FIT_SHARES
    fitted = [Share(percent) for percent in shares]
    outcome = fit(study(Case(["embedding"], "", None)), fitted, CaptionSettings("fit"))
    explained = quality(outcome)
    found = _Found(
        notes=[
            "the paper's shares at the end: 29 to 41 % (another ratio of bandwidths: figure 9a's note)",
            f"estimator, fitted on embedding: R^2 {explained.r_squared:.4f}, Pearson {explained.pearson:.4f}",
        ]
    )
    for case in CASES[:1] if asked.quick else CASES:
        _compare(case, outcome.model, step, executions, found)
    draw = partial(
        figure.lines,
        title="Caption from 50 %, adaptive",
        x="execution",
        y="pages on CXL memory [%]",
        curves=found.curves,
    )
    return Report(
        [Figures("MICRO'23 figure 13: Caption in simulation", found.rows, MAKES[0])], found.notes, draw
    )


@dataclass
class _Found:
    """Rows, curves and notes of all cases."""

    notes: list[str]
    rows: list[Row] = field(default_factory=list)
    curves: list[Line] = field(default_factory=list)


def _compare(case: Case, model: object, step: int, executions: int, found: _Found) -> None:
    shares = sorted({*range(0, 101, step), 50})
    alone = dict(zip(shares, run([study(case, share) for share in shares]), strict=True))
    work = {share: outcome.works for share, outcome in alone.items()}
    normal = work[50]
    static = {share: _geometric(done, normal) for share, done in work.items()}
    best = max(static, key=lambda percent: static[percent])
    default = max(static[0], static[50])
    found.rows.append(Row(f"{case.label} ({case.beside}): best static share", None, best, PAGES))
    modes: tuple[CaptionMode, ...] = ("paper", "adaptive")
    jobs = [(study(case), settings(case, mode, {"model": model}, executions), normal) for mode in modes]
    for mode, outcome in zip(modes, caption(jobs), strict=True):
        steady = outcome.executions[-STEADY:]
        reached = mean(execution.throughput for execution in steady)
        share = 100 * mean(execution.share for execution in steady)
        found.rows.append(
            Row(
                f"  {mode}: over the better of 0 and 50 %",
                case.gain,
                change(reached, default),
                rank=f"gain, {mode}",
            )
        )
        found.rows.append(Row(f"  {mode}: over the best static share", None, change(reached, static[best])))
        spread = stdev(execution.throughput for execution in steady) / reached
        found.notes.append(f"{case.label}, {mode}: share {share:.1f} % at the end, throughput +-{spread:.1%}")
        if mode == "adaptive":
            points = [(n, 100 * execution.share) for n, execution in enumerate(outcome.executions, 1)]
            found.curves.append(Line(case.label, points))


def _geometric(work: Sequence[float], normal: Sequence[float]) -> float:
    product = 1.0
    for one, of in zip(work, normal, strict=True):
        product *= one / of
    return float(product ** (1 / len(work)))
