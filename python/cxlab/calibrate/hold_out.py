"""Chooses the observations that are kept out of the fit, to judge it.

    spread=4       of each curve's latencies all but four at equal distances, idle to knee (the default)
    every=3        the second, fifth, eighth ... of each series
    shape          all but idle and peak of each curve
    mix=1:1        all of that mix; so threads=1, node=dram, store=nontemporal, pattern=random
    none           nothing

Several rules, separated by commas, hold out what any of them does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from cxlab.calibrate.observation import Observation, Quantity, Role
from cxlab.error import Code, InputError

DEFAULT = "spread=4"
VALID = "spread=N or every=N (N from 2), shape, mix=R:W, threads=N, node=NAME, store=KIND, pattern=NAME, none"

#: (observation, those of its series) -> held out
Rule = Callable[[Observation, Sequence[Observation]], bool]


def split(found: Sequence[Observation], text: str) -> list[Observation]:
    """The observations with their roles.

    Raises:
        InputError: an unknown rule, one that holds out nothing, or everything.

    """
    rules = [(part.strip(), _rule(part.strip())) for part in text.split(",")]
    candidates = [o for o in found if o.role is Role.FIT]
    held: set[int] = set()
    for name, rule in rules:
        chosen = {place for place, o in enumerate(candidates) if rule(o, _own(candidates, o))}
        if not chosen and name not in ("none", DEFAULT):
            raise InputError(Code.HOLD_OUT, "--hold-out", f"`{name}` holds out none of the points", VALID)
        held |= chosen
    if len(held) == len(candidates):
        raise InputError(Code.HOLD_OUT, "--hold-out", f"`{text}` leaves nothing to fit", VALID)
    roles = iter(Role.HELD_OUT if place in held else Role.FIT for place in range(len(candidates)))
    return [replace(o, role=next(roles)) if o.role is Role.FIT else o for o in found]


def _own(found: Sequence[Observation], one: Observation) -> list[Observation]:
    return [o for o in found if o.series is one.series]


def _place(own: Sequence[Observation], one: Observation) -> int:
    return next(place for place, o in enumerate(own) if o is one)


def _rule(text: str) -> Rule:
    key, _, value = text.partition("=")
    match key:
        case "none" if not value:
            return lambda _o, _own: False
        case "shape" if not value:
            return lambda o, own: o.quantity is Quantity.LATENCY and _place(own, o) > 0
        case "spread" if value.isdecimal() and int(value) >= 2:
            kept = int(value)
            return lambda o, own: o.bandwidth is not None and all(o is not k for k in _spread(own, kept))
        case "every" if value.isdecimal() and int(value) >= 2:
            every = int(value)
            return lambda o, own: _place(own, o) % every == 1
        case "mix" | "threads" | "store" | "pattern" if value:
            return lambda o, _own: str(getattr(o.series.workload, key)) == value
        case "node" if value:
            return lambda o, _own: o.series.node == value
        case _:
            raise InputError(Code.HOLD_OUT, "--hold-out", f"`{text}` is no rule", VALID)


def _spread(own: Sequence[Observation], kept: int) -> list[Observation]:
    """Choose latencies of a curve: those nearest to a number of bandwidths at equal distances."""
    curve = [(o.bandwidth, o) for o in own if o.bandwidth is not None]
    low, high = min(b for b, _ in curve), max(b for b, _ in curve)
    wanted = [low + (high - low) * n / (kept - 1) for n in range(kept)]
    return [min(curve, key=lambda pair: abs(pair[0] - w))[1] for w in wanted]
