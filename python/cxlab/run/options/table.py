"""Every option of the commands that boot a guest, in the order in which their help shows them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from cxlab.run.errors import BadRequest
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
from cxlab.run.options.option import Command, Context, Effect, Given, Option

GUEST: tuple[Option[Any], ...] = (
    simulated.MACHINE,
    simulated.SET,
    simulated.PREFETCH,
    processors.CPUS,
    processors.SKEW,
    placement.MEMORY,
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
    tiering.OPTION,
    huge_pages.OPTION,
    *disk.OPTIONS,
    boot.OPTION,
    date.OPTION,
    detail.DETAIL,
    bounds.UNTIL,
    bounds.UNTIL_IDLE,
    bounds.FROM_OUTPUT,
    bounds.TO_OUTPUT,
    bounds.FROM_SYMBOL,
    bounds.TO_SYMBOL,
    environment.ENV,
    environment.ENV_PASS,
    files.OUT,
    files.OVERWRITE,
    confinement.JAIL,
    confinement.HIDE,
    files.JSON,
    files.RECORD,
    sampling.SAMPLE,
    sampling.SEED,
    sampling.WARM_UP,
    timeline.TIMELINE,
    timeline.WINDOW,
    timeout.OPTION,
    plot.OPTION,
    profile.OPTION,
    checks.OPTION,
    detail.STATS,
)
#: A prompt is for looking around: nothing is timed unless --detail says so.
AT_A_PROMPT: tuple[Option[Any], ...] = tuple(
    detail.AT_A_PROMPT if option is detail.DETAIL else option for option in GUEST
)


def with_defaults(values: Mapping[str, Any]) -> Given:
    """The options of a command that declares some of them; the others have their defaults."""
    return Given({option.key: option.default for option in GUEST} | dict(values))


def declare(options: tuple[Option[Any], ...], command: Command) -> Command:
    """Give a command options; they come as keywords, for `Given`."""
    for option in reversed(options):
        command = option(command)
    return command


def effect(given: Given, context: Context) -> Effect:
    """Return the effect of all options together.

    Raises:
        BadRequest: a value that the machine cannot have.

    """
    effects = [option.effect(given[option], context) for option in GUEST]
    return reduce(Effect.__or__, effects, sampling.effect(given))


def refuse_without_detail(given: Given) -> None:
    """Options that change nothing where nothing is timed.

    Raises:
        BadRequest: there is one.

    """
    if given[detail.DETAIL] != detail.OFF:
        return
    for option in GUEST:
        if option.needs_detail and given.is_set(option):
            raise BadRequest(
                f"{option.flag} needs detail: with --detail off nothing is timed. "
                "Add --detail all, or --detail marker"
            )
