"""One server design for a mix of applications, by a mixed-integer linear program.

    choose a design (D, X) and a count N of servers; place a fraction d of each application in main memory,
    x in CXL memory, the rest on the SSD

    minimise   N TCO(D, X)
    memory     sum W_i d_i <= N D          sum W_i x_i <= N X          d_i + x_i <= 1
    instance   w_i d_i <= D                w_i x_i <= X
    service    S_i = R_d,i - (R_d,i - 1) d_i - R_d,i (1 - 1/R_c,i) x_i <= max_slowdown_i
    cores      sum n_i v_i S_i <= N V

W_i is the footprint of all n_i instances of application i, w_i that of one, v_i the vCPUs of one, V those of
a server. An instance runs on one server. S_i
is the time of the Abstract Cost Model (`abstract_cost_model`) over the time with all data in main memory.
It is S_i = R_d,i (d_i / R_d,i + x_i / R_c,i + 1 - d_i - x_i). An application slowed by S_i needs S_i
times the cores for the same throughput: that is the cost of slow memory. With one application, cores to
spare and one design, N_cxl / N_baseline is the paper's server ratio. N D is made linear by a binary
variable and a count for each design of which one is chosen.

The solver is HiGHS by its own wheel `highspy` (MIT licence). The HiGHS team keeps it. It is typed, has
manylinux wheels, and needs numpy only and 12 MB. scipy.optimize.milp wraps the same solver in 113 MB, and
PuLP's CBC is no longer developed.

Not modelled: packing of whole instances into servers, contention for bandwidth between applications, pools.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import highspy

from cxlab.error import Code, InputError
from cxlab.plan.applications import Applications
from cxlab.plan.assumption import Study, Values
from cxlab.plan.prices import PriceBook
from cxlab.plan.quantity import GiB, Money
from cxlab.plan.server import ServerDesign, bill


@dataclass(frozen=True)
class Demand:
    """Demand of one application on the fleet, at given values."""

    name: str
    weight: float  # part of the instances, all demands add up to 1
    memory: GiB  # footprint of all its instances
    instance: GiB  # footprint of one
    vcpus: float  # of all its instances, all in main memory
    r_d: float
    r_c: float
    max_slowdown: float

    @property
    def dram_relief(self) -> float:
        """Fall of the slow-down when all of the footprint moves from the SSD to main memory."""
        return self.r_d - 1

    @property
    def cxl_relief(self) -> float:
        """Fall of the slow-down when all of the footprint moves from the SSD to CXL memory."""
        return self.r_d * (1 - 1 / self.r_c)


@dataclass(frozen=True)
class Placement:
    """Placement of an application's footprint, and its slow-down."""

    name: str
    dram: float  # fraction of the footprint
    cxl: float
    slow: float
    slowdown: float  # time over time all in main memory
    max_slowdown: float


@dataclass(frozen=True)
class MixPlan:
    """The cheapest fleet that meets every service level."""

    design: ServerDesign
    servers: int
    tco: Money  # of all servers over their life
    placements: tuple[Placement, ...]
    mean_slowdown: float  # over instances


def demands(applications: Applications, values: Values) -> list[Demand]:
    """Return the demand of each application; shares are scaled so that they add up to 1."""
    total = sum(values[f"{name}.share"] for name in applications.names)
    result = []
    for name in applications.names:
        weight = values[f"{name}.share"] / total
        instances = weight * values["fleet.instances"]
        result.append(
            Demand(
                name,
                weight,
                GiB(instances * values[f"{name}.footprint"]),
                GiB(values[f"{name}.footprint"]),
                instances * values[f"{name}.vcpus"],
                values[f"{name}.r_d"],
                values[f"{name}.r_c"],
                values[f"{name}.max_slowdown"],
            )
        )
    return result


def cheapest(
    applications: Applications, values: Values, cxl_choices: Sequence[GiB], mean_limit: float | None = None
) -> MixPlan:
    """Return the cheapest fleet whose servers have one of `cxl_choices` of CXL memory.

    `mean_limit` bounds the mean slow-down over instances. Raises `InputError` if no fleet meets them.
    """
    asked = demands(applications, values)
    for demand in asked:
        if demand.r_c > demand.r_d:
            valid = f"1 <= r_c <= r_d = {demand.r_d:g}"
            raise InputError(Code.OUT_OF_RANGE, f"{demand.name}.r_c", f"is {demand.r_c:g}", valid)
    designs = [ServerDesign(dram, cxl) for dram in applications.dram_choices for cxl in cxl_choices]
    costs = [bill(design, values).tco for design in designs]
    program = _Program(asked, values["server.vcpus"], mean_limit)
    chosen, servers = program.cheapest(designs, costs)
    placements = program.fastest(designs[chosen], servers)
    mean = sum(d.weight * p.slowdown for d, p in zip(asked, placements, strict=True))
    return MixPlan(designs[chosen], servers, Money(servers * costs[chosen]), placements, mean)


def mix_study(applications: Applications, book: PriceBook) -> Study:
    """Return the saving of the best fleet over the best without CXL, as a function of every input."""

    def saving(values: Values) -> float:
        without = cheapest(applications, values, [GiB(0.0)])
        return 1 - cheapest(applications, values, applications.cxl_choices).tco / without.tco

    return Study("TCO saving", (*applications.assumptions, *book.assumptions()), saving)


#: By how much a constraint may be missed, in both programs: the second places pages on the fleet that the
#: first finds. The solver takes 1e-10 at least.
FEASIBILITY = 1e-9

#: More than anybody runs: a solver's integers end at 2^31.
MOST_SERVERS = 1e9


def _constrain(model: highspy.Highs, constraint: highspy.highs.highs_linear_expression) -> None:
    """Add a constraint. Raises `InputError` for coefficients that the solver cannot weigh."""
    try:
        model.addConstr(constraint)
    # The solver raises nothing narrower.
    except Exception as error:
        raise InputError(
            Code.OUT_OF_RANGE,
            "applications",
            "figures are so far apart that no fleet can be computed",
            "products of instances, footprint, vcpus and r_d below 1e15",
        ) from error


class _Program:
    """The linear program of the module's docstring; built anew for each of its two objectives."""

    def __init__(self, asked: list[Demand], vcpus: float, mean_limit: float | None) -> None:
        self.asked = asked
        self.vcpus = vcpus
        self.mean_limit = mean_limit

    def cheapest(self, designs: list[ServerDesign], costs: list[Money]) -> tuple[int, int]:
        """Return the index of the cheapest design and its count of servers."""
        model = _silent()
        counts, picks = [], []
        for design, cost in zip(designs, costs, strict=True):
            most = self._most_servers(design)
            counts.append(model.addIntegral(lb=0, ub=most, obj=float(cost)))
            picks.append(model.addBinary())
            _constrain(model, counts[-1] - most * picks[-1] <= 0)
        _constrain(model, model.qsum(picks) == 1)
        places = self._places(model)
        d, x = places
        memories = [design.dram for design in designs], [design.cxl for design in designs]
        of_one = [
            model.qsum(size * pick for size, pick in zip(sizes, picks, strict=True)) for sizes in memories
        ]
        for a, *parts in zip(self.asked, d, x, strict=True):
            for part, size in zip(parts, of_one, strict=True):
                _constrain(model, a.instance * part - size <= 0)
        dram = model.qsum(design.dram * n for design, n in zip(designs, counts, strict=True))
        cxl = model.qsum(design.cxl * n for design, n in zip(designs, counts, strict=True))
        _constrain(model, model.qsum(a.memory * di for a, di in zip(self.asked, d, strict=True)) - dram <= 0)
        _constrain(model, model.qsum(a.memory * xi for a, xi in zip(self.asked, x, strict=True)) - cxl <= 0)
        _constrain(model, self._cores(model, places) - self.vcpus * model.qsum(counts) <= 0)
        model.minimize()
        if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            which = "fleet" if any(design.cxl for design in designs) else "fleet without CXL memory"
            raise InputError(
                Code.INFEASIBLE,
                "fleet",
                f"no {which} found ({model.modelStatusToString(model.getModelStatus())})",
                "service levels that some design can meet",
                "relax max_slowdown, or allow more memory in [server] dram and cxl",
            )
        chosen = max(range(len(designs)), key=lambda i: model.val(counts[i]))
        return chosen, round(model.val(counts[chosen]))

    def fastest(self, design: ServerDesign, servers: int) -> tuple[Placement, ...]:
        """Return the placement with the least mean slow-down on that fleet, which its cost leaves open."""
        model = _silent()
        places = self._places(model)
        d, x = places
        slack = 1 + FEASIBILITY  # the integer program's answer is feasible within its tolerance only
        for a, di, xi in zip(self.asked, d, x, strict=True):
            _constrain(model, a.instance * di <= design.dram * slack)
            _constrain(model, a.instance * xi <= design.cxl * slack)
        dram, cxl = servers * design.dram * slack, servers * design.cxl * slack
        _constrain(model, model.qsum(a.memory * di for a, di in zip(self.asked, d, strict=True)) <= dram)
        _constrain(model, model.qsum(a.memory * xi for a, xi in zip(self.asked, x, strict=True)) <= cxl)
        _constrain(model, self._cores(model, places) <= self.vcpus * servers * slack)
        model.minimize(self._mean(model, places))
        if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise InputError(
                Code.INFEASIBLE,
                "fleet",
                f"no placement on the fleet found ({model.modelStatusToString(model.getModelStatus())})",
                "figures within a factor of 1e9 of each other: finer ones are below the solver's tolerance",
            )
        result = []
        for a, di, xi in zip(self.asked, d, x, strict=True):
            dram_part, cxl_part = (min(max(0.0, float(model.val(v))), 1.0) for v in (di, xi))
            slowdown = a.r_d - a.dram_relief * dram_part - a.cxl_relief * cxl_part
            slow = max(1 - dram_part - cxl_part, 0.0)
            result.append(Placement(a.name, dram_part, cxl_part, slow, max(slowdown, 1.0), a.max_slowdown))
        return tuple(result)

    def _most_servers(self, design: ServerDesign) -> int:
        """Bound the count: with all memory in DRAM nothing is slowed, and the cores follow.

        An instance that DRAM is too small for is slowed, as far as its service level allows.
        """
        memory = sum(a.memory for a in self.asked)
        fits = all(a.instance <= design.dram for a in self.asked)
        vcpus = sum(a.vcpus * (1 if fits else min(a.max_slowdown, a.r_d)) for a in self.asked)
        in_cxl = 0 if fits or not design.cxl else memory / design.cxl
        servers = memory / design.dram + in_cxl + vcpus / self.vcpus
        if servers > MOST_SERVERS:
            raise InputError(
                Code.INFEASIBLE,
                "fleet",
                f"it takes {servers:.3g} servers",
                f"{MOST_SERVERS:g} servers at most",
            )
        return math.ceil(memory / design.dram) + math.ceil(in_cxl) + math.ceil(vcpus / self.vcpus)

    def _places(self, model: highspy.Highs) -> _Places:
        """Add the fractions in main memory and in CXL memory, and the service levels."""
        places: _Places = ([], [])
        for a in self.asked:
            d, x = model.addVariable(lb=0, ub=1), model.addVariable(lb=0, ub=1)
            _constrain(model, d + x <= 1)
            _constrain(model, a.dram_relief * d + a.cxl_relief * x >= a.r_d - a.max_slowdown)
            places[0].append(d)
            places[1].append(x)
        if self.mean_limit is not None:
            _constrain(model, self._mean(model, places) <= self.mean_limit)
        return places

    def _weighted(
        self, model: highspy.Highs, places: _Places, weights: list[float]
    ) -> highspy.highs.highs_linear_expression:
        """Return the sum of S_i by weight."""
        constant = sum(w * a.r_d for w, a in zip(weights, self.asked, strict=True))
        reliefs = (
            w * a.dram_relief * d + w * a.cxl_relief * x
            for w, a, d, x in zip(weights, self.asked, *places, strict=True)
        )
        total: highspy.highs.highs_linear_expression = constant - model.qsum(reliefs)
        return total

    def _cores(self, model: highspy.Highs, places: _Places) -> highspy.highs.highs_linear_expression:
        return self._weighted(model, places, [a.vcpus for a in self.asked])

    def _mean(self, model: highspy.Highs, places: _Places) -> highspy.highs.highs_linear_expression:
        return self._weighted(model, places, [a.weight for a in self.asked])


_Places = tuple[list[highspy.highs.highs_var], list[highspy.highs.highs_var]]

#: Of the solver, for a good answer before the best. A program here has some dozen variables. To prove which
#: answer is best takes half as long as these.
SEARCHES = (
    "mip_heuristic_run_feasibility_jump",
    "mip_heuristic_run_rens",
    "mip_heuristic_run_rins",
    "mip_heuristic_run_root_reduced_cost",
    "mip_allow_restart",
)


@contextmanager
def _without_banner() -> Iterator[None]:
    """From 1.16 on the solver prints a banner to descriptor 1 before it can be told not to."""
    c = ctypes.CDLL(None)
    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:
        # Nobody listens there.
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
        c.fflush(None)
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _silent() -> highspy.Highs:
    """Return a solver that prints nothing and stops at the proven optimum."""
    with _without_banner():
        model = highspy.Highs()  # type: ignore[no-untyped-call]
    model.silent()
    model.setOptionValue("mip_rel_gap", 0.0)
    model.setOptionValue("threads", 1)
    for search in SEARCHES:
        model.setOptionValue(search, False)
    for tolerance in ("mip_feasibility_tolerance", "primal_feasibility_tolerance"):
        model.setOptionValue(tolerance, FEASIBILITY)
    return model
