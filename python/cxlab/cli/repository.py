"""Commands that live in the repository's `experiments`, which is not in the installed package."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import click

from cxlab.error import Code, InputError

#: The repository's root: experiments build programs of its tests.
ROOT = Path(__file__).resolve().parents[3]


def command(module: str, name: str) -> click.Command:
    """The command of a module of `experiments`; ``name`` is what the user typed.

    Raises:
        InputError: this is no checkout.

    """
    if not (ROOT / "experiments" / "command.py").is_file():
        found = f"{ROOT} has no folder experiments"
        raise InputError(Code.EXPERIMENT, f"cxlab {name}", found, "a checkout of CXLab, built by `make`")
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    found_command: click.Command = importlib.import_module(module).command
    return found_command
