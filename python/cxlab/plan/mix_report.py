"""The report of `cxlab plan mix`: the fleet, each application's memory, and what the result depends on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from cxlab.error import Code, InputError
from cxlab.output import facts, table
from cxlab.plan import plot
from cxlab.plan.applications import Applications
from cxlab.plan.assumption import Assumption, Origin, Provenance, Study
from cxlab.plan.cost_report import describe
from cxlab.plan.mix import MixPlan, cheapest, mix_study
from cxlab.plan.output import (
    assumptions_csv,
    grid_csv,
    grid_json,
    pareto_csv,
    percent,
    print_assumptions,
    spread_json,
    tornado_csv,
    tornado_json,
)
from cxlab.plan.pareto import ParetoPoint, pareto
from cxlab.plan.prices import PriceBook
from cxlab.plan.quantity import Dimension, GiB, Interval, Range, show
from cxlab.plan.uncertainty import Bar, Grid, Spread, grid, last_positive, spread, tornado

BOUNDS = 10  # on the mean slow-down, for each frontier
CELLS = 9  # on either side of the heat map: each is two integer programs
HIGHEST_PRICE = 1000.0  # currency/GiB; the search for a break-even price ends there
CXL_SPEED = "cxl_speed"


@dataclass(frozen=True)
class Exploration:
    """Results of varying the inputs."""

    bars: list[Bar]
    spread: Spread | None
    heat_map: Grid
    frontiers: list[ParetoPoint]
    break_even_price: float | None  # of CXL memory [currency/GiB]; None where CXL never pays, or always
    break_even_speed: float | None  # part of every R_c down to which CXL pays; None where it never does


class MixReport:
    """The cheapest fleet for a mix, and what it depends on."""

    def __init__(self, applications: Applications, book: PriceBook, draws: int, seed: int) -> None:
        """Find the fleets at nominal values. Raises `InputError` where none meets the service levels."""
        self.applications = applications
        self.book = book
        self.draws = draws
        self.seed = seed
        self.study = mix_study(applications, book)
        self.values = self.study.nominal()
        self.plan = cheapest(applications, self.values, applications.cxl_choices)
        self.baseline: MixPlan | None = self._baseline()
        self.exploration: Exploration | None = None

    def _baseline(self) -> MixPlan | None:
        try:
            return cheapest(self.applications, self.values, [GiB(0.0)])
        except InputError as error:
            if error.code is Code.INFEASIBLE:
                return None
            raise

    @property
    def saving(self) -> float | None:
        """TCO saving over the cheapest fleet without CXL memory; None where there is none."""
        return None if self.baseline is None else 1 - self.plan.tco / self.baseline.tco

    @property
    def steps(self) -> int:
        """How many times `explore` calls `advance`."""
        uncertain = sum(not a.value.is_exact for a in self.study.assumptions)
        return 2 * uncertain + (self.draws if uncertain else 0) + CELLS * CELLS + 2 * BOUNDS

    def explore(self, advance: Callable[[], None]) -> None:
        """Vary the inputs; calls `advance` about `steps` times."""
        counted = replace(self.study, evaluate=_counting(self.study, advance))
        frontiers = pareto(self.applications, self.values, BOUNDS, advance)
        self.exploration = Exploration(
            tornado(counted),
            spread(counted, self.draws, self.seed),
            self._heat_map(advance),
            frontiers,
            self._break_even_price(),
            self._break_even_speed(),
        )

    def _price(self) -> Assumption:
        return self.study.find("cxl_memory_price")

    def _heat_map(self, advance: Callable[[], None]) -> Grid:
        """Return the saving over the price of CXL memory and its speed for all applications at once."""
        speed = Assumption(
            CXL_SPEED,
            "speed of CXL memory, R_c over that in the applications file",
            Dimension.RATIO,
            Interval.exactly(1.0),
            Range(0.0, low_open=True),
            Provenance(Origin.TYPED, "heat map", "this command"),
            "heat map",
        )

        def saving(values: Mapping[str, float]) -> float:
            return self.study.evaluate(_at_speed(self.applications, values, values[CXL_SPEED]))

        study = Study(self.study.outcome, (*self.study.assumptions, speed), saving)
        counted = replace(study, evaluate=_counting(study, advance))
        prices = np.linspace(0.0, 1.15 * self._price().value.high, CELLS)
        speeds = np.linspace(0.25, 1.25, CELLS)
        return grid(counted, "cxl_memory_price", CXL_SPEED, list(prices), list(speeds))

    def _break_even_price(self) -> float | None:
        """Return the CXL memory price above which the cheapest fleet has none."""

        def saving(price: float) -> float:
            return self.study.evaluate({**self.values, "cxl_memory_price": price}) - 1e-9

        if self.baseline is None or saving(0.0) <= 0 or saving(HIGHEST_PRICE) > 0:
            return None
        return last_positive(saving, 0.0, HIGHEST_PRICE, 0.01)

    def _break_even_speed(self) -> float | None:
        """Return the part of every R_c below which the cheapest fleet has no CXL memory."""

        def saving(fall: float) -> float:
            return self.study.evaluate(_at_speed(self.applications, self.values, 1 - fall)) - 1e-9

        if self.baseline is None or saving(0.0) <= 0:
            return None
        return 1 - last_positive(saving, 0.0, 1.0, 0.001)  # at speed 0 every R_c is 1: no better than the SSD

    @property
    def verdict(self) -> str:
        """One sentence: whether CXL memory pays."""
        design = self.plan.design
        if not design.cxl:
            return "CXL memory does not pay: the cheapest fleet has none."
        fleet = f"{design.cxl:g} GiB in each of {self.plan.servers} servers"
        if self.saving is None:
            return f"CXL memory is needed: {fleet} meets the service levels, and no fleet without does."
        return f"CXL memory pays: {fleet} saves {percent(self.saving)} over the cheapest fleet without."

    def print(self, console: Console) -> None:
        """Print the verdict, then the figures behind it."""
        console.print(f"{self.verdict}\n", style="bold", highlight=False)
        money = self.book.currency
        told = facts()
        told.add_row("cheapest fleet", f"[bold]{_fleet(self.plan, money)}[/]")
        without = "none meets the service levels" if self.baseline is None else _fleet(self.baseline, money)
        told.add_row("without CXL memory", without)
        if self.saving is not None:
            told.add_row("TCO saving", f"[bold]{percent(self.saving)}[/]")
        if self.exploration is not None:
            even = self.exploration.break_even_price
            price = self._price()
            text = (
                "none" if even is None else f"{show(even, price.dimension, money)} (nominal {price.show()})"
            )
            told.add_row("CXL memory pays up to", text)
            speed = self.exploration.break_even_speed
            text = "no speed" if speed is None else f"{speed:.3f} of every R_c, with its price nominal"
            told.add_row("CXL memory pays down to", text)
            if self.exploration.spread is not None:
                told.add_row("all intervals at once", describe(self.exploration.spread))
        console.print(told)
        console.print(self._placements())
        for bar in self.exploration.bars[:5] if self.exploration else []:
            console.print(
                f"  {bar.assumption.key}: {bar.assumption.show()} -> saving "
                f"{percent(bar.at_low)} .. {percent(bar.at_high)}",
                highlight=False,
            )
        print_assumptions(console, self.study.assumptions)

    def _placements(self) -> Table:
        headings = ("application", "main memory", "CXL memory", "SSD", "slow-down", "at most")
        shown = table(headings, title="Placement", plain=True)
        for p in self.plan.placements:
            parts = (f"{100 * part:.1f} %" for part in (p.dram, p.cxl, p.slow))
            shown.add_row(p.name, *parts, f"{p.slowdown:.3f} x", f"{p.max_slowdown:.3f} x")
        return shown

    def as_json(self) -> dict[str, object]:
        """Return everything; fractions are 0..1."""
        content: dict[str, object] = {
            "applications_file": str(self.applications.path),
            "price_book": {"name": self.book.name, "date": self.book.date},
            "currency": self.book.currency,
            "tco_saving": self.saving,
            "fleet": _plan_json(self.plan),
            "fleet_without_cxl": None if self.baseline is None else _plan_json(self.baseline),
            "assumptions": [a.as_json() for a in self.study.assumptions],
        }
        found = self.exploration
        if found is not None:
            content |= {
                "break_even": {"cxl_memory_price": found.break_even_price, CXL_SPEED: found.break_even_speed},
                "spread": spread_json(found.spread),
                "tornado": tornado_json(found.bars),
                "heat_map": grid_json(found.heat_map),
                "pareto": [{"cxl_allowed": p.with_cxl, **_plan_json(p.plan)} for p in found.frontiers],
            }
        return content

    def write_plots(self, folder: Path) -> list[Path]:
        """Draw every figure and write its CSV beside it; needs `explore` before."""
        found = self.exploration
        assert found is not None, "write_plots before explore"
        names = ", ".join(self.applications.names)
        title = f"Fleet for {names}"
        written = plot.save(
            folder, "pareto", lambda: plot.pareto_figure(title, found.frontiers, self.book.currency)
        )
        pareto_csv(folder / "pareto.csv", found.frontiers, self.book.currency)
        if np.isfinite(found.heat_map.outcome).any():
            written += plot.save(
                folder,
                "heat_map",
                lambda: plot.heat_map_figure(
                    title, found.heat_map, "TCO saving (0 %: no CXL memory is bought)"
                ),
            )
            grid_csv(folder / "heat_map.csv", found.heat_map)
        saving = self.saving
        if saving is not None and found.bars:
            written += plot.save(
                folder, "tornado", lambda: plot.tornado_figure(title, saving, found.bars, found.spread)
            )
            tornado_csv(folder / "tornado.csv", found.bars)
        assumptions_csv(folder / "assumptions.csv", self.study.assumptions)
        return written


def _counting(study: Study, advance: Callable[[], None]) -> Callable[[Mapping[str, float]], float]:
    def evaluate(values: Mapping[str, float]) -> float:
        advance()
        return study.evaluate(values)

    return evaluate


def _at_speed(applications: Applications, values: Mapping[str, float], speed: float) -> dict[str, float]:
    """Scale R_c of every application, within 1..R_d."""
    scaled = dict(values)
    for name in applications.names:
        scaled[f"{name}.r_c"] = min(max(values[f"{name}.r_c"] * speed, 1.0), values[f"{name}.r_d"])
    return scaled


def _fleet(plan: MixPlan, money: str) -> str:
    return (
        f"{plan.servers} servers x ({plan.design.dram:g} GiB main memory + {plan.design.cxl:g} GiB CXL), "
        f"TCO {plan.tco:,.0f} {money}, mean slow-down {plan.mean_slowdown:.3f} x"
    )


def _plan_json(plan: MixPlan) -> dict[str, object]:
    return {
        "servers": plan.servers,
        "dram_gib": plan.design.dram,
        "cxl_gib": plan.design.cxl,
        "tco": plan.tco,
        "mean_slowdown": plan.mean_slowdown,
        "placements": [vars(placement) for placement in plan.placements],
    }
