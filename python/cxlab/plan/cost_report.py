"""The report of `cxlab plan cost`: the model's result, its break-even points and its uncertainty."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
from rich.console import Console

from cxlab.output import facts, write_csv
from cxlab.plan import abstract_cost_model, plot
from cxlab.plan.abstract_cost_model import AbstractCost
from cxlab.plan.assumption import Assumption, Study
from cxlab.plan.cost_study import CostStudy, PricedServers
from cxlab.plan.output import (
    assumptions_csv,
    grid_csv,
    grid_json,
    percent,
    print_assumptions,
    spread_json,
    tornado_csv,
    tornado_json,
)
from cxlab.plan.quantity import show
from cxlab.plan.uncertainty import Bar, Grid, Spread, grid, spread, tornado

POINTS = 61  # on a break-even line and on either side of a heat map


class CostReport:
    """A cost study, evaluated as far as it is asked for."""

    def __init__(self, cost: CostStudy, draws: int, seed: int) -> None:
        """Evaluate the model at nominal values. Raises `InputError` outside its domain."""
        self.cost = cost
        self.draws = draws
        self.seed = seed
        self.study: Study = cost.study()
        self.values = self.study.nominal()
        self.model: AbstractCost = cost.model(self.values)
        self.servers: tuple[int, int] | None = None  # baseline, with CXL

    def count_servers(self, baseline: int) -> None:
        """Take the size of the baseline cluster."""
        self.servers = baseline, self.model.servers(baseline)

    @cached_property
    def bars(self) -> list[Bar]:
        """Bars of the tornado."""
        return tornado(self.study)

    @cached_property
    def spread(self) -> Spread | None:
        """The spread, all inputs at once."""
        return spread(self.study, self.draws, self.seed)

    @property
    def lever(self) -> Assumption:
        """Return the input that stands for the price of CXL: that of its memory, or R_t if it was typed."""
        return self.study.find("cxl_memory_price" if isinstance(self.cost.r_t, PricedServers) else "r_t")

    @cached_property
    def break_even_lever(self) -> float | None:
        """CXL memory price, or R_t, at which the saving is nil."""
        if isinstance(self.cost.r_t, PricedServers):
            return self.cost.break_even_price(self.values)
        return self.model.break_even_r_t

    @cached_property
    def heat_map(self) -> Grid:
        """The saving over the lever and R_c."""
        return grid(self.study, self.lever.key, "r_c", self._lever_axis(), self._r_c_axis())

    def _lever_axis(self) -> list[float]:
        value, even = self.lever.value, self.break_even_lever or 0.0
        low = 1.0 if self.lever.key == "r_t" else 0.0
        high = max(low + 0.2, value.high * 1.15, low + 1.25 * (even - low))
        return [float(x) for x in np.linspace(min(low, value.low), high, POINTS)]

    def _r_c_axis(self) -> list[float]:
        return [float(y) for y in np.linspace(1.0, self.values["r_d"], POINTS)]

    @property
    def verdict(self) -> str:
        """One sentence: whether CXL memory pays, and how sure that is."""
        saving, model = self.model.tco_saving, self.model
        sure = "" if self.spread is None else f"; it pays in {self.spread.chance_positive:.0%} of the draws"
        work = f"the same work takes {percent(model.server_ratio)} of the servers"
        if saving > 0:
            return f"CXL memory pays: {work} and costs {percent(saving)} less{sure}."
        return f"CXL memory does not pay: {work} and costs {percent(-saving)} more{sure}."

    def print(self, console: Console) -> None:
        """Print the verdict, then the figures behind it."""
        console.print(f"{self.verdict}\n", style="bold", highlight=False)
        table = facts()
        model = self.model
        table.add_row("servers with CXL / baseline servers", f"[bold]{percent(model.server_ratio)}[/]")
        table.add_row("fewer servers", percent(1 - model.server_ratio))
        table.add_row("R_t", f"{model.r_t:.4f}")
        table.add_row("TCO saving", f"[bold]{percent(model.tco_saving)}[/]")
        if self.servers is not None:
            table.add_row(
                "servers", f"{self.servers[0]} baseline, {self.servers[1]} with CXL (whole servers)"
            )
        table.add_row("break-even R_c", self._even(self.study.find("r_c"), model.break_even_r_c))
        table.add_row(f"break-even, {self.lever.meaning}", self._even(self.lever, self.break_even_lever))
        if isinstance(self.cost.r_t, PricedServers):
            for name, bill in zip(
                ("baseline server", "CXL server"), self.cost.bills(self.values), strict=True
            ):
                money = self.cost.r_t.book.currency
                energy = f"{bill.power:,.0f} W, energy {bill.opex_per_year:,.0f} {money} a year"
                table.add_row(name, f"capex {bill.capex:,.0f} {money}, {energy}, TCO {bill.tco:,.0f} {money}")
        if self.spread is not None:
            table.add_row("all intervals at once", describe(self.spread))
        console.print(table)
        for bar in self.bars[:5]:
            console.print(
                f"  {bar.assumption.key}: {bar.assumption.show()} -> saving "
                f"{percent(bar.at_low)} .. {percent(bar.at_high)}",
                highlight=False,
            )
        console.print(f"\n{abstract_cost_model.SOURCE}", style="dim")
        print_assumptions(console, self.study.assumptions)

    def _even(self, a: Assumption, value: float | None) -> str:
        return "none: no valid value breaks even" if value is None else show(value, a.dimension, a.currency)

    def as_json(self) -> dict[str, object]:
        """Return everything; fractions are 0..1."""
        model = self.model
        content: dict[str, object] = {
            "model": abstract_cost_model.SOURCE,
            "r_d": model.r_d,
            "r_c": model.r_c,
            "c": model.c,
            "r_t": model.r_t,
            "server_ratio": model.server_ratio,
            "server_reduction": 1 - model.server_ratio,
            "tco_saving": model.tco_saving,
            "break_even": {"r_c": model.break_even_r_c, self.lever.key: self.break_even_lever},
            "servers": None
            if self.servers is None
            else dict(zip(("baseline", "cxl"), self.servers, strict=True)),
            "spread": spread_json(self.spread),
            "tornado": tornado_json(self.bars),
            "heat_map": grid_json(self.heat_map),
            "assumptions": [a.as_json() for a in self.study.assumptions],
        }
        if isinstance(self.cost.r_t, PricedServers):
            baseline, cxl = self.cost.bills(self.values)
            content["price_book"] = {"name": self.cost.r_t.book.name, "date": self.cost.r_t.book.date}
            content["bills"] = {"baseline": vars(baseline), "cxl": vars(cxl)}
        return content

    def _line(self, a: Assumption, axis: list[float], even: float | None) -> plot.Line:
        saving = [self.study.evaluate({**self.values, a.key: x}) for x in axis]
        return plot.Line(a, axis, saving, even)

    def write_plots(self, folder: Path) -> list[Path]:
        """Draw every figure and write its CSV beside it."""
        lines = [
            self._line(self.study.find("r_c"), self._r_c_axis(), self.model.break_even_r_c),
            self._line(self.lever, self._lever_axis(), self.break_even_lever),
        ]
        written = plot.save(
            folder, "break_even", lambda: plot.break_even_figure("TCO saving and where it is nil", lines)
        )
        rows = [(line.x.key, x, s) for line in lines for x, s in zip(line.x_values, line.saving, strict=True)]
        write_csv(folder / "break_even.csv", ["input", "value", "saving"], rows)
        title = "TCO saving of CXL memory, one application"
        written += plot.save(folder, "heat_map", lambda: plot.heat_map_figure(title, self.heat_map))
        grid_csv(folder / "heat_map.csv", self.heat_map)
        if self.bars:
            written += plot.save(
                folder,
                "tornado",
                lambda: plot.tornado_figure(
                    "What the TCO saving depends on", self.model.tco_saving, self.bars, self.spread
                ),
            )
            tornado_csv(folder / "tornado.csv", self.bars)
        assumptions_csv(folder / "assumptions.csv", self.study.assumptions)
        return written


def describe(spread: Spread) -> str:
    """Write a spread for people."""
    text = (
        f"{percent(spread.p5)} .. {percent(spread.p95)} (5th .. 95th percentile of {spread.draws:,} draws), "
        f"positive in {100 * spread.chance_positive:.0f} %"
    )
    if spread.dropped:
        text += f"; {spread.dropped:,} draws outside the model (as R_c above R_d) left out"
    return text
