"""``cxlab run --from NAME``: a program goes on from its checkpoint."""

from __future__ import annotations

from dataclasses import replace

from cxlab.asked_machine import AskedMachine
from cxlab.cli import session
from cxlab.run.errors import BadRequest
from cxlab.run.guest import checkpoint
from cxlab.run.guest.checkpoint import Checkpoint
from cxlab.run.guest.protocol import Program
from cxlab.run.machine import Machine
from cxlab.run.options import checkpoint as option
from cxlab.run.options import files, placement, processors, simulated
from cxlab.run.options.option import Given
from cxlab.run.options.placement import Placement


def run(given: Given, name: str, program: tuple[str, ...]) -> int:
    """Check what the checkpoint has decided, then go on from it; the exit status."""
    if program:
        raise BadRequest(
            f"--from {name} with a program: the checkpoint has its own. Leave one of the two out"
        )
    if given[files.KEEP] is not None:
        raise BadRequest(f"--keep with --from {name}: written files stay in the guest. Leave --keep out")
    option.refuse_decided(given)
    begun = checkpoint.find(name)
    about = begun.about
    asked = _machine(given, begun)
    machine = session.load_machine(asked)
    begun.refuse_machine(machine)
    _refuse_others(given, begun, machine)
    where, bind = _placed(given, begun, machine)
    begun = replace(begun, bind=bind)
    values = dict(given.values) | {
        simulated.MACHINE.key: str(asked),
        simulated.SET.key: asked.settings,
        simulated.PREFETCH.key: None,
        processors.CPUS.key: about.cpus,
        placement.MEMORY.key: about.memory(),
    }
    gone_on = replace(about.program, placement=where)
    name_of_results = gone_on.argv[0]

    def same(_: Machine) -> Program:
        return gone_on

    return session.run(Given(values), session.Asked(same, name_of_results, checkpoint=begun))


def _machine(given: Given, begun: Checkpoint) -> AskedMachine:
    """The checkpoint's machine with the settings that are given, or another one."""
    settings = simulated.settings(given)
    if given.is_set(simulated.MACHINE):
        return AskedMachine(given[simulated.MACHINE], settings)
    return begun.about.asked_machine(settings)


def _refuse_others(given: Given, begun: Checkpoint, machine: Machine) -> None:
    """Processors and memory are the checkpoint's: another number is refused."""
    about = begun.about
    if given.is_set(processors.CPUS) and given[processors.CPUS] != about.cpus:
        begun.refuse_option("--cpus", str(given[processors.CPUS]), str(about.cpus))
    memory = given[placement.MEMORY]
    if memory is not None and placement.parse_memory(memory, machine) != about.node_bytes:
        begun.refuse_option("--memory", memory, about.memory())


def _placed(given: Given, begun: Checkpoint, machine: Machine) -> tuple[Placement, tuple[int, ...] | None]:
    """Return the placement of the program's pages, for people and for init.

    Raises:
        BadRequest: a policy that no running program can be given.

    """
    asked = placement.parse(machine, **placement.policies(given))
    if asked is placement.DEFAULT:
        return begun.about.program.placement, None
    if not isinstance(asked.policy, dict) or "bind" not in asked.policy:
        raise BadRequest(
            f"{asked.text} with --from {begun.name}: a program that runs can be bound to nodes, no more. "
            "Give --membind NODES, or make a checkpoint with this policy"
        )
    return asked, tuple(asked.policy["bind"])
