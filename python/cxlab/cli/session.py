"""A session with a guest. `cxlab run`, `boot` and `caption` use it once they know what is to run."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import click

from cxlab import model, whole_file
from cxlab.asked_machine import AskedMachine
from cxlab.bench import key_figures
from cxlab.cli import results
from cxlab.error import RefusedByModel
from cxlab.file_format import Format
from cxlab.output import write_json, write_parquet
from cxlab.run import machine as description
from cxlab.run import program_file
from cxlab.run.errors import BadRequest, KeepFailed, ModelError
from cxlab.run.guest import artefacts, initramfs, kernel_image
from cxlab.run.guest.checkpoint import Checkpoint
from cxlab.run.guest.protocol import Identity, Program
from cxlab.run.host import checkpointing, host_memory, installed_qemu, jail, supervisor
from cxlab.run.host.jail import Confinement
from cxlab.run.host.keep import Keep
from cxlab.run.host.progress import Goal, Progress
from cxlab.run.interruption import Interrupted, Interruption
from cxlab.run.options import (
    boot,
    bounds,
    confinement,
    cxl,
    date,
    detail,
    disk,
    environment,
    files,
    placement,
    plot,
    processors,
    profile,
    sampling,
    simulated,
    table,
    timeline,
    timeout,
)
from cxlab.run.options.option import Context, Given
from cxlab.run.request import Outcome, Request
from cxlab.run.results import earlier, summary
from cxlab.run.results.plot import over_time
from cxlab.run.results.run_directory import RunDirectory
from cxlab.run.results.series import ends_s

#: Files that a run writes where the options say.
WRITTEN = (files.JSON, files.RECORD, timeline.TIMELINE, plot.OPTION)


@dataclass(frozen=True)
class Asked:
    """The request: the program once the machine is known, the name of its results, its terminal."""

    program: Callable[[description.Machine], Program]
    name: str
    terminal: bool = False
    #: copy written files here
    keep: Path | None = None
    #: the program goes on from this checkpoint
    checkpoint: Checkpoint | None = None
    #: the program is a placement controller: what takes its log, once there is a folder for it
    steering: Callable[[RunDirectory, Progress], Callable[[bytes], None]] | None = None


def run(given: Given, asked: Asked) -> int:
    """Check what can be checked without a machine, then boot; the exit status."""
    with Interruption() as interruption:
        try:
            with interruption.allowed():
                request, qemu_version = prepare(given, asked)
                confinement_of_run = confined(given[confinement.JAIL], given[confinement.HIDE])
                directory = RunDirectory.create(
                    given[files.OUT], asked.name, overwrite=given[files.OVERWRITE]
                )
                keeping = Keep(asked.keep) if asked.keep is not None else nullcontext()
                for file in files.check(given, WRITTEN):
                    for left in whole_file.remove_leftovers(file):
                        _say_removed(left)
        except Interrupted as interrupted:
            return 128 + interrupted.number

        with keeping as kept:
            if kept is not None:
                request = request.keeping(kept.arriving)
                for left in kept.removed:
                    _say_removed(left)
            progress = Progress(directory.partial_summary, advice=advice(given))
            if asked.steering is not None:
                request = replace(request, steering=asked.steering(directory, progress))
            write_json(directory.config, summary.config(request, qemu_version), Format.CONFIG)
            if (before := earlier.run(directory.path)) is not None:
                progress.goal = Goal.of_earlier("run", before)
            outcome = supervisor.run(request, directory, confinement_of_run, interruption, progress)
            if kept is not None and outcome.exit is not None and outcome.complete:
                try:
                    kept.accept(outcome.exit.files)
                except KeepFailed as failure:
                    outcome.failure = failure

        write_results(request, outcome, qemu_version, directory, given[files.JSON])
        plotted = given[plot.OPTION]
        if plotted is not None:
            _draw(plotted, request, outcome)
        results.show(request, outcome, directory, asked.keep, everything=given[detail.STATS])
        return summary.exit_status(outcome)


def write_results(
    request: Request, outcome: Outcome, qemu_version: str, directory: RunDirectory, also: Path | None = None
) -> None:
    """The summary, counters over time, every statistic; a run that was cut short may lack the latter two."""
    document = summary.summary(request, outcome, qemu_version)
    for path in (directory.summary, also):
        if path is not None:
            write_json(path, document, Format.SUMMARY)
    simulated = outcome.simulated
    if simulated is not None and simulated.series is not None:
        columns = {name: array("d", values) for name, values in simulated.series.items()}
        write_parquet(directory.series, columns, Format.SERIES)
    if simulated is not None and simulated.statistics is not None:
        write_json(directory.statistics, model.document(simulated.statistics), Format.STATISTICS)


def _draw(path: Path, request: Request, outcome: Outcome) -> None:
    """The run over time; a run that was cut short may lack it."""
    simulated = outcome.simulated
    if simulated is None or simulated.series is None or not ends_s(simulated.series):
        click.echo(f"cxlab: --plot {path}: not drawn, because the run has no series over time", err=True)
        return
    title = f"{request.machine.name}, {request.program.placement.text}"
    over_time(path, title, simulated.series, list(simulated.nodes), request.machine.frequency_ghz)


def confined(mode: str, hide: tuple[Path, ...] = ()) -> Confinement:
    """The jail that was asked for; what the user should know of it is said on standard error."""
    found = jail.find(confinement.Mode(mode), hide)
    for warning in jail.warnings(found):
        click.echo(f"cxlab: {warning}", err=True)
    return found


def _say_removed(left: Path) -> None:
    click.echo(f"cxlab: removed {left}, which a killed run had left", err=True)


def host_memory_bytes() -> int:
    """Return the memory of this host [bytes]."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def working_folder() -> str:
    """The caller's, where the program runs."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise BadRequest(
            "the working folder was deleted; valid: a folder that exists. Change to one with cd"
        ) from None


def placed(
    given: Given, argv: tuple[str, ...], more: Mapping[str, str] | None = None
) -> Callable[[description.Machine], Program]:
    """The program of a command line, in this folder, with more variables than the caller has asked for.

    Where its pages go is known once the machine is.
    """

    def on(machine: description.Machine) -> Program:
        policy = placement.parse(machine, **placement.policies(given))
        variables, folder = environment.of(given) | dict(more or {}), working_folder()
        program_file.check(argv[0], folder, variables)
        return Program(argv, folder, Identity.of_caller(), variables, policy)

    return on


def prepare(given: Given, asked: Asked) -> tuple[Request, str]:
    """Check what can be checked without a machine: the request, and the version of QEMU."""
    table.refuse_without_detail(given)
    files.check(given, WRITTEN)
    plot.check(given[plot.OPTION])
    shown = timeline.parse(given[timeline.TIMELINE], given[timeline.WINDOW])
    machine = load_machine(AskedMachine(given[simulated.MACHINE], simulated.settings(given)))
    cpus = processors.parse_cpus(given[processors.CPUS], machine)
    _refuse_sampling(given, asked)
    if given[sampling.SAMPLE] is not None and cpus > 1:
        click.echo(f"cxlab: {sampling.NOT_SHOWN}", err=True)
    bounds_of_run = bounds.of(given)
    begins = bounds_of_run.begins
    if begins is not None and given[detail.DETAIL] == detail.MARKER:
        raise BadRequest(
            f"{begins.flag} with --detail marker: two beginnings. Leave --detail out, "
            f"or give no {begins.flag}"
        )
    node_bytes = placement.parse_memory(given[placement.MEMORY], machine)
    host_memory.check_boot(machine, node_bytes, host_memory.HostMemory().available_bytes())
    if warning := placement.beyond_this_host(node_bytes, host_memory_bytes()):
        click.echo(f"cxlab: {warning}", err=True)
    machine, topology = cxl.of(given, machine, node_bytes)
    program = asked.program(machine)
    executed = program_file.find(program.argv[0], program.cwd, program.environment)
    effect = table.effect(given, Context(machine, topology, executed))
    on_drive = disk.content(given, machine)
    timeout_seconds = timeout.seconds(given)
    qemu_version = installed_qemu.check_version()
    if given[detail.DETAIL] != detail.OFF:
        artefacts.built(artefacts.QEMU_PLUGIN)
    init = artefacts.built(artefacts.GUEST_INIT)
    image = kernel_image.cached() or _fetch_kernel()
    record = given[files.RECORD]
    request = Request(
        machine=machine,
        node_bytes=node_bytes,
        cpus=cpus,
        program=program,
        detail=given[detail.DETAIL],
        bounds=bounds_of_run,
        kernel=image.vmlinux,
        initramfs=initramfs.ensure(image, init),
        effect=effect,
        record=None if record is None else record.absolute(),
        timeline=shown,
        profile=given[profile.OPTION],
        topology=topology,
        disk=on_drive,
        date=date.seconds(given),
        terminal=asked.terminal,
        timeout_seconds=timeout_seconds,
        saved_boot=boot.begins_saved(given),
        checkpoint=asked.checkpoint,
    )
    if asked.checkpoint is not None:
        checkpointing.refuse_others(asked.checkpoint, request)
    return request, qemu_version


def load_machine(machine: AskedMachine) -> description.Machine:
    """The machine, each node with what the bench measures.

    Raises:
        ModelError: the model refuses the machine, in its own words and with its own code.

    """
    try:
        return description.from_figures(machine, key_figures.described(machine))
    except RefusedByModel as error:
        raise ModelError(error.model_code, str(error)) from None


def advice(given: Given) -> str | None:
    """Return the advice for a long run; None: --sample auto would change nothing, or is refused."""
    own_end = given[detail.DETAIL] != detail.ALL or given[bounds.FROM_OUTPUT] is not None
    whole = (files.RECORD, timeline.TIMELINE, profile.OPTION, sampling.SAMPLE)
    if own_end or given[processors.CPUS] > 1 or any(given.is_set(option) for option in whole):
        return None
    return sampling.ADVICE


def _refuse_sampling(given: Given, asked: Asked) -> None:
    sampled, warm_up = given[sampling.SAMPLE] is not None, given[sampling.WARM_UP]
    if sampled and given[timeline.TIMELINE] is not None:
        raise BadRequest("--sample with --timeline: between windows nothing is timed. Give one of the two")
    profile.check(sampled=sampled, profiled=given[profile.OPTION])
    if asked.steering is not None and (sampled or warm_up):
        raise BadRequest("--sample and --warm-up: a controller reads counters at any time. Leave both out")
    if warm_up and given[detail.DETAIL] != detail.MARKER and not any(map(given.is_set, bounds.BEGINNINGS)):
        raise BadRequest(
            "--warm-up applies only before a marker, a text or a function. Add --detail marker, "
            "--from-output TEXT or --from-symbol NAME"
        )


def _fetch_kernel() -> kernel_image.KernelImage:
    click.echo("cxlab: downloading and unpacking the guest's kernel (once, about 110 MB)", err=True)
    return kernel_image.ensure()
