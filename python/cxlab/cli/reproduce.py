"""``cxlab reproduce``: the papers' figures, from any folder."""

from cxlab.cli import repository

command = repository.command("experiments.reproduce_command", "reproduce")
