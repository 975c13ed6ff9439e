"""Quantities of ``cxlab plan cost``, as they are typed or measured: R_d, R_c, C, R_t and capacities."""

from __future__ import annotations

from cxlab.cli.plan_prices import read_book
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


def throughput(
    r_d: str | None, r_c: str | None, from_runs: tuple[str, ...], throughputs: tuple[str, ...]
) -> tuple[Assumption, Assumption]:
    """Return R_d and R_c, typed or measured."""
    if not from_runs and not throughputs:
        for flag, text in (("--r-d", r_d), ("--r-c", r_c)):
            if text is None:
                raise InputError(
                    Code.MISSING, flag, "is not there", f"{flag} {QUANTITY}, or --from-run, --throughput"
                )
        assert r_d is not None and r_c is not None
        return (
            ratio("r_d", r_d, abstract_cost_model.R_D_RANGE),
            ratio("r_c", r_c, abstract_cost_model.R_C_RANGE),
        )
    if r_c is not None:
        raise InputError(
            Code.CONFLICT, "--r-c", "given beside measurements", "one of --r-c, --from-run and --throughput"
        )
    runs = [run for argument in from_runs for run in read_runs(argument)]
    runs += [read_throughput(argument) for argument in throughputs]
    typed = None if r_d is None else ratio("r_d", r_d, abstract_cost_model.R_D_RANGE)
    measured = measure(runs, None if typed is None else typed.value)
    provenance = Provenance(Origin.MEASURED, measured.source, "as the runs are")
    first = typed or ratio("r_d", measured.r_d, abstract_cost_model.R_D_RANGE, provenance)
    return first, ratio("r_c", measured.r_c, abstract_cost_model.R_C_RANGE, provenance)


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


def tco(
    r_t: str | None, dram: str | None, prices: str | None, settings: tuple[str, ...]
) -> Assumption | PricedServers:
    """Return R_t as typed, or the servers whose bills give it."""
    if r_t is not None:
        if prices is not None or settings:
            flag = "--prices" if prices is not None else "--set"
            raise InputError(Code.CONFLICT, flag, "given beside --r-t", "a typed --r-t, or prices, not both")
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
    return PricedServers(memory, read_book(prices, settings))
