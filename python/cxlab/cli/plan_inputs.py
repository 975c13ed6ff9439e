"""Quantities of ``cxlab plan cost``, as they are typed or measured: R_d, R_c, C, R_t and capacities."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cxlab.cli.option_group import grouped
from cxlab.cli.plan_prices import Prices
from cxlab.error import Code, InputError
from cxlab.plan import abstract_cost_model
from cxlab.plan.assumption import Assumption, Origin, Provenance
from cxlab.plan.cost_study import PricedServers
from cxlab.plan.quantity import Dimension, Interval, Range, parse
from cxlab.plan.runs import measure, read_runs, read_throughput

QUANTITY = "N, LOW..HIGH or 'N in LOW..HIGH'"

_MEANINGS = {
    "r_d": "R_d, throughput all in main memory over all on SSD",
    "r_c": "R_c, throughput all in CXL memory over all on SSD",
    "c": "C, main memory over CXL memory of a CXL server",
    "r_t": "R_t, TCO of a CXL server over a baseline server",
}


@dataclass(frozen=True)
class Relative:
    """R_d and R_c, typed or to be measured."""

    r_d: str | None
    r_c: str | None
    from_runs: tuple[str, ...]
    throughputs: tuple[str, ...]

    def throughput(self) -> tuple[Assumption, Assumption]:
        """Return R_d and R_c."""
        typed = None if self.r_d is None else ratio("r_d", self.r_d, abstract_cost_model.R_D_RANGE)
        if not self.from_runs and not self.throughputs:
            if typed is None or self.r_c is None:
                flag = "--r-d" if typed is None else "--r-c"
                raise InputError(
                    Code.MISSING, flag, "is not there", f"{flag} {QUANTITY}, or --from-run, --throughput"
                )
            return typed, ratio("r_c", self.r_c, abstract_cost_model.R_C_RANGE)
        if self.r_c is not None:
            raise InputError(
                Code.CONFLICT,
                "--r-c",
                "given beside measurements",
                "one of --r-c, --from-run and --throughput",
            )
        runs = [run for argument in self.from_runs for run in read_runs(argument)]
        runs += [read_throughput(argument) for argument in self.throughputs]
        measured = measure(runs, None if typed is None else typed.value)
        provenance = Provenance(Origin.MEASURED, measured.source, "as the runs are")
        first = typed or ratio("r_d", measured.r_d, abstract_cost_model.R_D_RANGE, provenance)
        return first, ratio("r_c", measured.r_c, abstract_cost_model.R_C_RANGE, provenance)


relative = grouped(
    "relative",
    Relative,
    click.option(
        "--r-d",
        metavar=QUANTITY,
        help="R_d: throughput with all data in main memory, divided by that with all data on SSD.  "
        "Example: 10",
    ),
    click.option(
        "--r-c",
        metavar=QUANTITY,
        help="R_c: throughput with all data in CXL memory, divided by that with all data on SSD.  Example: 8",
    ),
    click.option(
        "--from-run",
        "from_runs",
        multiple=True,
        metavar="[TIER=]PATH",
        help="Take R_d and R_c from results of `cxlab run` or `cxlab bench`. Repeatable.  Example: cxl=out",
    ),
    click.option(
        "--throughput",
        "throughputs",
        multiple=True,
        metavar="'TIER=N UNIT'",
        help="Take R_d and R_c from figures of a benchmark. Repeatable.  Example: 'cxl=81 kops/s'",
    ),
)


@dataclass(frozen=True)
class Cluster:
    """Servers of the baseline, their memory, and what it must hold."""

    dram: str | None
    servers: int | None
    working_set: str | None


cluster = grouped(
    "cluster",
    Cluster,
    click.option(
        "--dram",
        metavar="CAPACITY",
        help="D: main memory of a server. With prices, gives R_t.  Example: '512 GiB'",
    ),
    click.option("--servers", type=int, help="Number of servers of the baseline cluster.  Example: 100"),
    click.option(
        "--working-set",
        metavar="CAPACITY",
        help="Check that the model holds for this working set. Needs --dram and --servers.",
    ),
)


def ratio(key: str, value: str | Interval, valid: Range, provenance: Provenance | None = None) -> Assumption:
    """A ratio of the model: typed, or measured where `provenance` says so."""
    flag = f"--{key.replace('_', '-')}"
    interval = value if isinstance(value, Interval) else parse(value, Dimension.RATIO, flag)
    typed = provenance or Provenance(Origin.TYPED, flag, "this command")
    return Assumption(
        key, _MEANINGS[key], Dimension.RATIO, interval, valid, typed, flag if not provenance else "--from-run"
    )


def capacity(flag: str, text: str) -> Interval:
    """A capacity as it is typed."""
    return parse(text, Dimension.CAPACITY, flag)


def tco(r_t: str | None, dram: str | None, prices: Prices) -> Assumption | PricedServers:
    """Return R_t as typed, or the servers whose bills give it."""
    if r_t is not None:
        if prices.flag is not None:
            raise InputError(
                Code.CONFLICT, prices.flag, "given beside --r-t", "a typed --r-t, or prices, not both"
            )
        return ratio("r_t", r_t, abstract_cost_model.R_T_RANGE)
    if dram is None:
        valid = "--r-t RATIO, or --dram CAPACITY so that the price book gives R_t"
        raise InputError(Code.MISSING, "--r-t", "is not there", valid)
    memory = Assumption(
        "dram",
        "D, main memory of either server",
        Dimension.CAPACITY,
        capacity("--dram", dram),
        Range(0.0, low_open=True),
        Provenance(Origin.TYPED, "--dram", "this command"),
        "--dram",
    )
    return PricedServers(memory, prices.read())
