"""``cxlab completion``: the script that lets a shell complete commands, options and their values."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "fish", "zsh")
#: The variable by which the script asks `cxlab` what can follow; click derives it from the command's name.
VARIABLE = "_CXLAB_COMPLETE"


@click.command(
    "completion",
    help="Print the script that completes commands in a shell.\n\n"
    "Example for bash: cxlab completion bash > ~/.local/share/bash-completion/completions/cxlab",
    epilog="zsh: write the script to a folder of $fpath, as _cxlab. "
    "fish: write the script to ~/.config/fish/completions/cxlab.fish.",
)
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Click's own script for the shell."""
    found = get_completion_class(shell)
    assert found is not None, shell
    root = click.get_current_context().find_root().command
    click.echo(found(root, {}, "cxlab", VARIABLE).source())
