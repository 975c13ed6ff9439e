"""``cxlab workload``: real programs with their data, sizes and measures."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from cxlab import model
from cxlab.border import RunResult
from cxlab.cli import session
from cxlab.cli.output_file import json_option
from cxlab.cli.repository import ROOT
from cxlab.cli.sections import Sectioned
from cxlab.error import Code, InputError
from cxlab.file_format import Format
from cxlab.output import console, facts, say, table, write_json
from cxlab.run.errors import OWN_ERROR, BadRequest
from cxlab.run.host import supervisor
from cxlab.run.host.progress import Goal, Progress
from cxlab.run.interruption import Interrupted, Interruption
from cxlab.run.options import (
    confinement,
    disk,
    environment,
    files,
    placement,
    plot,
    processors,
    sampling,
    simulated,
    timeline,
)
from cxlab.run.options import detail as detail_options
from cxlab.run.options import table as options_table
from cxlab.run.options.option import Given
from cxlab.run.results import summary
from cxlab.run.results.run_directory import RunDirectory, fresh
from cxlab.workload import description, measures, prepared, repeats
from cxlab.workload.description import Value, Workload
from cxlab.workload.written import Measured, Ran, Written

#: The workloads of a checkout.
SHIPPED = ROOT / "workloads"
#: Options of a run that a workload decides itself, or that are of one run alone.
NOT_OURS = (
    processors.CPUS,
    detail_options.DETAIL,
    detail_options.STATS,
    files.JSON,
    files.RECORD,
    sampling.SAMPLE,
    sampling.SEED,
    sampling.WARM_UP,
    timeline.TIMELINE,
    timeline.WINDOW,
    plot.OPTION,
)
OPTIONS = tuple(option for option in options_table.GUEST if option not in NOT_OURS)


@click.group(
    "workload",
    help="List, show and run real programs with data and measures.\n\nExample: cxlab workload run redis-ycsb",
)
def command() -> None:
    """A group."""


def find(name: str) -> Workload:
    """A workload that is shipped, or that of a folder."""
    folders = description.shipped(SHIPPED)
    if name in folders:
        return description.load(folders[name])
    if Path(name).is_dir():
        return description.load(Path(name))
    valid = ", ".join(folders) or "a folder with a workload.toml"
    next_step = "or the path of a folder with a workload.toml"
    raise InputError(Code.WORKLOAD, name, "is no workload", valid, next_step)


@command.command("list", help="List the workloads.\n\nExample: cxlab workload list")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def list_workloads(as_json: bool) -> None:
    """Name, kind, whether its packages are here."""
    rows = [description.load(folder) for folder in description.shipped(SHIPPED).values()]
    if as_json:
        click.echo(json.dumps([_row(workload) for workload in rows], indent=2))
        return
    shown = table(("name", "program", "ready", "what it is"), left=3, fold=1, plain=True)
    for workload in rows:
        ready = "no" if prepared.missing(workload) else "yes"
        shown.add_row(workload.name, workload.document.program, ready, workload.document.about)
    console().print(shown)
    say(
        "If a workload is not ready, `cxlab workload show NAME` says what is missing, and "
        "`scripts/setup workloads` gets it."
    )


def _row(workload: Workload) -> dict[str, Any]:
    return {
        "name": workload.name,
        "folder": str(workload.folder),
        "program": workload.document.program,
        "about": workload.document.about,
        "missing": prepared.missing(workload),
    }


@command.command(
    "show", help="Show what a workload runs and measures.\n\nExample: cxlab workload show redis-ycsb"
)
@click.argument("name")
def show(name: str) -> None:
    """Everything that workload.toml says."""
    workload = find(name)
    document, out = workload.document, console()
    say(workload.subject, "  ")
    rows = facts()
    rows.add_row("folder", str(workload.folder))
    cpus = document.cpus if isinstance(document.cpus, int) else f"`{document.cpus}`"
    rows.add_row("runs", f"{document.script}, on {cpus} processors of the guest")
    for kind, packages in (("Debian", document.debian), ("PyPI", document.pypi)):
        for package, version in packages.items():
            rows.add_row("needs", f"{kind} package {package} {version}")
    for fault in prepared.missing(workload):
        rows.add_row("missing", f"{fault}: scripts/setup workloads, or {prepared.install_command(workload)}")
    out.print(rows)
    shown = table(("parameter", "default", "what it is"), left=2, fold=1, plain=True)
    for key, parameter in document.parameters.items():
        valid = f" ({', '.join(map(str, parameter.values))})" if parameter.values else ""
        shown.add_row(key, str(parameter.default), parameter.about + valid)
    out.print(shown)
    shown = table(("size", "values", "what it is"), left=2, fold=1, plain=True)
    for key, size in document.sizes.items():
        shown.add_row(key, ", ".join(f"{k}={v}" for k, v in size.values.items()), size.about)
    out.print(shown)
    shown = table(("measure", "unit", "what it is"), left=2, fold=1, plain=True)
    for key, measure in document.measures.items():
        shown.add_row(key, measure.unit, f"{measure.about}; better: {measure.better}")
    out.print(shown)
    say(f"What the result means. {' '.join(document.means.split())}")


@command.command(
    "run",
    cls=Sectioned,
    help="Run a workload, and print what it measures.\n\nNAME is one of `cxlab workload "
    "list`, or a folder.\n\nExample: cxlab workload run redis-ycsb --membind cxl --seeds 5",
    epilog="Exit status: 0; 125 if the simulator fails, 128 + n if a signal ended it, else the program's.",
)
@click.argument("name")
@click.option(
    "--size",
    default="paper-ratio",
    show_default=True,
    metavar="SIZE",
    help="Size of the workload. `cxlab workload show NAME` lists its sizes.  Example: tiny",
)
@click.option(
    "--with",
    "asked",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a parameter of the workload, or a value of its size. Repeatable.  Example: workload=c",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of runs, each with a seed of its own. Two or more give intervals.  Example: 5",
)
@json_option
@partial(options_table.declare, (*OPTIONS, *placement.POLICIES))
def run(
    name: str, size: str, asked: tuple[str, ...], seeds: int, json_file: Path | None, **values: Any
) -> int:
    """A run for each seed, then one table."""
    workload = find(name)
    chosen = workload.values(size, asked)
    given = _given(workload, chosen, values)
    click.echo(workload.subject)
    with Interruption() as interruption:
        runs = _Runs(workload, chosen, given, seeds, interruption, given[files.OUT])
        try:
            found = [runs.run(seed) for seed in range(seeds)]
        except Interrupted as interrupted:
            return 128 + interrupted.number
        except _Ended as ended:
            return ended.status
    _report(workload, size, chosen, [measured for measured, _ in found])
    if json_file is not None:
        write_json(json_file, model.document(_document(runs, size, found)), Format.WORKLOAD)
    click.echo(f"cxlab: results: {runs.folder}", err=True)
    return 0


def _document(runs: _Runs, size: str, found: list[Found]) -> Written:
    """Make the document: what ran, each measure of each seed, and what each run took."""
    settings: tuple[str, ...] = runs.given[simulated.SET]
    policies = placement.policies(runs.given).items()
    return Written(
        size=size,
        workload=runs.workload.name,
        subject=runs.workload.subject,
        values=runs.chosen,
        machine=runs.given[simulated.MACHINE],
        set=list(settings),
        placement=" ".join(f"--{key.replace('_', '-')} {text}" for key, text in policies if text),
        measures={
            measure: Measured(about.unit, [measured[measure] for measured, _ in found])
            for measure, about in runs.workload.document.measures.items()
        },
        runs=[_ran(seed, result) for seed, (_, result) in enumerate(found)],
    )


class _Ended(Exception):
    """A run did not come to an end that can be measured."""

    def __init__(self, status: int) -> None:
        """Keep the status that the command ends with."""
        super().__init__(status)
        self.status = status


def _ran(seed: int, result: RunResult) -> Ran:
    """Return the model's figures of a seed's run."""
    return Ran(seed, _instructions(result), result.simulated_seconds, result.ipc, result.nodes)


def _instructions(result: RunResult) -> int:
    return result.instructions.user + result.instructions.kernel


def _given(workload: Workload, chosen: dict[str, Value], values: dict[str, Any]) -> Given:
    """The options of the runs: the user's, and those that the workload decides."""
    decided = {
        option.key: option.settings.get("default", False if option.settings.get("is_flag") else None)
        for option in NOT_OURS
    }
    decided[processors.CPUS.key] = workload.cpus(chosen)
    decided[detail_options.DETAIL.key] = detail_options.MARKER
    decided[sampling.WARM_UP.key] = workload.warm_up(chosen)
    decided[sampling.SAMPLE.key] = workload.sample(chosen)
    return Given({**decided, **values})


def _on_disk(given: Given, workload: Workload, ready: prepared.Prepared) -> Given:
    """The options of a run whose workload has its data on the machine's drive."""
    if workload.document.disk is None:
        return given
    for option in (disk.DISK_AT, disk.DISK_FROM):
        if given.is_set(option):
            raise BadRequest(
                f"{option.flag}: {workload.name} has its own data on its disk, at {disk.DISK_AT.default}. "
                f"Leave {option.flag} out"
            )
    decided = {
        disk.DISK.key: given[disk.DISK] or workload.document.disk,
        disk.DISK_AT.key: disk.DISK_AT.default,
        disk.DISK_FROM.key: ready.data,
    }
    return Given({**given.values, **decided})


#: What a run measured, and what the model says of it.
Found = tuple[dict[str, float], RunResult]


@dataclass
class _Runs:
    """A run for each seed."""

    workload: Workload
    chosen: dict[str, Value]
    given: Given
    seeds: int
    interruption: Interruption
    #: made when the first run is sure to begin
    folder: Path | None
    #: the last run's, which tells about how many instructions the next one takes
    earlier: RunResult | None = None

    def run(self, seed: int) -> Found:
        """One run in a guest.

        Raises:
            _Ended: the program failed, or the simulator did.
            Interrupted: somebody asked for an end.

        """
        script = str(self.workload.folder / self.workload.document.script)
        with self.interruption.allowed():
            ready = prepared.prepare(self.workload, self.chosen, seed)
            variables = ready.variables(self.workload, self.chosen, seed) | environment.of_seed(seed)
            given = _on_disk(self.given, self.workload, ready)
            placed = session.placed(given, ("sh", script), variables)
            request, qemu_version = session.prepare(given, session.Asked(placed, self.workload.name))
            jail = session.confined(self.given[confinement.JAIL], self.given[confinement.HIDE])
            directory = self._directory(seed)
        write_json(directory.config, summary.config(request, qemu_version), Format.CONFIG)
        goal = None if self.earlier is None else Goal.of_earlier("seed", self.earlier)
        progress = Progress(directory.partial_summary, of=f"seed {seed + 1} of {self.seeds}: ", goal=goal)
        said, complained = directory.path / "stdout", directory.path / "stderr"
        with said.open("wb") as output, complained.open("wb") as error:
            outputs = (output.fileno(), error.fileno())
            outcome = supervisor.run(
                replace(request, outputs=outputs), directory, jail, self.interruption, progress
            )
        session.write_results(request, outcome, qemu_version, directory)
        if isinstance(outcome.failure, Interrupted):
            raise outcome.failure
        status = summary.exit_status(outcome)
        if status != 0 or outcome.simulated is None:
            self._say_last(complained)
            why = outcome.failure or f"the program ended with status {status}"
            click.echo(f"cxlab: {self.workload.name}: {why}; see {directory.path}", err=True)
            raise _Ended(status or OWN_ERROR)
        if outcome.simulated.simulated_seconds == 0:
            self._say_untimed(complained)
            raise _Ended(OWN_ERROR)
        self.earlier = outcome.simulated
        return measures.read(self.workload, said.read_text(errors="replace")), outcome.simulated

    def _say_untimed(self, complained: Path) -> None:
        """Nothing was timed: why that may be, and what the script said."""
        self._say_last(complained)
        click.echo(
            f"cxlab: {self.workload.name}: {self.workload.document.script} executed no marker that begins a "
            "region, so nothing was timed; `cxlab marker` prints how C, shell and Python mark one",
            err=True,
        )

    def _say_last(self, complained: Path) -> None:
        for line in complained.read_text(errors="replace").splitlines()[-5:]:
            click.echo(f"cxlab: {self.workload.name}: {line}", err=True)

    def _directory(self, seed: int) -> RunDirectory:
        if self.folder is None:
            self.folder = fresh(f"workload-{self.workload.name}")
        out = self.folder if self.seeds == 1 else self.folder / f"seed{seed}"
        return RunDirectory.create(out, self.workload.name, overwrite=self.given[files.OVERWRITE])


def _report(workload: Workload, size: str, chosen: dict[str, Value], found: list[dict[str, float]]) -> None:
    values = ", ".join(f"{name}={value}" for name, value in chosen.items())
    shown = table(
        ("measure", "unit", "mean", "95 % interval"),
        left=2,
        title=f"{workload.name}, {size}: {values}",
        plain=True,
    )
    for name, measure in workload.document.measures.items():
        estimate = repeats.of_values([measured[name] for measured in found])
        interval = "one seed" if estimate.low is None else f"{estimate.low:,.6g} to {estimate.high:,.6g}"
        shown.add_row(name, measure.unit, f"{estimate.value:,.6g}", interval)
    console().print(shown)
