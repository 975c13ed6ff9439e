"""A session with a guest: what `cxlab run`, `boot` and `caption` do once they know what is to run in it."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import click

from cxlab.cli import results, statistics
from cxlab.cli.guest_options import GuestOptions
from cxlab.machine import (
    artefacts,
    description,
    initramfs,
    kernel_image,
    placement,
    poison,
    processors,
    qemu,
    retraining,
    sampling,
    summary,
    supervisor,
    timeline,
)
from cxlab.machine.errors import BadRequest, ModelError
from cxlab.machine.guest import Program
from cxlab.machine.interruption import Interrupted, Interruption
from cxlab.machine.keep import Keep
from cxlab.machine.progress import Progress
from cxlab.machine.request import Request
from cxlab.machine.run_directory import RunDirectory, write_json, write_parquet
from cxlab.machine.topology import Attachment, Interleave, Managed, Topology, attach

#: The host's PATH and language do not belong to the guest: a clean start, as env -i and a login shell would
#: give.
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Asked:
    """What is to run: the program once the machine is known, the name of its results, its terminal."""

    program: Callable[[description.Machine], Program]
    name: str
    terminal: bool = False
    #: copy written files here
    keep: Path | None = None
    #: the program is a placement controller: what takes its log, once there is a folder for it
    steering: Callable[[RunDirectory, Progress], Callable[[bytes], None]] | None = None


def run(options: GuestOptions, asked: Asked) -> int:
    """Check what can be checked without a machine, then boot; the exit status."""
    with Interruption() as interruption:
        try:
            with interruption.allowed():
                request, qemu_version = _prepare(options, asked)
                directory = RunDirectory.create(options.out, asked.name)
                keeping = Keep(asked.keep) if asked.keep is not None else nullcontext()
        except Interrupted as interrupted:
            return 128 + interrupted.number

        with keeping as kept:
            request = request.keeping(kept.arriving if kept is not None else None)
            progress = Progress(directory.partial_summary)
            if asked.steering is not None:
                request = replace(request, steering=asked.steering(directory, progress))
            write_json(directory.config, summary.config(request, qemu_version))
            outcome = supervisor.run(request, directory, interruption, progress)
            if kept is not None and outcome.exit is not None and outcome.complete:
                kept.accept(outcome.exit.files)

        document = summary.summary(request, outcome, qemu_version)
        for path in (directory.summary, options.json_file):
            if path is not None:
                write_json(path, document)
        if outcome.series is not None:
            write_parquet(directory.series, outcome.series)
        if outcome.statistics is not None:
            write_json(directory.statistics, outcome.statistics)
            if options.stats:
                for line in statistics.lines(outcome.statistics):
                    click.echo(line, err=True)
        results.show(request, outcome, document, directory, asked.keep)
        return summary.exit_status(outcome)


def _prepare(options: GuestOptions, asked: Asked) -> tuple[Request, str]:
    """The request, and the version of QEMU."""
    _refuse_without_detail(options)
    for option, file in (
        ("--json", options.json_file),
        ("--record", options.record),
        ("--timeline", options.timeline_file),
    ):
        if file is not None and not file.absolute().parent.is_dir():
            raise BadRequest(f"{option} {file}: the folder {file.absolute().parent} does not exist")
    shown = timeline.parse(options.timeline_file, options.window)
    machine = _load(options.machine)
    cpus = processors.parse_cpus(options.cpus, machine)
    sample = sampling.parse(options.sample, options.sample_seed)
    _refuse_sampling(options, asked, cpus)
    skew_ps = processors.parse_skew(options.skew)
    node_bytes = placement.parse_memory(options.memory, machine)
    machine, topology = _attached(options, machine, node_bytes)
    program = asked.program(machine)
    retrainings = tuple(retraining.parse(text, machine) for text in options.retrainings)
    swap_bytes = None if options.swap is None else placement.parse_bytes(options.swap)
    qemu_version = qemu.check_version()
    if options.detail != "off":
        artefacts.built(artefacts.QEMU_PLUGIN)
    init = artefacts.built(artefacts.GUEST_INIT)
    image = kernel_image.cached() or _fetch_kernel()
    request = Request(
        machine=machine,
        node_bytes=node_bytes,
        cpus=cpus,
        skew_ps=skew_ps,
        program=program,
        detail=options.detail,
        kernel=image.vmlinuz,
        initramfs=initramfs.ensure(image, init),
        sample=sample,
        warm_up=options.warm_up,
        record=None if options.record is None else options.record.absolute(),
        timeline=shown,
        topology=topology,
        retrainings=retrainings,
        poison=tuple(poison.parse(text, machine, topology) for text in options.poison),
        scan_period_ms=options.scan_period_ms,
        swap_bytes=swap_bytes,
        terminal=asked.terminal,
    )
    return request, qemu_version


def _refuse_without_detail(options: GuestOptions) -> None:
    asked = {
        "--record": options.record is not None,
        "--timeline": options.timeline_file is not None,
        "--stats": options.stats,
        "--sample": options.sample is not None,
    }
    for option, given in asked.items():
        if given and options.detail == "off":
            raise BadRequest(f"{option} needs detail: with --detail off nothing is timed")


def _refuse_sampling(options: GuestOptions, asked: Asked, cpus: int) -> None:
    if options.sample is not None and cpus > 1:
        raise BadRequest(f"--sample with --cpus {cpus}: a guest of one processor can be sampled")
    if options.sample is not None and options.timeline_file is not None:
        raise BadRequest("--sample with --timeline: between windows there is nothing to show")
    if asked.steering is not None and (options.sample is not None or options.warm_up):
        raise BadRequest("--sample and --warm-up are not for a controller: it asks for counters all the time")
    if options.warm_up and options.detail != "marker":
        raise BadRequest("--warm-up is of what comes before a marker: it needs --detail marker")


def _attached(
    options: GuestOptions, machine: description.Machine, node_bytes: tuple[int, ...]
) -> tuple[description.Machine, Topology]:
    if Attachment(options.attachment) is Attachment.DEVICE:
        interleave = Interleave(options.interleave_ways, options.granularity, options.host_bridges)
        return attach(machine, node_bytes, interleave, Managed(options.managed))
    of_devices = {
        "--managed application": Managed(options.managed) is Managed.APPLICATION,
        "--interleave-ways": options.interleave_ways is not None,
        "--granularity": options.granularity is not None,
        "--host-bridges": options.host_bridges != 1,
    }
    for option, given in of_devices.items():
        if given:
            raise BadRequest(f"{option} is of devices: it needs --cxl device")
    return machine, Topology()


def _load(machine: str) -> description.Machine:
    """The machine; the model's errors become ours, with their codes."""
    door = description.model()
    try:
        return description.load(machine)
    except door.CxlabError as error:
        raise ModelError(getattr(error, "code", ModelError.code), str(error)) from None


def _fetch_kernel() -> kernel_image.KernelImage:
    click.echo("cxlab: downloading and unpacking the guest's kernel (once, about 110 MB)", err=True)
    return kernel_image.ensure()


def environment(variables: tuple[str, ...]) -> dict[str, str]:
    """The program's whole environment."""
    values = {"PATH": SEARCH_PATH, "LANG": "C.UTF-8"}
    try:
        user = pwd.getpwuid(os.getuid())
    except KeyError:
        values["HOME"] = "/"
    else:
        values |= {
            "HOME": user.pw_dir,
            "USER": user.pw_name,
            "LOGNAME": user.pw_name,
            "SHELL": user.pw_shell,
        }
    for variable in variables:
        name, equals, value = variable.partition("=")
        if not (name and equals):
            raise BadRequest(f"--env {variable}: not of the form NAME=VALUE")
        values[name] = value
    return values
