"""Help of commands with many options: a heading for each group of them, the command's own options first."""

from __future__ import annotations

from typing import Any

import click

from cxlab.run.options import (
    boot,
    bounds,
    checks,
    confinement,
    cxl,
    date,
    detail,
    disk,
    environment,
    files,
    huge_pages,
    placement,
    plot,
    poison,
    processors,
    profile,
    retraining,
    sampling,
    simulated,
    tiering,
    timeline,
    timeout,
)
from cxlab.run.options.option import Option

#: Headings, and the options below each.
SECTIONS: dict[str, tuple[Option[Any], ...]] = {
    "Where pages go": (*placement.POLICIES, placement.MEMORY, tiering.OPTION, huge_pages.OPTION),
    "Simulated machine": (
        simulated.MACHINE,
        simulated.SET,
        simulated.PREFETCH,
        processors.CPUS,
        processors.SKEW,
        boot.OPTION,
        date.OPTION,
    ),
    "CXL devices": (
        cxl.CXL,
        cxl.MANAGED,
        cxl.WAYS,
        cxl.GRANULARITY,
        cxl.BRIDGES,
        cxl.PERSISTENT,
        cxl.NAMESPACE,
        cxl.PERSISTENT_IN,
        retraining.OPTION,
        poison.OPTION,
    ),
    "Drive": disk.OPTIONS,
    "What is timed": (
        detail.DETAIL,
        sampling.SAMPLE,
        sampling.SEED,
        sampling.WARM_UP,
        bounds.FROM_OUTPUT,
        bounds.TO_OUTPUT,
        bounds.FROM_SYMBOL,
        bounds.TO_SYMBOL,
        bounds.UNTIL,
        bounds.UNTIL_IDLE,
        timeout.OPTION,
    ),
    "Results": (
        files.OUT,
        files.OVERWRITE,
        files.JSON,
        detail.STATS,
        checks.OPTION,
        plot.OPTION,
        profile.OPTION,
        timeline.TIMELINE,
        timeline.WINDOW,
        files.RECORD,
        files.KEEP,
    ),
    "What the program sees": (environment.ENV, environment.ENV_PASS, confinement.HIDE, confinement.JAIL),
}


class Sectioned(click.Command):
    """A command whose help shows its options by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then each section."""
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        shown = [(one, one.get_help_record(ctx)) for one in options]
        records = {one.name: record for one, record in shown if record is not None}
        sections = {
            title: [found for option in group if (found := records.pop(option.key, None))]
            for title, group in SECTIONS.items()
        }
        for title, listed in {"Options": list(records.values()), **sections}.items():
            if listed:
                with formatter.section(title):
                    formatter.write_dl(listed)
