"""MICRO'23 (Sun et al.), figure 13: Caption from 50 % on applications and mixes, beside static shares.

Caption's estimator is fitted as the paper fitted its own: on embedding reduction at several shares; nothing
is fitted on the applications that it steers. An application stands for the SPEC program whose law of access
is nearest. An execution of the programs is twelve samples of 12 us: microseconds stand for seconds. Programs
with phases have 30 us, so that an execution has all phases, and stores 120 us (2 ms alone), so that a sample
has requests enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

import click
from cxlab.place import plot, report
from cxlab.place.request import Application, Share, Study
from cxlab.place.study import CaptionSettings, caption, fit, run

Json = dict[str, object]


@dataclass(frozen=True)
class Case:
    """What runs, and what the paper has beside it."""

    names: Sequence[str]
    beside: str
    #: gain over the better of 0 % and 50 % [%]
    gain: float | None

    @property
    def label(self) -> str:
        """As the table has it."""
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


def settings(case: Case, mode: str, objective: object, executions: int) -> CaptionSettings:
    """Caption from 50 %."""
    stores = [name.startswith("store") for name in case.names]
    if any(stores):
        sample = "2 ms" if all(stores) else "120 us"
    else:
        sample = "30 us" if "phased" in case.names else "12 us"
    return CaptionSettings(mode, 50, objective, executions, sample=sample)


@click.command()
@click.option("--plot", "plot_file", type=click.Path(path_type=Path))
@click.option("--step", default=5, type=click.IntRange(1, 25), help="Between two static shares [%].")
@click.option("--executions", default=32, help="Of each run of Caption.")
@click.option("--case", "only", type=click.IntRange(1, len(CASES)), help="One of the cases, by number.")
def main(plot_file: Path | None, step: int, executions: int, only: int | None) -> None:
    """Fit, sweep, steer, compare."""
    cases = CASES if only is None else (CASES[only - 1],)
    model = fit(
        study(Case(["embedding"], "", None)),
        [Share(percent) for percent in FIT_SHARES],
        CaptionSettings("fit"),
    )["model"]
    quality = model["quality"]
    notes = [
        "the paper's shares at the end: 29 to 41 % (another ratio of bandwidths: figure 9a's note)",
        f"estimator, fitted on embedding: R^2 {quality['r_squared']:.4f}, Pearson {quality['pearson']:.4f}",
    ]
    rows: list[report.Row] = []
    curves: list[plot.Line] = []
    for case in cases:
        _compare(case, model, step, executions, rows, notes, curves)
    report.show("MICRO'23 figure 13: Caption in simulation", rows, notes)
    if plot_file is not None:
        title, y = "Caption from 50 %, adaptive", "pages on CXL memory [%]"
        plot.lines(plot_file, title, "execution", y, curves)


def _compare(
    case: Case,
    model: object,
    step: int,
    executions: int,
    rows: list[report.Row],
    notes: list[str],
    curves: list[plot.Line],
) -> None:
    shares = sorted({*range(0, 101, step), 50})
    alone = dict(zip(shares, run([study(case, share) for share in shares]), strict=True))
    work = {
        share: [process["work_per_second"] for process in outcome.document["processes"]]
        for share, outcome in alone.items()
    }
    normal = work[50]
    static = {share: _geometric(done, normal) for share, done in work.items()}
    best = max(static, key=lambda percent: static[percent])
    default = max(static[0], static[50])
    rows.append(report.Row(f"{case.label} ({case.beside}): best static share", None, best))
    jobs = [
        (study(case), settings(case, mode, {"model": model}, executions), normal)
        for mode in ("paper", "adaptive")
    ]
    for mode, outcome in zip(("paper", "adaptive"), caption(jobs), strict=True):
        steady = outcome["executions"][-STEADY:]
        reached = mean(execution["throughput"] for execution in steady)
        share = 100 * mean(execution["share"] for execution in steady)
        of_best = report.change(reached, static[best])
        gain = report.change(reached, default)
        rows.append(report.Row(f"  {mode}: over the better of 0 and 50 %", case.gain, gain))
        rows.append(report.Row(f"  {mode}: over the best static share", None, of_best))
        spread = stdev(execution["throughput"] for execution in steady) / reached
        notes.append(f"{case.label}, {mode}: share {share:.1f} % at the end, throughput +-{spread:.1%}")
        if mode == "adaptive":
            points = [(n, 100 * execution["share"]) for n, execution in enumerate(outcome["executions"], 1)]
            curves.append(plot.Line(case.label, points))


def _geometric(work: Sequence[float], normal: Sequence[float]) -> float:
    product = 1.0
    for one, of in zip(work, normal, strict=True):
        product *= one / of
    return float(product ** (1 / len(work)))


if __name__ == "__main__":
    main()
