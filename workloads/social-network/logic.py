"""The social network's logic: posts are composed and timelines read, with Redis and memcached behind it.

::

    nginx --HTTP--> logic --+-- memcached   names of users, posts that were read
                            +-- Redis       all posts, followers, timelines

What a request does is what DeathStarBench's services do for it, in one process. Not here: their remote
procedure calls, their tracing, the media's storage, passwords. `logic.py PORT REDIS MEMCACHED FILE` sends
FILE to memcached, listens, and prints a line.

Source: Gan et al., An open-source benchmark suite for microservices, ASPLOS 2019, social network.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import socket
import string
import sys
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from store import Reply, Store, Values, command, reply, values

URL = re.compile(r"https?://\S+")
MENTION = re.compile(r"@(\w+)")
#: Numbers of new posts, above those of the data.
FIRST_NEW = 10**9
HOST = "127.0.0.1"
TRIES, PAUSE_S = 600, 0.05


class Network:
    """The logic and its connections."""

    def __init__(self, redis: Store[Reply], memcached: Store[Values]) -> None:
        """No post has been composed."""
        self.redis, self.memcached = redis, memcached
        self.numbers = count(FIRST_NEW)
        self.draws = random.Random(1)

    async def compose(self, form: dict[str, list[str]]) -> bytes:
        """Store a post, and put it into the timelines of its user, followers and those that it mentions."""
        user, number = int(form["user_id"][0]), next(self.numbers)
        text, urls = self._shortened(form["text"][0])
        mentions = await self._mentions(text)
        media = [
            {"media_id": media_id, "media_type": kind}
            for media_id, kind in zip(
                json.loads(form["media_ids"][0]), json.loads(form["media_types"][0]), strict=True
            )
        ]
        post = {
            "post_id": number,
            "creator": {"user_id": user, "username": form["username"][0]},
            "text": text,
            "user_mentions": [{"user_id": other, "username": name} for name, other in mentions],
            "media": media,
            "urls": [{"shortened_url": short, "expanded_url": long} for short, long in urls],
        }
        name = b"%d" % number
        stores = [command(b"SET", b"post:" + name, json.dumps(post, separators=(",", ":")).encode())]
        stores += [command(b"SET", short.encode(), long.encode()) for short, long in urls]
        stores.append(command(b"ZADD", b"timeline:%d" % user, name, name))
        followers = command(b"ZRANGE", b"followers:%d" % user, b"0", b"-1")
        *_, found = await self.redis.ask(b"".join([*stores, followers]), len(stores) + 1)
        assert isinstance(found, list)
        homes = {one for one in found if isinstance(one, bytes)} | {b"%d" % other for _, other in mentions}
        adds = [command(b"ZADD", b"home:" + home, name, name) for home in sorted(homes)]
        await self.redis.ask(b"".join(adds), len(adds))
        return b"%d" % number

    def _shortened(self, text: str) -> tuple[str, list[tuple[str, str]]]:
        """The text with short addresses, and which long one each stands for."""
        urls: list[tuple[str, str]] = []

        def short(found: re.Match[str]) -> str:
            name = "".join(self.draws.choices(string.ascii_lowercase, k=10))
            urls.append((f"http://short-url/{name}", found[0]))
            return urls[-1][0]

        return URL.sub(short, text), urls

    async def _mentions(self, text: str) -> list[tuple[str, int]]:
        names = MENTION.findall(text)
        if not names:
            return []
        keys = [b"name:" + name.encode() for name in names]
        (found,) = await self.memcached.ask(b"get %b\r\n" % b" ".join(keys))
        return [(name, int(found[key])) for name, key in zip(names, keys, strict=True) if key in found]

    async def timeline(self, kind: str, query: dict[str, list[str]]) -> bytes:
        """Posts of a timeline, the newest first."""
        key = f"{kind}:{query['user_id'][0]}".encode()
        start, stop = query["start"][0].encode(), b"%d" % (int(query["stop"][0]) - 1)
        (numbers,) = await self.redis.ask(command(b"ZREVRANGE", key, start, stop))
        assert isinstance(numbers, list)
        keys = [b"post:" + number for number in numbers if isinstance(number, bytes)]
        posts = [json.loads(post) for post in await self._posts(keys)]
        return json.dumps(posts).encode()

    async def _posts(self, keys: Sequence[bytes]) -> list[bytes]:
        """Posts from memcached; it is given those that it does not have."""
        if not keys:
            return []
        (found,) = await self.memcached.ask(b"get %b\r\n" % b" ".join(keys))
        if missing := [key for key in keys if key not in found]:
            (stored,) = await self.redis.ask(command(b"MGET", *missing))
            assert isinstance(stored, list)
            new = {key: post for key, post in zip(missing, stored, strict=True) if isinstance(post, bytes)}
            sets = [b"set %b 0 0 %d\r\n%b\r\n" % (key, len(post), post) for key, post in new.items()]
            await self.memcached.ask(b"".join(sets), len(sets))
            found |= new
        return [found[key] for key in keys if key in found]

    async def answer(self, target: str, body: bytes) -> bytes:
        """The body of the answer to a request of HTTP."""
        address = urlsplit(target)
        match address.path:
            case "/wrk2-api/post/compose":
                return await self.compose(parse_qs(body.decode()))
            case "/wrk2-api/user-timeline/read":
                return await self.timeline("timeline", parse_qs(address.query))
            case "/wrk2-api/home-timeline/read":
                return await self.timeline("home", parse_qs(address.query))
        raise ValueError(f"no service at {address.path}")


class Front(asyncio.Protocol):
    """A connection of nginx, with one request at a time."""

    def __init__(self, network: Network) -> None:
        """Nothing has come."""
        self._network = network
        self._bytes = b""
        self._transport: asyncio.WriteTransport | None = None
        self._answering: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Answers can be sent."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer a request once it is whole."""
        self._bytes += data
        head, end, body = self._bytes.partition(b"\r\n\r\n")
        if not end:
            return
        line, *fields = head.decode().split("\r\n")
        named = dict(field.lower().split(": ", 1) for field in fields)
        if len(body) < int(named.get("content-length", "0")):
            return
        self._bytes = b""
        self._answering = asyncio.create_task(self._answer(line.split()[1], body))

    async def _answer(self, target: str, body: bytes) -> None:
        assert self._transport is not None
        status = b"200 OK"
        try:
            said = await self._network.answer(target, body)
        except (KeyError, ValueError) as error:
            status, said = b"400 Bad Request", repr(error).encode()
        self._transport.write(b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (status, len(said), said))


def connected(port: int) -> socket.socket:
    """A connection, once the server listens.

    Raises:
        OSError: it does not within half a minute.

    """
    for _ in range(TRIES):
        try:
            return socket.create_connection((HOST, port))
        except ConnectionRefusedError:
            time.sleep(PAUSE_S)
    raise OSError(f"no server listens on port {port}")


def until_ready(port: int, request: bytes, ready: bytes) -> None:
    """Send a request, again and again, until its answer begins with ``ready``.

    Raises:
        OSError: it does not within half a minute.

    """
    with connected(port) as connection:
        for _ in range(TRIES):
            connection.sendall(request)
            if connection.recv(256).startswith(ready):
                return
            time.sleep(PAUSE_S)
    raise OSError(f"the server on port {port} is not ready")


async def serve(port: int, redis: int, memcached: int) -> None:
    """Answer requests, for ever."""
    loop = asyncio.get_running_loop()
    _, to_redis = await loop.create_connection(lambda: Store[Reply](reply), HOST, redis)
    _, to_memcached = await loop.create_connection(lambda: Store[Values](values), HOST, memcached)
    network = Network(to_redis, to_memcached)
    server = await loop.create_server(lambda: Front(network), HOST, port)
    print("listening", flush=True)
    await server.serve_forever()


def main() -> None:
    """Fill memcached, wait for Redis, serve."""
    port, redis, memcached = map(int, sys.argv[1:4])
    until_ready(memcached, Path(sys.argv[4]).read_bytes(), b"VERSION")
    until_ready(redis, command(b"PING"), b"+PONG")
    asyncio.run(serve(port, redis, memcached))


if __name__ == "__main__":
    main()
