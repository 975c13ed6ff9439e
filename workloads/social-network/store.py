"""Connections to Redis and memcached on which any number of requests are under way, answered in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

Answer = TypeVar("Answer")
#: Of Redis: a status or string, a number, none, or several of them.
Reply: TypeAlias = "bytes | int | list[Reply] | None"
#: Of memcached: the values that it has, by key.
Values: TypeAlias = dict[bytes, bytes]


class Store(asyncio.Protocol, Generic[Answer]):
    """A connection; ``parse`` takes an answer from a place of the bytes: it and where it ends, or None."""

    def __init__(self, parse: Callable[[bytes, int], tuple[Answer, int] | None]) -> None:
        """No request is under way."""
        self._parse = parse
        self._bytes = b""
        self._waiting: deque[asyncio.Future[Answer]] = deque()
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Requests can be sent."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def ask(self, request: bytes, answers: int = 1) -> asyncio.Future[list[Answer]]:
        """Send requests that have so many answers."""
        assert self._transport is not None
        loop = asyncio.get_running_loop()
        asked = [loop.create_future() for _ in range(answers)]
        self._waiting.extend(asked)
        self._transport.write(request)
        return asyncio.gather(*asked)

    def data_received(self, data: bytes) -> None:
        """Take the whole answers; the rest waits for more."""
        self._bytes += data
        at = 0
        while self._waiting and (found := self._parse(self._bytes, at)) is not None:
            answer, at = found
            self._waiting.popleft().set_result(answer)
        self._bytes = self._bytes[at:]


def command(*words: bytes) -> bytes:
    """A command of Redis."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)


def reply(data: bytes, at: int) -> tuple[Reply, int] | None:
    """An answer of Redis (RESP 2).

    Raises:
        ValueError: it is an error.

    """
    end = data.find(b"\r\n", at)
    if end < 0:
        return None
    kind, text, after = data[at : at + 1], data[at + 1 : end], end + 2
    if kind == b"-":
        raise ValueError(f"Redis: {text.decode()}")
    if kind == b"+":
        return text, after
    number = int(text)
    if kind == b":":
        return number, after
    if number < 0:
        return None, after
    if kind == b"$":
        return None if len(data) < after + number + 2 else (data[after : after + number], after + number + 2)
    several: list[Reply] = []
    for _ in range(number):
        found = reply(data, after)
        if found is None:
            return None
        several.append(found[0])
        after = found[1]
    return several, after


def values(data: bytes, at: int) -> tuple[Values, int] | None:
    """An answer of memcached to `get` or `set`.

    Raises:
        ValueError: it is an error.

    """
    found: Values = {}
    while (end := data.find(b"\r\n", at)) >= 0:
        line, at = data[at:end], end + 2
        if line in (b"END", b"STORED"):
            return found, at
        words = line.split()
        if words[0] != b"VALUE":
            raise ValueError(f"memcached: {line.decode()}")
        length = int(words[3])
        found[words[1]] = data[at : at + length]
        at += length + 2
    return None
