"""``cxlab bench ... --host``: the same options, measured on this machine by cxlab-memo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from cxlab.bench import host, plot
from cxlab.bench.request import PAGES, Mix, Placement, Workload, parse_size
from cxlab.error import Code, InputError
from cxlab.file_format import Format
from cxlab.output import write_json

#: Options that choose a simulated machine's memory.
SIMULATED = ("machine", "interleave", "weighted_interleave", "page_tables")
#: What every bench of this host takes.
ALWAYS = {"host", "node", "json_file"}
#: What else each takes. A bench that is missing here has no program for this host.
TAKEN = {
    "latency": {"pages", "sizes", "whole"},
    "memo": {"pages"},
    "stream": {"threads"},
    "bandwidth": {"threads", "mix", "store", "pattern", "plot_file", "beside"},
    "loaded-latency": {
        *("threads", "mix", "store", "pattern", "delay", "whole", "plot_file", "beside"),
    },
    "mess": {"threads", "mixes", "store", "plot_file", "beside"},
}
#: The largest buffer of `latency --sweep`.
LARGEST = "1GiB"


def measure(bench: str, given: dict[str, Any]) -> int:
    """Run a bench on this host with the options of the simulated one: the exit status.

    Raises:
        InputError: an option that only a simulated machine has, or memo refuses.

    """
    _refuse_others(bench)
    node: str | None = given["node"]
    if node is not None and not node.isdecimal():
        raise InputError(
            Code.HOST, "--node", f"`{node}` is no node of this host", "its number, as in --node 0"
        )
    workload, arguments = _asked(bench, given)
    memo = "loaded-latency" if bench == "mess" else bench
    outcome = host.run(memo, None if node is None else int(node), arguments, workload)
    click.echo(outcome.text, nl=False)
    document = {**outcome.document(), "bench": bench}
    if bench == "mess":
        document["mix"] = given["mixes"].split(",")
    if given["json_file"] is not None:
        write_json(given["json_file"], document, Format.BENCH)
    if given.get("plot_file") is not None:
        _plot(given["plot_file"], outcome, document, given["beside"])
    return 0 if outcome.complete else host.INTERRUPTED


def _refuse_others(bench: str) -> None:
    """Refuse each option of the command line that cxlab-memo would not hear of."""
    taken = TAKEN.get(bench)
    if taken is None:
        valid = "without --host, or one of these: " + ", ".join(f"bench {name}" for name in TAKEN)
        raise InputError(Code.HOST, f"bench {bench} --host", "cxlab-memo has no such bench", valid)
    context = click.get_current_context()
    for option in context.command.params:
        name = option.name or ""
        given = context.get_parameter_source(name) not in (None, ParameterSource.DEFAULT)
        if given and name not in ALWAYS | taken:
            flag = option.opts[0]
            if name in SIMULATED:
                found, valid = "chooses memory of a simulated machine", "with --host: --node N"
            else:
                found, valid = "is of the simulated bench alone", f"with --host: no {flag}"
            raise InputError(Code.HOST, flag, found, valid)


def _asked(bench: str, given: dict[str, Any]) -> tuple[Workload, list[str]]:
    """The workload as results have it, and memo's options."""
    mix = Mix.parse(given.get("mix", "1:0"))
    store, pattern = given.get("store", "ordinary"), given.get("pattern", "sequential")
    threads = given.get("threads", 0)
    arguments = []
    source = click.get_current_context().get_parameter_source("threads")
    if "threads" in given and source is not ParameterSource.DEFAULT:
        arguments += ["--threads", str(threads)]
    pages = given.get("pages", PAGES[0])
    if click.get_current_context().get_parameter_source("pages") not in (None, ParameterSource.DEFAULT):
        arguments += ["--pages", pages]
    match bench:
        case "loaded-latency":
            delay = given["delay"]
            if (delay is None) != given["whole"]:
                raise InputError(
                    Code.BENCH, "--delay, --sweep", "none or both are given", "exactly one of them"
                )
            arguments += ["--sweep"] if delay is None else ["--delay", str(delay)]
            arguments += ["--mix", str(mix), "--store", store, "--pattern", pattern]
        case "mess":
            mixes = [str(Mix.parse(text.strip())) for text in given["mixes"].split(",")]
            arguments += ["--sweep", "--mix", ",".join(mixes), "--store", store]
        case "bandwidth":
            arguments += ["--mix", str(mix), "--store", store, "--pattern", pattern]
        case "latency":
            sizes = given["sizes"]
            if len(sizes) + given["whole"] > 1:
                raise InputError(
                    Code.HOST, "--size, --sweep", "are given more than once", "with --host: one of them, once"
                )
            if given["whole"]:
                arguments += ["--sweep", "--size", LARGEST]
            elif sizes:
                arguments += ["--size", parse_size(sizes[0])]
        case _:
            pass
    placement = Placement((("", 1),))
    return Workload("", placement, threads, mix, store, pattern, pages=pages), arguments


def _plot(path: Path, outcome: host.HostResult, document: dict[str, Any], beside: tuple[Path, ...]) -> None:
    lines = [*plot.of_document(document), *(line for file in beside for line in plot.read(file))]
    plot.curves(path, f"{outcome.workload.machine}, {outcome.workload.placement}", lines)
