"""Begin of timing and end of the run, for programs without marker instructions.

::

    program start ---- "ready" printed ==== timed ==== 200 ms, or idle, or "done" printed: the run ends
                       --from-output                   --until --until-idle --to-output
                       --from-symbol                                        --to-symbol
"""

from __future__ import annotations

from dataclasses import dataclass

import click

from cxlab.run.errors import BadRequest
from cxlab.run.options import symbol
from cxlab.run.options.option import Context, Effect, Given, Option
from cxlab.run.simulated_time import UNITS, parse_ps

#: Sync points of model and guest are 2 us apart: below, a bound would say more than it holds [ps].
LEAST_PS = 10 * UNITS["us"]
#: What a trace may tell of in all is 53 days [ps].
MOST_PS = 10**6 * UNITS["s"]
#: A text is looked for in what a program writes, piece by piece.
MOST_TEXT_BYTES = 4096


@dataclass(frozen=True)
class Awaited:
    """Begin or end of a part of the program: a text that it prints, or a function that it calls."""

    flag: str
    text: str
    #: what the program does, as in "did not print this"
    does: str
    #: what to give in its place
    valid: str


@dataclass(frozen=True)
class Bounds:
    """Begin of timing, and the bounds that end the run before its program; None: no bound."""

    #: simulated time [ps]
    until_ps: int | None = None
    #: how long no program has executed an instruction [ps]
    until_idle_ps: int | None = None
    begins: Awaited | None = None
    ends: Awaited | None = None

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
    ps = parse_ps(text)
    if ps is None or not LEAST_PS <= ps <= MOST_PS:
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


FROM_SYMBOL: Option[str | None] = Option(
    "--from-symbol",
    "Time the program from its first call of the function NAME. FILE is the library or the other program "
    "that has it.  [default: from its start]  Example: serve",
    {"metavar": "[FILE:]NAME"},
    lambda text, context: _of_symbol("from_symbol", FROM_SYMBOL.flag, text, context),
    needs_detail=True,
)
TO_SYMBOL: Option[str | None] = Option(
    "--to-symbol",
    "End the run where the program calls the function NAME, after the text or function that timing begins "
    "at.  [default: when PROGRAM ends]  Example: finish",
    {"metavar": "[FILE:]NAME"},
    lambda text, context: _of_symbol("to_symbol", TO_SYMBOL.flag, text, context),
    needs_detail=True,
)
#: Where a program's timing begins within it, and where it is ended.
BEGINNINGS, ENDS = (FROM_OUTPUT, FROM_SYMBOL), (TO_OUTPUT, TO_SYMBOL)


def _of_time(key: str, ps: int | None) -> Effect:
    plugin = () if ps is None else (f"{key}={ps}",)
    return Effect(config={f"{key}_ms": None if ps is None else ps / UNITS["ms"]}, plugin=plugin)


def _of_text(key: str, text: str | None) -> Effect:
    # As bytes where it is not UTF-8, like all that comes from the command line.
    return Effect(config={key: text}, guest={key: None if text is None else wire_text(text)})


def _of_symbol(key: str, flag: str, text: str | None, context: Context) -> Effect:
    if text is None:
        return Effect(config={key: None})
    place = symbol.find(flag, text, context.program)
    return Effect(
        config={key: text}, guest={key: {"file": wire_text(str(place.file)), "offset": place.offset}}
    )


def wire_text(text: str) -> str | list[int]:
    """Return a text as the guest reads it: a string if it is UTF-8, else a list of bytes."""
    raw = text.encode(errors="surrogateescape")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return list(raw)


def of(given: Given) -> Bounds:
    """The bounds that a call asks for.

    Raises:
        BadRequest: two beginnings, or two ends.

    """
    return Bounds(given[UNTIL], given[UNTIL_IDLE], _awaited(given, BEGINNINGS), _awaited(given, ENDS))


def _awaited(given: Given, options: tuple[Option[str | None], ...]) -> Awaited | None:
    output, function = options
    if given[output] is not None and given[function] is not None:
        raise BadRequest(
            f"{output.flag} with {function.flag}: only one of them can come first. Give one of the two"
        )
    if (text := given[output]) is not None:
        return Awaited(output.flag, text, "print this", "a text that the program prints")
    if (name := given[function]) is not None:
        return Awaited(function.flag, name, "call this function", "a function that the program calls")
    return None
