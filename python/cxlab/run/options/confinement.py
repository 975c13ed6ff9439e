"""The jail that QEMU and the model run in: ``--jail``, ``--hide``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import click

from cxlab.run.options.option import Option


class Mode(StrEnum):
    """Value of ``--jail``."""

    AUTO = "auto"
    REQUIRE = "require"
    OFF = "off"


JAIL: Option[str] = Option(
    "--jail",
    "Confine QEMU and the model with namespaces: if the host allows it (`auto`), or end if it does not "
    "(`require`), or never (`off`).",
    {"type": click.Choice([mode.value for mode in Mode]), "default": Mode.AUTO.value, "show_default": True},
)
HIDE: Option[tuple[Path, ...]] = Option(
    "--hide",
    "Hide a file or folder of the host from the guest. Repeatable.  Example: ~/.ssh",
    {"type": click.Path(path_type=Path), "multiple": True, "metavar": "PATH"},
)
