"""``cxlab machines``: the machines that can be simulated.

list     all machines with the latency and the bandwidth of each node, by the bench  [default]
show     every value of one machine, with its source, its bounds and what it was fitted to
schema   the JSON schema of machine files
"""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cxlab import model
from cxlab.asked_machine import AskedMachine
from cxlab.bench import key_figures
from cxlab.border import MachineFigures
from cxlab.cli.machine_option import with_settings
from cxlab.output import bar, table, wrapped

#: Where a value's source does not fit beside it, it stands below.
COMMENT = "    # "
#: A value that goes on below its key.
VALUE = "    "


@click.group(
    "machines",
    help="List the machines, their key figures and their sources.\n\nExample: cxlab machines show spr-a1000",
    invoke_without_command=True,
)
@click.option("--json", "as_json", is_flag=True, help="Print the resolved machines as JSON.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """A table, or JSON."""
    if context.invoked_subcommand is not None:
        return
    # The first time each machine is measured, a second or two each.
    names = model.machine_names()
    with bar() as shown:
        machines = [key_figures.described(name) for name in shown.track(names, description="machines")]
    if as_json:
        click.echo(json.dumps([model.document(machine) for machine in machines], indent=2))
        return
    console = Console(highlight=False)
    for machine in machines:
        host = machine.host
        console.print(Text.assemble((machine.name, "bold"), f": {machine.description}"))
        console.print(
            f"{host.name}, {host.cores} cores at {host.frequency_ghz} GHz ({host.source})", markup=False
        )
        console.print(_nodes(machine))
    console.print("latency: one random chase, idle; bandwidth: 16 threads that read in order (cxlab bench)")


def _nodes(machine: MachineFigures) -> Table:
    """A row a node."""
    headings = ("node", "kind", "latency", "bandwidth", "what it is")
    shown = table(headings, left=2, fold=1, plain=True)
    for node in machine.nodes:
        figures = (f"{node.latency_ns:.0f} ns", f"{node.bandwidth_gb_s:.1f} GB/s")
        shown.add_row(node.name, node.kind, *figures, node.description)
    return shown


@command.command(
    "show",
    help="Print every value of a machine with its source.\n\nExample: cxlab machines show spr-a1000",
)
@click.argument("machine", metavar="NAME|FILE")
@with_settings("machine")
@click.option(
    "--json", "as_json", is_flag=True, help="Print keys, values, sources, places and bounds as JSON."
)
def show(machine: AskedMachine, as_json: bool) -> None:
    """A value, and where it is from: on one line if that fits."""
    entries = model.entries(machine)
    if as_json:
        click.echo(json.dumps([model.document(entry) for entry in entries], indent=2))
        return
    width = Console().width
    for entry in entries:
        value = f"{entry.key} = {entry.value}"
        comments = [entry.source] if entry.source else []
        comments += [f"fitted to {entry.fitted}"] if entry.fitted else []
        line = "  ".join([value, *(f"# {comment}" for comment in comments)])
        below = (wrapped(comment, COMMENT, width) for comment in comments)
        click.echo(
            line if len(line) <= width else "\n".join([wrapped(value, VALUE, width, first=""), *below])
        )


@command.command(
    "schema", help="Print the JSON schema of machine files, for editors.\n\nExample: cxlab machines schema"
)
def schema() -> None:
    """Print the schema, as data/schema/machine.json has it."""
    click.echo(json.dumps(model.machine_schema(), indent=2))
