"""The spare-core revenue of section 4.3: selling vCPUs that main memory alone leaves without memory.

    vCPUs   [ sold with main memory: ratio / optimal ][ spare: sold with CXL memory at a discount ]

A server with `ratio` GiB of main memory per vCPU, sold at `optimal` GiB per vCPU, can sell ratio / optimal
of its vCPUs. CXL memory lets the rest be sold too, at a discount for its lower performance:

    sold before = ratio / optimal        recovered = (1 - sold before) (1 - discount)
    improvement = recovered / sold before

The paper's example: ratio 3, optimal 4, discount 20 %: 75 % sold, 25 % spare, 80 % of the lost revenue
recovered, 20/75. That is 26.67 %; the paper prints 26.77 % in the formula and 27 % in the text.

Source: Tang et al., EuroSys'24, section 4.3.2; the 12.5 % slow-down behind the discount is its figure 8(b).
Not modelled: demand (every vCPU that has memory is sold), customers who leave because of the slow-down.
"""

from __future__ import annotations

from dataclasses import dataclass

from cxlab.error import Code, InputError
from cxlab.plan.quantity import Dimension, GiB, Range, show

SOURCE = "Tang et al., EuroSys'24, section 4.3.2"
PAPER_NOTE = "20/75 is 26.67 %; the paper prints 26.77 % in the formula and 27 % in the text"


@dataclass(frozen=True)
class SpareCores:
    """The inputs of section 4.3.2. Raises `InputError` outside their ranges."""

    ratio: float  # main memory per vCPU that the server has [GiB]
    optimal: float  # memory per vCPU that instances are sold with [GiB]
    discount: float  # price reduction of an instance on CXL memory [fraction]
    slowdown: float  # throughput lost on CXL memory [fraction]

    def __post_init__(self) -> None:
        """Check each input and that there is something to sell."""
        some, share = Range(0.0, low_open=True), Range(0.0, 1.0)
        for name, value, valid, dimension in (
            ("ratio", self.ratio, some, Dimension.CAPACITY),
            ("optimal", self.optimal, some, Dimension.CAPACITY),
            ("discount", self.discount, share, Dimension.FRACTION),
            # A customer who gets nothing pays nothing.
            ("slowdown", self.slowdown, Range(0.0, 1.0, high_open=True), Dimension.FRACTION),
        ):
            if value not in valid:
                found = f"is {show(value, dimension)}"
                raise InputError(Code.OUT_OF_RANGE, name, found, valid.describe(name, dimension, "USD"))
        if self.ratio > self.optimal:
            raise InputError(
                Code.OUT_OF_RANGE,
                "ratio",
                f"is {self.ratio:g} GiB per vCPU, above optimal",
                f"0 GiB < ratio <= optimal = {self.optimal:g} GiB",
                "such a server has no spare vCPUs",
            )

    @property
    def sold_before(self) -> float:
        """Fraction of the vCPUs that main memory lets the operator sell."""
        return self.ratio / self.optimal

    @property
    def recovered(self) -> float:
        """Revenue of the spare vCPUs, over the revenue of all vCPUs at full price."""
        return (1 - self.sold_before) * (1 - self.discount)

    @property
    def improvement(self) -> float:
        """Revenue with CXL memory over revenue without, less one."""
        return self.recovered / self.sold_before

    @property
    def price_per_performance(self) -> float:
        """Price of a unit of throughput for a customer on CXL memory, over the full price."""
        return (1 - self.discount) / (1 - self.slowdown)

    def cxl_capacity(self, vcpus: int) -> GiB:
        """CXL memory that a server of `vcpus` needs to sell all of them."""
        return GiB((self.optimal - self.ratio) * vcpus)
