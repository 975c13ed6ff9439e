"""The Abstract Cost Model as a study: its inputs with intervals, R_t typed or from the price book.

R_d, R_c, C ------------------------------> server ratio --+
R_t, typed ------------------------------+                 +--> TCO saving = 1 - R_t * server ratio
D, C, prices -> bill of both servers -> R_t -----------------+
"""

from __future__ import annotations

from dataclasses import dataclass

from cxlab.error import Code, InputError
from cxlab.plan.abstract_cost_model import AbstractCost
from cxlab.plan.assumption import Assumption, Study, Values
from cxlab.plan.prices import PriceBook
from cxlab.plan.quantity import GiB
from cxlab.plan.server import Bill, ServerDesign, bill

MOST_MEMORY = GiB(2.0**22)  # 2^52 bytes: Intel SDM volume 3A, section 4.1.4, MAXPHYADDR is at most 52


@dataclass(frozen=True)
class PricedServers:
    """R_t from the bill of a server with and without CXL memory."""

    dram: Assumption  # D: main memory of either server [GiB]
    book: PriceBook


@dataclass(frozen=True)
class CostStudy:
    """One application, one CXL server against one baseline server."""

    r_d: Assumption
    r_c: Assumption
    c: Assumption
    r_t: Assumption | PricedServers

    def __post_init__(self) -> None:
        """Check that R_c stays at or below R_d as either moves over its interval. Raises `InputError`."""
        r_d, r_c = self.r_d.value, self.r_c.value
        if r_c.high > r_d.nominal or r_c.nominal > r_d.low:
            found = f"is {self.r_c.show()}, above R_d, which is {self.r_d.show()}"
            valid = f"1 <= R_c <= {r_d.low:g}, and its interval up to R_d = {r_d.nominal:g}"
            raise InputError(Code.OUT_OF_RANGE, f"R_c ({self.r_c.field})", found, valid)

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """Every input of the study."""
        ratios = (self.r_d, self.r_c, self.c)
        if isinstance(self.r_t, PricedServers):
            return (*ratios, self.r_t.dram, *self.r_t.book.assumptions())
        return (*ratios, self.r_t)

    def model(self, values: Values) -> AbstractCost:
        """Return the Abstract Cost Model at `values`. Raises `InputError` outside its domain."""
        if isinstance(self.r_t, PricedServers):
            baseline, cxl = self.bills(values)
            r_t = cxl.tco / baseline.tco
        else:
            r_t = values["r_t"]
        return AbstractCost(values["r_d"], values["r_c"], values["c"], r_t)

    def bills(self, values: Values) -> tuple[Bill, Bill]:
        """Return the bill of the baseline server and of the CXL server; only with prices."""
        dram = GiB(values["dram"])
        cxl = GiB(values["dram"] / values["c"])
        if not cxl <= MOST_MEMORY:
            valid = f"C with D / C <= {MOST_MEMORY:g} GiB, all that 52-bit physical addresses reach"
            raise InputError(Code.OUT_OF_RANGE, "C", f"gives {cxl:g} GiB of CXL memory", valid)
        return bill(ServerDesign(dram, GiB(0.0)), values), bill(ServerDesign(dram, cxl), values)

    def study(self) -> Study:
        """Return the TCO saving as a function of every input."""
        return Study("TCO saving", self.assumptions, lambda values: self.model(values).tco_saving)

    def break_even_price(self, values: Values) -> float | None:
        """Return the CXL memory price [currency/GiB] that saves nothing; None if free memory loses too.

        The CXL server's TCO is linear in that price with slope D/C: with TCO_cxl(0) that at price 0,
        p = (TCO_baseline / ratio - TCO_cxl(0)) C/D.
        """
        free = {**values, "cxl_memory_price": 0.0}
        baseline, cxl = self.bills(free)
        price = (baseline.tco / self.model(free).server_ratio - cxl.tco) * values["c"] / values["dram"]
        return price if price >= 0 else None
