"""Mutations of a text file: each function changes it in one way."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

NUMBERS = (
    *("nan", "inf", "-inf", "-1", "0", "-0.0", "1e308", "1e-320", "1e999", "4294967295", "4294967296"),
    *("18446744073709551615", "18446744073709551616", "9" * 400, "65536", "0x10", "1_000", "1.5", "٣"),
)
VALUES = (*NUMBERS, '""', "null", "true", "[]", "{}", "[[]]", '"\\u0000"', '"nan"', "'x'", "1979-05-27", "-")
JUNK = (b"\x00", b"\xff", b"\xed\xa0\x80", b"\r", b'"', b"[", b"{", b",", b"=", b"#", b"\xe2\x80\xae", b"\n")
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_][\w-]*")
_VALUE = re.compile(rb"(?<=[=:,\[])\s*(?:\"[^\"\n]*\"|[^\s,\]}#]+)")


def _replace(pattern: re.Pattern[bytes], text: bytes, random: Random, new: bytes) -> bytes:
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = random.choice(found)
    return text[: match.start()] + new + text[match.end() :]


def a_number(text: bytes, random: Random) -> bytes:
    """Replace a number by another."""
    return _replace(_NUMBER, text, random, random.choice(NUMBERS).encode())


def a_value(text: bytes, random: Random) -> bytes:
    """Give a value another type."""
    return _replace(_VALUE, text, random, b" " + random.choice(VALUES).encode())


def a_word(text: bytes, random: Random) -> bytes:
    """Replace a word by another word of the file."""
    words = _WORD.findall(text) or [b"x"]
    return _replace(_WORD, text, random, random.choice(words))


def a_byte(text: bytes, random: Random) -> bytes:
    """Something stands between two bytes, or a byte is another one."""
    place = random.randrange(len(text) + 1)
    return text[:place] + random.choice(JUNK) + text[place + random.randrange(2) :]


def lines(text: bytes, random: Random) -> bytes:
    """A line is gone, stands twice, or elsewhere."""
    parts = text.splitlines(keepends=True)
    if not parts:
        return text
    line = random.randrange(len(parts))
    match random.randrange(3):
        case 0:
            del parts[line]
        case 1:
            parts.insert(random.randrange(len(parts)), parts[line])
        case _:
            parts.insert(random.randrange(len(parts)), parts.pop(line))
    return b"".join(parts)


def a_stretch(text: bytes, random: Random) -> bytes:
    """A few bytes are gone, or all behind a place."""
    place = random.randrange(len(text) + 1)
    return (
        text[:place] if random.randrange(4) == 0 else text[:place] + text[place + random.randrange(1, 20) :]
    )


CHANGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    *(a_number, a_number, a_value, a_value, a_word, a_byte, lines, a_stretch),
)


def changed(text: bytes, random: Random) -> bytes:
    """The text after one to three changes."""
    for _ in range(random.randint(1, 3)):
        text = random.choice(CHANGES)(text, random)
    return text
