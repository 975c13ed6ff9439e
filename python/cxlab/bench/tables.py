"""Tables of `cxlab validate`: silicon, simulated, error, with bandwidth and latency apart, by class of
curve."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from cxlab.bench.curves import KNEE, MEASURES, Comparison
from cxlab.bench.figures import Figure
from cxlab.output import table

#: wanted of predicted curves, in the order of MEASURES [relative]
TARGETS = (0.04, 0.02, 0.04, 0.15)


def mean(errors: Sequence[float]) -> float:
    """Mean absolute error."""
    return sum(abs(error) for error in errors) / len(errors)


def _number(value: float) -> str:
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def figures(rows: Sequence[Figure], simulated: Sequence[float]) -> Table:
    """Single figures, one a row."""
    headings = ("id", "machine", "what", "silicon", "simulated", "error", "role")
    shown = table(headings, title="figures of papers", left=3, fold=1)
    for row, value in zip(rows, simulated, strict=True):
        silicon = _number(row.low) if row.low == row.high else f"{_number(row.low)}..{_number(row.high)}"
        numbers = (f"{silicon} {row.unit}", f"{_number(value)} {row.unit}", f"{row.error(value):+.1%}")
        shown.add_row(row.id, row.machine, row.what, *numbers, row.role)
    return shown


def bandwidths(comparisons: Sequence[Comparison]) -> Table:
    """The highest bandwidth of each curve."""
    headings = ("node", "mix", "load", "silicon", "simulated", "error", "role")
    shown = table(headings, title="curves: peak bandwidth", left=3, fold=1)
    for comparison in comparisons:
        shown.add_row(
            *_named(comparison),
            f"{comparison.curve.peak / 1e3:.1f} GB/s",
            f"{comparison.peak / 1e3:.1f} GB/s",
            f"{comparison.peak_error:+.1%}",
            comparison.curve.role,
        )
    return shown


def latencies(comparisons: Sequence[Comparison]) -> Table:
    """Latency up to the knee at equal bandwidth, and at full load."""
    headings = ("node", "mix", "load", "points", "mean error", "worst", "full load", "simulated", "error")
    about = f"latency at equal bandwidth up to the knee ({KNEE:.0%} of the peak), then at full load"
    shown = table(headings, title=f"curves: {about}", left=3)
    for comparison in comparisons:
        errors = comparison.below_knee()
        silicon, loaded = comparison.full_load()
        shown.add_row(
            *_named(comparison),
            str(len(errors)),
            f"{mean(errors):.1%}" if errors else "-",
            f"{max(errors, key=abs):+.1%}" if errors else "-",
            f"{silicon:.0f} ns",
            f"{loaded:.0f} ns",
            f"{loaded / silicon - 1:+.0%}",
        )
    return shown


def _named(comparison: Comparison) -> tuple[str, str, str]:
    curve = comparison.curve
    store = "" if curve.mix.writes == 0 else f" {curve.store}"
    return curve.node, f"{curve.mix}{store}", f"{curve.threads} threads, {curve.pattern}"


def by_class(comparisons: Sequence[Comparison]) -> Table:
    """Mean absolute errors, and mean errors, of each class of curves; fitted points are left out."""
    title = "mean absolute errors of predictions, by class, and mean errors in brackets"
    shown = table(("class", "curves", *MEASURES), title=title, left=1)
    names = dict.fromkeys(name for comparison in comparisons for name in comparison.curve.classes)
    for name in ["all", *sorted(name for name in names if name != "all")]:
        members = [comparison for comparison in comparisons if name in comparison.curve.classes]
        cells = [_errors([e for c in members for e in c.errors(measure)]) for measure in MEASURES]
        shown.add_row(name, str(len(members)), *cells, style="bold" if name == "all" else None)
    shown.add_section()
    shown.add_row("wanted", "", *(f"{target:.0%}" for target in TARGETS))
    return shown


def _errors(errors: Sequence[float]) -> str:
    if not errors:
        return "-"
    return f"{mean(errors):.1%} ({sum(errors) / len(errors):+.1%})"
