"""Links that are trained anew during a run: ``--retrain NODE=WIDTH,RATE[,TIME]``.

What the model does with it: crates/model/src/machine/retraining.rs.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass

from cxlab import border
from cxlab.run.errors import BadRequest
from cxlab.run.machine import Machine
from cxlab.run.options.option import Context, Effect, Option

#: CXL 2.0, chapter 6: what a link of 68 B flits trains to, degraded modes included.
WIDTHS = ("x1", "x2", "x4", "x8", "x16")
RATES = ("8GT/s", "16GT/s", "32GT/s")


@dataclass(frozen=True)
class Retraining:
    """The links of a node's devices, from a moment on."""

    node: str
    #: place of the node in the machine's file
    place: int
    width: str
    #: "16 GT/s"
    rate: str
    #: since detail began, "2 ms"
    at: str

    def job(self) -> border.Retraining:
        """The retraining as the model takes it."""
        return {"node": self.place, "at": self.at, "lanes": self.width, "rate": self.rate}


def parse(text: str, machine: Machine) -> Retraining:
    """``cxl=x8,16GT/s,2ms``; from the beginning where no time is given.

    Raises:
        BadRequest: another form, a node without CXL links, or more than its links have.

    """
    form = re.fullmatch(r"([^=]+)=(x\d+),\s*(\d+)\s*GT/s(?:,\s*(\d+(?:\.\d+)?)\s*(ns|us|ms|s))?", text)
    if form is None or form[2] not in WIDTHS or f"{form[3]}GT/s" not in RATES:
        raise BadRequest(
            f"--retrain {text}: this is not NODE=WIDTH,RATE[,TIME], as in cxl=x8,16GT/s,2ms; valid "
            f"widths: {', '.join(WIDTHS)}; rates: {', '.join(RATES)}; times in ns, us, ms, s"
        )
    node = machine.node(form[1])
    if node.devices is None:
        raise BadRequest(f"--retrain {text}: the memory of {node.name} has no CXL link. Name a CXL node")
    most_width, most_rate = machine.link(node)
    if WIDTHS.index(form[2]) > WIDTHS.index(most_width) or int(form[3]) > int(most_rate.split()[0]):
        raise BadRequest(
            f"--retrain {text}: the links of {node.name} are {most_width} at {most_rate}. Give no more"
        )
    at = f"{form[4]} {form[5]}" if form[4] else "0 ns"
    return Retraining(node.name, node.place, form[2], f"{form[3]} GT/s", at)


def _effect(texts: tuple[str, ...], context: Context) -> Effect:
    retrainings = [parse(text, context.machine) for text in texts]
    return Effect(
        config={"retrainings": [asdict(retraining) for retraining in retrainings]},
        model={"retrainings": [retraining.job() for retraining in retrainings]},
    )


OPTION: Option[tuple[str, ...]] = Option(
    "--retrain",
    "Slow a node's CXL links down to this width and rate, TIME after timing began. Repeatable.  "
    "[default: none]  Example: cxl=x8,16GT/s,2ms",
    {"multiple": True, "metavar": "NODE=WIDTH,RATE[,TIME]"},
    _effect,
)
