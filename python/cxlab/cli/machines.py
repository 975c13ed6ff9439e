"""``cxlab machines``: the machines that can be simulated, their key figures and where these come from."""

from __future__ import annotations

import json
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cxlab.machine import description


@click.command(
    "machines", help="List the machines that come with CXLab, their key figures and their sources."
)
@click.option("--json", "as_json", is_flag=True, help="The resolved machines, as JSON.")
def command(as_json: bool) -> None:
    """A table, or JSON."""
    door = description.model()
    machines = [json.loads(door.load_machine(name)) for name in door.machine_names()]
    if as_json:
        click.echo(json.dumps(machines, indent=2))
        return
    console = Console(highlight=False)
    for machine in machines:
        host = machine["host"]
        console.print(Text.assemble((machine["name"], "bold"), f": {machine['description']}"))
        console.print(
            f"{host['name']}, {host['cores']} cores at {host['frequency_ghz']} GHz ({host['source']})",
            markup=False,
        )
        console.print(_nodes(machine))


def _nodes(machine: dict[str, Any]) -> Table:
    """A row a node."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("node", "kind", "latency", "bandwidth"):
        right = heading in ("latency", "bandwidth")
        table.add_column(heading, justify="right" if right else "left", no_wrap=True)
    table.add_column("source", overflow="fold")
    for node in machine["nodes"]:
        figures = (f"{node['latency_ns']:.0f} ns", f"{node['bandwidth_gb_s']:.1f} GB/s")
        table.add_row(node["name"], node["kind"], *figures, node["source"])
    return table
