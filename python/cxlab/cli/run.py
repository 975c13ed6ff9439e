"""``cxlab run``: a program of the host, on a simulated machine."""

from __future__ import annotations

import os
import pwd
from contextlib import nullcontext
from pathlib import Path

import click

from cxlab.cli import results
from cxlab.machine import (
    artefacts,
    description,
    initramfs,
    kernel_image,
    placement,
    processors,
    qemu,
    retraining,
    summary,
    supervisor,
)
from cxlab.machine.errors import BadRequest, ModelError
from cxlab.machine.guest import Identity, Program
from cxlab.machine.interruption import Interrupted, Interruption
from cxlab.machine.keep import Keep
from cxlab.machine.progress import Progress
from cxlab.machine.request import Request
from cxlab.machine.run_directory import RunDirectory, write_json, write_parquet
from cxlab.machine.topology import Attachment, Interleave, Managed, Topology, attach

DEFAULT_MACHINE = "8468v-asic"
#: A turn of this length costs the host little, and is short against what threads wait for each other.
DEFAULT_SKEW = "2us"
#: The host's PATH and language do not belong to the guest: a clean start, as env -i and a login shell would
#: give.
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@click.command(
    "run",
    context_settings={"allow_interspersed_args": False},
    help="Run PROGRAM of this host on a simulated machine: a booted Linux with DRAM and CXL nodes.",
    epilog="Exit status: the program's own; 125 if the simulator fails, 126 or 127 if PROGRAM cannot be "
    "executed or is not found, 128 + n if a signal ended it.",
)
@click.option(
    "--machine", default=DEFAULT_MACHINE, show_default=True, metavar="NAME|FILE", help="See `cxlab machines`."
)
@click.option(
    "--cpus", type=int, default=1, show_default=True, metavar="N", help="Processors of the guest, 1 to 8."
)
@click.option(
    "--skew",
    default=DEFAULT_SKEW,
    show_default=True,
    metavar="TIME",
    help="How far a processor may be ahead of the one most behind.",
)
@click.option(
    "--memory", metavar="NODE=SIZE,...", help="Size of each node; 2G where not given. dram=2G,cxl=2G"
)
@click.option(
    "--cxl",
    "attachment",
    type=click.Choice([choice.value for choice in Attachment]),
    default=Attachment.FIRMWARE.value,
    show_default=True,
    help="How Linux learns of CXL nodes: devices that its driver enumerates, or the firmware's tables.",
)
@click.option(
    "--managed",
    type=click.Choice([choice.value for choice in Managed]),
    default=Managed.KERNEL.value,
    show_default=True,
    help="Who manages the devices' memory: Linux, as a NUMA node, or a program, as /dev/dax0.0.",
)
@click.option("--interleave-ways", type=int, metavar="N", help="Devices of each CXL node: 1, 2 or 4.")
@click.option("--granularity", metavar="SIZE", help="Bytes in a row on one device: 256 to 16K.")
@click.option(
    "--host-bridges", type=int, default=1, show_default=True, metavar="N", help="Of each CXL node: 1 or 2."
)
@click.option(
    "--retrain",
    "retrainings",
    multiple=True,
    metavar="NODE=WIDTH,RATE[,TIME]",
    help="A node's CXL links come down to this, TIME after detail began. cxl=x8,16GT/s,2ms",
)
@click.option("--membind", metavar="NODES", help="Pages only on these nodes.")
@click.option("--preferred", metavar="NODE", help="Pages on this node while it has room.")
@click.option("--interleave", metavar="NODES", help="Pages on these nodes in turn.")
@click.option(
    "--weighted-interleave", metavar="NODE=WEIGHT,...", help="Pages in turn, by weight. dram=3,cxl=1"
)
@click.option(
    "--detail",
    type=click.Choice(["all", "marker", "off"]),
    default="all",
    show_default=True,
    help="What is timed: the whole program, what is between its own markers, or nothing.",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Copy the files that PROGRAM writes to DIR.",
)
@click.option(
    "--env", "variables", multiple=True, metavar="NAME=VALUE", help="Set a variable; may be repeated."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Results; default: cxlab-runs/<UTC time>-<program>.",
)
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Summary."
)
@click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the trace of the run here.",
)
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGS]...")
def command(
    machine: str,
    cpus: int,
    skew: str,
    memory: str | None,
    attachment: str,
    managed: str,
    interleave_ways: int | None,
    granularity: str | None,
    host_bridges: int,
    retrainings: tuple[str, ...],
    membind: str | None,
    preferred: str | None,
    interleave: str | None,
    weighted_interleave: str | None,
    detail: str,
    keep: Path | None,
    variables: tuple[str, ...],
    out: Path | None,
    json_file: Path | None,
    record: Path | None,
    program: tuple[str, ...],
) -> int:
    """Check what can be checked without a machine, then boot."""
    with Interruption() as interruption:
        try:
            with interruption.allowed():
                if record is not None and detail == "off":
                    raise BadRequest("--record needs detail: there is no trace with --detail off")
                for option, file in (("--json", json_file), ("--record", record)):
                    if file is not None and not file.absolute().parent.is_dir():
                        raise BadRequest(
                            f"{option} {file}: the folder {file.absolute().parent} does not exist"
                        )
                resolved = _load(machine)
                cpus = processors.parse_cpus(cpus, resolved)
                skew_ps = processors.parse_skew(skew)
                node_bytes = placement.parse_memory(memory, resolved)
                topology = Topology()
                if Attachment(attachment) is Attachment.DEVICE:
                    interleaving = Interleave(interleave_ways, granularity, host_bridges)
                    resolved, topology = attach(resolved, node_bytes, interleaving, Managed(managed))
                else:
                    _refuse_device_options(managed, interleave_ways, granularity, host_bridges)
                policy = placement.parse(
                    resolved,
                    membind=membind,
                    preferred=preferred,
                    interleave=interleave,
                    weighted_interleave=weighted_interleave,
                )
                environment = _environment(variables)
                retrained = tuple(retraining.parse(text, resolved) for text in retrainings)
                qemu_version = qemu.check_version()
                if detail != "off":
                    artefacts.built(artefacts.QEMU_PLUGIN)
                init = artefacts.built(artefacts.GUEST_INIT)
                image = kernel_image.cached() or _fetch_kernel()
                archive = initramfs.ensure(image, init)
                directory = RunDirectory.create(out, program[0])
                keeping = Keep(keep) if keep is not None else nullcontext()
        except Interrupted as interrupted:
            return 128 + interrupted.number

        with keeping as kept:
            request = Request(
                machine=resolved,
                node_bytes=node_bytes,
                cpus=cpus,
                skew_ps=skew_ps,
                program=Program(program, os.getcwd(), Identity.of_caller(), environment, policy),
                detail=detail,
                kernel=image.vmlinuz,
                initramfs=archive,
                keep=kept.arriving if kept is not None else None,
                record=record.absolute() if record is not None else None,
                topology=topology,
                retrainings=retrained,
            )
            write_json(directory.config, summary.config(request, qemu_version))
            outcome = supervisor.run(request, directory, interruption, Progress(directory.partial_summary))
            if kept is not None and outcome.exit is not None and outcome.complete:
                kept.accept(outcome.exit.files)

        document = summary.summary(request, outcome, qemu_version)
        for path in (directory.summary, json_file):
            if path is not None:
                write_json(path, document)
        if outcome.series is not None:
            write_parquet(directory.series, outcome.series)
        results.show(request, outcome, document, directory, keep)
        return summary.exit_status(outcome)


def _refuse_device_options(
    managed: str, interleave_ways: int | None, granularity: str | None, host_bridges: int
) -> None:
    asked = {
        "--managed application": managed == Managed.APPLICATION,
        "--interleave-ways": interleave_ways is not None,
        "--granularity": granularity is not None,
        "--host-bridges": host_bridges != 1,
    }
    for option, given in asked.items():
        if given:
            raise BadRequest(f"{option} is of devices: it needs --cxl device")


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


def _environment(variables: tuple[str, ...]) -> dict[str, str]:
    """The program's whole environment."""
    environment = {"PATH": SEARCH_PATH, "LANG": "C.UTF-8"}
    try:
        user = pwd.getpwuid(os.getuid())
    except KeyError:
        environment["HOME"] = "/"
    else:
        environment |= {
            "HOME": user.pw_dir,
            "USER": user.pw_name,
            "LOGNAME": user.pw_name,
            "SHELL": user.pw_shell,
        }
    for variable in variables:
        name, equals, value = variable.partition("=")
        if not (name and equals):
            raise BadRequest(f"--env {variable}: not of the form NAME=VALUE")
        environment[name] = value
    return environment
