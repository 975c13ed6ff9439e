"""``cxlab experiment``: the experiments of the repository, from any folder."""

from cxlab.cli import repository

command = repository.command("experiments.command", "experiment")
