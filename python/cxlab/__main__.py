"""``python -m cxlab``: the command, where its script is not on PATH."""

from cxlab.cli import main

main()
