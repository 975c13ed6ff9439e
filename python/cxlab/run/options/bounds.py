"""Where timing begins and where the run ends, for programs without marker instructions.

::

    program start ---- "ready" printed ==== timed ==== 200 ms, or idle, or "done" printed: the run ends
                       --from-output                   --until --until-idle --to-output
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import click

from cxlab.run.errors import BadRequest
from cxlab.run.options.option import Effect, Given, Option

#: In picoseconds.
UNITS = {"us": 10**6, "ms": 10**9, "s": 10**12}
#: Sync points of model and guest are 2 us apart: below, a bound would say more than it holds [ps].
LEAST_PS = 10 * UNITS["us"]
#: What a trace may tell of in all is 53 days [ps].
MOST_PS = 10**6 * UNITS["s"]
#: A text is looked for in what a program writes, piece by piece.
MOST_TEXT_BYTES = 4096


@dataclass(frozen=True)
class Bounds:
    """Where timing begins, and what ends the run ahead of its program; None: nothing does."""

    #: simulated time [ps]
    until_ps: int | None = None
    #: how long no program has executed an instruction [ps]
    until_idle_ps: int | None = None
    #: texts of the program's output
    from_output: str | None = None
    to_output: str | None = None

    @property
    def in_time(self) -> bool:
        """Whether simulated time may end the run."""
        return self.until_ps is not None or self.until_idle_ps is not None


def _time(_: click.Context, option: click.Parameter, text: str | None) -> int | None:
    """``200ms`` in picoseconds.

    Raises:
        BadRequest: no time, or one that makes no sense.

    """
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(us|ms|s)", text)
    ps = round(float(match[1]) * UNITS[match[2]]) if match else 0
    if not LEAST_PS <= ps <= MOST_PS:
        raise BadRequest(
            f"{option.opts[0]} {text}: this is no simulated time that a run can end after; "
            "valid: 10us to 1000000s, as in 500us, 200ms or 2s"
        )
    return ps


def _text(_: click.Context, option: click.Parameter, text: str | None) -> str | None:
    """A text that a program can print.

    Raises:
        BadRequest: it is empty or too long.

    """
    if text is None:
        return None
    size = len(text.encode(errors="surrogateescape"))
    if not 1 <= size <= MOST_TEXT_BYTES:
        raise BadRequest(
            f"{option.opts[0]}: the text has {size} B; valid: 1 to {MOST_TEXT_BYTES} B. "
            "Give a part of a line that the program prints"
        )
    return text


UNTIL: Option[int | None] = Option(
    "--until",
    "End the run after this much simulated time, 10us or more, and keep the results.  "
    "[default: when PROGRAM ends]  Example: 200ms",
    {"metavar": "TIME", "callback": _time},
    lambda ps, _: _of_time("until", ps),
    needs_detail=True,
)
UNTIL_IDLE: Option[int | None] = Option(
    "--until-idle",
    "End the run when no program has executed an instruction for this much simulated time.  "
    "[default: when PROGRAM ends]  Example: 20ms",
    {"metavar": "TIME", "callback": _time},
    lambda ps, _: _of_time("until_idle", ps),
    needs_detail=True,
)
FROM_OUTPUT: Option[str | None] = Option(
    "--from-output",
    "Time the program from where it prints TEXT, on standard output or standard error.  "
    '[default: from its start]  Example: "Ready to accept"',
    {"metavar": "TEXT", "callback": _text},
    lambda text, _: _of_text("from_output", text),
    needs_detail=True,
)
TO_OUTPUT: Option[str | None] = Option(
    "--to-output",
    "End the run where the program prints TEXT, after the text of --from-output.  "
    "[default: when PROGRAM ends]  Example: done",
    {"metavar": "TEXT", "callback": _text},
    lambda text, _: _of_text("to_output", text),
    needs_detail=True,
)


def _of_time(key: str, ps: int | None) -> Effect:
    plugin = () if ps is None else (f"{key}={ps}",)
    return Effect(config={f"{key}_ms": None if ps is None else ps / UNITS["ms"]}, plugin=plugin)


def _of_text(key: str, text: str | None) -> Effect:
    # As bytes where it is not UTF-8, like all that comes from the command line.
    return Effect(config={key: text}, guest={key: None if text is None else wire_text(text)})


def wire_text(text: str) -> str | list[int]:
    """As the guest reads it: a string where it is UTF-8, else a list of bytes."""
    raw = text.encode(errors="surrogateescape")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return list(raw)


def of(given: Given) -> Bounds:
    """The bounds that a call asks for."""
    return Bounds(given[UNTIL], given[UNTIL_IDLE], given[FROM_OUTPUT], given[TO_OUTPUT])
