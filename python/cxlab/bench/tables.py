"""What `cxlab validate` prints: silicon, simulated, error; bandwidth and latency apart, by mix."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from cxlab.bench.curves import KNEE, Comparison
from cxlab.bench.figures import Figure

#: targets of predicted curves: peaks, latency up to the knee [relative]
PEAKS, LATENCIES = 0.05, 0.08


def mean(errors: Sequence[float]) -> float:
    """Mean absolute error."""
    return sum(abs(error) for error in errors) / len(errors)


def _table(title: str, left: Sequence[str], right: Sequence[str], last: Sequence[str] = ()) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in left:
        table.add_column(heading)
    for heading in right:
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in last:
        table.add_column(heading, no_wrap=True)
    return table


def _number(value: float) -> str:
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def figures(rows: Sequence[Figure], simulated: Sequence[float]) -> Table:
    """Single figures, one a row."""
    table = _table(
        "figures of papers", ("id", "machine", "what"), ("silicon", "simulated", "error"), ("role",)
    )
    for row, value in zip(rows, simulated, strict=True):
        silicon = _number(row.low) if row.low == row.high else f"{_number(row.low)}..{_number(row.high)}"
        numbers = (f"{silicon} {row.unit}", f"{_number(value)} {row.unit}", f"{row.error(value):+.1%}")
        table.add_row(row.id, row.machine, row.what, *numbers, row.role)
    return table


def bandwidths(title: str, comparisons: Sequence[Comparison]) -> Table:
    """The highest bandwidth of each curve."""
    table = _table(
        f"{title}: peak bandwidth", ("node", "mix", "load"), ("silicon", "simulated", "error"), ("role",)
    )
    for comparison in comparisons:
        table.add_row(
            *_named(comparison),
            f"{comparison.curve.peak / 1e3:.1f} GB/s",
            f"{comparison.peak / 1e3:.1f} GB/s",
            f"{comparison.peak_error:+.1%}",
            comparison.curve.role,
        )
    return table


def latencies(title: str, comparisons: Sequence[Comparison]) -> Table:
    """Latency up to the knee at equal bandwidth, and at full load."""
    table = _table(
        f"{title}: latency at equal bandwidth up to the knee ({KNEE:.0%} of the peak), then at full load",
        ("node", "mix", "load"),
        ("points", "mean error", "worst", "full load", "simulated", "error"),
    )
    for comparison in comparisons:
        errors = comparison.below_knee()
        silicon, loaded = comparison.full_load()
        table.add_row(
            *_named(comparison),
            str(len(errors)),
            f"{mean(errors):.1%}" if errors else "-",
            f"{max(errors, key=abs):+.1%}" if errors else "-",
            f"{silicon:.0f} ns",
            f"{loaded:.0f} ns",
            f"{loaded / silicon - 1:+.0%}",
        )
    return table


def _named(comparison: Comparison) -> tuple[str, str, str]:
    curve = comparison.curve
    store = "" if curve.mix.writes == 0 else f" {curve.store}"
    return curve.node, f"{curve.mix}{store}", f"{curve.threads} threads, {curve.pattern}"


def by_mix(comparisons: Sequence[Comparison]) -> Table:
    """Mean absolute errors of each mix, and of all."""
    table = _table(
        "mean absolute errors, by mix",
        ("mix",),
        ("peaks, predicted", "latency up to the knee", "latency at full load"),
    )
    mixes = {_named(comparison)[1]: comparison.curve.mix for comparison in comparisons}
    for mix in sorted(mixes, key=lambda mix: -mixes[mix].read_share):
        table.add_row(mix, *_means([c for c in comparisons if _named(c)[1] == mix]))
    table.add_section()
    table.add_row("all", *_means(comparisons), style="bold")
    table.add_row("target", f"{PEAKS:.0%}", f"{LATENCIES:.0%}", "-")
    return table


def _means(comparisons: Sequence[Comparison]) -> tuple[str, str, str]:
    predicted = [c for c in comparisons if c.curve.role == "validation"]
    groups = (
        [c.peak_error for c in predicted],
        [error for c in comparisons for error in c.below_knee()],
        [simulated / silicon - 1 for silicon, simulated in (c.full_load() for c in comparisons)],
    )
    peaks, latency, full = (f"{mean(errors):.1%} of {len(errors)}" if errors else "-" for errors in groups)
    return peaks, latency, full
