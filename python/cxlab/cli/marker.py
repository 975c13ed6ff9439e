"""``cxlab marker``: files with the markers of the region of detail, for C, shell and Python."""

from __future__ import annotations

import click

from cxlab.run.guest import artefacts


@click.command(
    "marker",
    help="Print where the markers of `cxlab run --detail marker` are.\n\n"
    "A marker says where detail begins and ends in a program of yours. Outside of CXLab it does nothing. "
    "\n\nExample: cxlab marker --include",
)
@click.option("--include", is_flag=True, help="Print only the folder of the C header cxlab/marker.h.")
@click.option("--program", is_flag=True, help="Print only the path of cxlab-marker, for shell scripts.")
def command(include: bool, program: bool) -> None:
    """Print one path, or how each language has its markers."""
    if include:
        click.echo(artefacts.INCLUDE)
    elif program:
        click.echo(artefacts.built(artefacts.MARKER))
    else:
        click.echo(f"C       cc -I{artefacts.INCLUDE}")
        click.echo('        #include "cxlab/marker.h", then CXLAB_REGION_BEGIN; ... CXLAB_REGION_END;')
        click.echo(f"shell   {artefacts.built(artefacts.MARKER)} begin; ...; {artefacts.MARKER.name} end")
        click.echo("Python  from cxlab import marker; with marker.region(): ...")
