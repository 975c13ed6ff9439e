"""The Abstract Cost Model: how many servers with CXL memory do the work of a baseline cluster, at what TCO.

    baseline server   [ MMEM: D ]                 + SSD   throughput R_d | 1
    CXL server        [ MMEM: D ][ CXL: D/C ]     + SSD   throughput R_d | R_c | 1

R_d and R_c are the throughput of one server with the whole working set in main memory and in CXL memory.
Both are over P_s, its throughput with (almost) all of it spilled to SSD. A working set W then takes

    T_baseline = N_b D / R_d + (W - N_b D)
    T_cxl      = N_c D / R_d + N_c D / (C R_c) + (W - N_c D - N_c D / C)

At the same performance T_baseline = T_cxl, and W drops out. Let g_d = 1 - 1/R_d and g_c = 1 - 1/R_c. These
are the times that a byte saves by being in main memory or in CXL memory instead of on the SSD. Then

    N_b D g_d = N_c D (g_d + g_c / C)

    server ratio  N_c / N_b = g_d / (g_d + g_c / C)
                            = C R_c (R_d - 1) / (R_c R_d (C + 1) - C R_c - R_d)      (the paper's form)
    TCO saving              = 1 - R_t N_c / N_b

Example in the paper: R_d = 10, R_c = 8, C = 2 gives 67.29 %, so 32.71 % fewer servers; R_t = 1.1 saves
25.98 %.

Limits: C -> infinity or R_c = 1 (CXL no better than the SSD) gives 1; R_c = R_d gives C / (C + 1), plain
memory.

Not modelled: bandwidth contention, processors (a server's compute never binds), part of a server. Holds only
while the working set still spills: W >= N_c D (1 + 1/C); `holds_for` checks it.

Source: Tang et al., "Exploring Performance and Cost Optimization with ASIC-Based CXL Memory", EuroSys'24,
section 6 and table 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from cxlab.error import Code, InputError
from cxlab.plan.quantity import GiB, Range

SOURCE = "Tang et al., EuroSys'24, section 6"

R_D_RANGE = Range(1.0, low_open=True)  # 1 would mean that main memory is no faster than the SSD
R_C_RANGE = Range(1.0)  # up to R_d, which `AbstractCost` checks
C_RANGE = Range(1e-6)  # a MiB of main memory for a TiB of CXL memory
R_T_RANGE = Range(0.0, low_open=True)


@dataclass(frozen=True)
class AbstractCost:
    """The inputs of table 3. All are ratios. Raises `InputError` where the model is not defined."""

    r_d: float  # throughput all in main memory / all on SSD
    r_c: float  # throughput all in CXL memory / all on SSD
    c: float  # main memory capacity / CXL capacity of a CXL server
    r_t: float  # TCO of a CXL server / TCO of a baseline server

    def __post_init__(self) -> None:
        """Check the ranges, and that R_c does not exceed R_d."""
        for name, value, valid in (
            ("R_d", self.r_d, R_D_RANGE),
            ("R_c", self.r_c, R_C_RANGE),
            ("C", self.c, C_RANGE),
            ("R_t", self.r_t, R_T_RANGE),
        ):
            if value not in valid:
                sign = "<" if valid.low_open else "<="
                raise InputError(Code.OUT_OF_RANGE, name, f"is {value:g}", f"{valid.low:g} {sign} {name}")
        if self.r_c > self.r_d:
            raise InputError(
                Code.OUT_OF_RANGE,
                "R_c",
                f"is {self.r_c:g}, above R_d",
                f"1 <= R_c <= R_d = {self.r_d:g}",
                "CXL memory cannot be faster than main memory in this model",
            )

    @property
    def main_memory_gain(self) -> float:
        """g_d: share of its SSD time that a byte saves in main memory."""
        return 1 - 1 / self.r_d

    @property
    def cxl_gain(self) -> float:
        """g_c: share of its SSD time that a byte saves in CXL memory."""
        return 1 - 1 / self.r_c

    @property
    def server_ratio(self) -> float:
        """N_cxl / N_baseline at equal performance."""
        return self.main_memory_gain / (self.main_memory_gain + self.cxl_gain / self.c)

    @property
    def tco_saving(self) -> float:
        """1 - TCO_cxl / TCO_baseline; negative where CXL costs more."""
        return 1 - self.r_t * self.server_ratio

    @property
    def break_even_r_t(self) -> float:
        """R_t at which the saving is nil: above it, CXL costs more."""
        return 1 / self.server_ratio

    @property
    def break_even_r_c(self) -> float | None:
        """R_c at which the saving is nil, or None where no R_c in 1..R_d breaks even.

        R_t g_d = g_d + g_c / C gives g_c = C g_d (R_t - 1), and R_c = 1 / (1 - g_c).
        """
        gain = self.c * self.main_memory_gain * (self.r_t - 1)
        if gain < 0 or gain > self.main_memory_gain:
            return None
        return min(1 / (1 - gain), self.r_d)

    def servers(self, baseline: int) -> int:
        """Whole servers with CXL that replace `baseline` servers."""
        if baseline < 1:
            raise InputError(Code.OUT_OF_RANGE, "servers", f"is {baseline}", "1 <= servers")
        exact = self.server_ratio * baseline
        return math.ceil(exact - 1e-9 * baseline)  # an exact ratio must not round up by a float's last bit

    def holds_for(self, working_set: GiB, dram: GiB, servers: float) -> None:
        """Check that a working set still spills on the CXL cluster. Raises `InputError`.

        `dram` is D, a server's main memory; `servers` is N_baseline.
        """
        memory = self.server_ratio * servers * dram * (1 + 1 / self.c)
        if working_set < memory:
            raise InputError(
                Code.OUT_OF_RANGE,
                "working set",
                f"is {working_set:,.0f} GiB",
                f"N_cxl D (1 + 1/C) = {memory:,.0f} GiB <= working set",
                "the model compares clusters that still spill to the SSD; use `cxlab plan mix`",
            )
