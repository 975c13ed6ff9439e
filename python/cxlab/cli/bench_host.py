"""``cxlab bench ... --host``: the same options, measured on this machine by cxlab-memo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from cxlab.bench import host, plot
from cxlab.bench.request import PAGES, Mix, Placement, Workload
from cxlab.error import Code, InputError
from cxlab.file_format import Format
from cxlab.output import write_json

#: Options that choose a simulated machine's memory.
SIMULATED = ("machine", "interleave", "weighted_interleave", "page_tables")
#: Options that cxlab-memo's load threads and chase have not.
BENCH_ALONE = ("isa", "chase")


def measure(bench: str, given: dict[str, Any]) -> int:
    """Run a bench on this host with the options of the simulated one: the exit status.

    Raises:
        InputError: an option that only a simulated machine has, or memo refuses.

    """
    for option in SIMULATED:
        if given.get(option) is not None:
            flag = f"--{option.replace('_', '-')}"
            raise InputError(
                Code.HOST, flag, "chooses memory of a simulated machine", "with --host: --node N"
            )
    for option in BENCH_ALONE:
        if click.get_current_context().get_parameter_source(option) not in (None, ParameterSource.DEFAULT):
            found = "is of the simulated bench alone"
            raise InputError(Code.HOST, f"--{option}", found, f"with --host: no --{option}")
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
        case _:
            pass
    placement = Placement((("", 1),))
    return Workload("", placement, threads, mix, store, pattern, pages=pages), arguments


def _plot(path: Path, outcome: host.HostResult, document: dict[str, Any], beside: tuple[Path, ...]) -> None:
    lines = [*plot.of_document(document), *(line for file in beside for line in plot.read(file))]
    plot.curves(path, f"{outcome.workload.machine}, {outcome.workload.placement}", lines)
