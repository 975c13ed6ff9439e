"""The simulated machine: ``--machine``, ``--set`` and ``--prefetch``."""

from __future__ import annotations

from click.shell_completion import CompletionItem

from cxlab import model
from cxlab.asked_machine import AskedMachine
from cxlab.run.options.option import Given, Option

DEFAULT = "8468v-asic"


def names(_context: object, _parameter: object, begun: str) -> list[CompletionItem]:
    """Machines whose names begin so, for a shell that completes; else files."""
    found = [CompletionItem(name) for name in model.machine_names() if name.startswith(begun)]
    return found or [CompletionItem(begun, type="file")]


MACHINE: Option[str] = Option(
    "--machine",
    "Name of a machine that `cxlab machines` lists, or a .toml file.  Example: 8468v-fpga",
    {"default": DEFAULT, "show_default": True, "metavar": "NAME|FILE", "shell_complete": names},
)
#: For a replay.
ANOTHER: Option[str | None] = Option(
    "--machine",
    "Replay on another machine than the recorded one.  [default: the recorded one]  Example: 8468v-fpga",
    {"metavar": "NAME|FILE", "shell_complete": names},
)
#: For every command that simulates a machine.
SET: Option[tuple[str, ...]] = Option(
    "--set",
    "Change one value of the machine. `cxlab machines show` lists the keys. Repeatable.  "
    "Example: nodes.cxl.device.root_port.response_fifo=128",
    {"metavar": "KEY=VALUE", "multiple": True},
)

#: For every command that boots a guest. A bench has its own.
PREFETCH: Option[bool | None] = Option(
    "--prefetch/--no-prefetch",
    "Switch the cores' prefetchers on or off.  [default: as in the machine's host file]  "
    "Example: --no-prefetch",
    {"default": None},
)


def settings(given: Given) -> tuple[str, ...]:
    """Return the settings that change the machine: `--set`, then the prefetchers."""
    prefetch = given[PREFETCH]
    switched = () if prefetch is None else (f"host.prefetch.enabled={str(prefetch).lower()}",)
    return given[SET] + switched


def asked(name: str | None, settings: tuple[str, ...]) -> AskedMachine | None:
    """The machine with its settings. Its name is empty if there are only settings."""
    return None if name is None and not settings else AskedMachine(name or "", settings)
