"""Write the social network's users and posts: `data.py FOLDER users=N posts=N seed=N` makes two files.

``dump.rdb`` is for Redis: posts, followers and timelines. ``memcached.txt`` is what memcached is sent: users
and posts. Users are friends of each other, 39 each in the mean. So they are in DeathStarBench's graph, the
college network Reed98 with 962 users and 18,812 friendships. Here preferential attachment draws the graph.

Source of a post's sizes: the wrk2 scripts of Gan et al., An open-source benchmark suite for microservices
(ASPLOS 2019). Source of the graph's law: Barabasi and Albert, Emergence of scaling in random networks (1999).
"""

from __future__ import annotations

import json
import random
import string
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "ycsb_client"))

import redis_dump

#: Friends that a new user finds: the mean of all is nearly twice this.
FRIENDS = 20
TEXT_LETTERS = 256
URL_LETTERS = 64
MOST_MENTIONS, MOST_URLS, MOST_MEDIA = 5, 5, 4
#: Posts that a timeline keeps, of which a request reads ten.
TIMELINE = 200


def friends_of(users: int, draws: random.Random) -> list[list[int]]:
    """The friends of each user: who has many is found by many."""
    friends: list[set[int]] = [set() for _ in range(users)]
    ends = list(range(min(users, FRIENDS)))
    for user in range(1, users):
        found: set[int] = set()
        while len(found) < min(user, FRIENDS):
            other = draws.choice(ends) if user > FRIENDS else draws.randrange(user)
            if other != user:
                found.add(other)
        for other in sorted(found):
            friends[user].add(other)
            friends[other].add(user)
            ends += [user, other]
    return [sorted(of_user) for of_user in friends]


def post(number: int, user: int, users: int, draws: random.Random) -> dict[str, object]:
    """A post as the logic makes it of a request."""

    def letters(count: int) -> str:
        return "".join(draws.choices(string.ascii_lowercase, k=count))

    mentions = [draws.randrange(users) for _ in range(draws.randint(0, MOST_MENTIONS))]
    urls = [(letters(10), letters(URL_LETTERS)) for _ in range(draws.randint(0, MOST_URLS))]
    words = [letters(TEXT_LETTERS), *(f"@user{other}" for other in mentions)]
    return {
        "post_id": number,
        "creator": {"user_id": user, "username": f"user{user}"},
        "text": " ".join([*words, *(f"http://short-url/{short}" for short, _ in urls)]),
        "user_mentions": [{"user_id": other, "username": f"user{other}"} for other in mentions],
        "media": [
            {"media_id": draws.randrange(10**18), "media_type": "png"}
            for _ in range(draws.randint(0, MOST_MEDIA))
        ],
        "urls": [
            {"shortened_url": f"http://short-url/{short}", "expanded_url": f"http://{long}"}
            for short, long in urls
        ],
    }


def written(users: int, posts: int, seed: int) -> tuple[bytes, bytes]:
    """Both files."""
    draws = random.Random(seed)
    friends = friends_of(users, draws)
    bodies: list[bytes] = []
    own: dict[int, list[int]] = defaultdict(list)
    home: dict[int, list[int]] = defaultdict(list)
    for number in range(posts):
        user = draws.randrange(users)
        bodies.append(json.dumps(post(number, user, users, draws), separators=(",", ":")).encode())
        own[user].append(number)
        for friend in friends[user]:
            home[friend].append(number)
    return _dump(bodies, friends, own, home), b"".join(_sets(bodies, users))


def _dump(
    bodies: list[bytes], friends: list[list[int]], own: dict[int, list[int]], home: dict[int, list[int]]
) -> bytes:
    entries = [redis_dump.string(b"post:%d" % number, body) for number, body in enumerate(bodies)]
    for user, of_user in enumerate(friends):
        members = [(b"%d" % friend, float(place)) for place, friend in enumerate(of_user)]
        entries.append(redis_dump.sorted_set(b"followers:%d" % user, members))
    for kind, timelines in ((b"timeline", own), (b"home", home)):
        for user, numbers in timelines.items():
            kept = [(b"%d" % number, float(number)) for number in numbers[-TIMELINE:]]
            entries.append(redis_dump.sorted_set(b"%b:%d" % (kind, user), kept))
    whole: bytes = redis_dump.dump(entries, len(entries))
    return whole


def _sets(bodies: list[bytes], users: int) -> Iterator[bytes]:
    """Memcached's commands; the last one is answered."""
    for user in range(users):
        text = b"%d" % user
        yield b"set name:user%d 0 0 %d noreply\r\n%b\r\n" % (user, len(text), text)
    for number, body in enumerate(bodies):
        yield b"set post:%d 0 0 %d noreply\r\n%b\r\n" % (number, len(body), body)
    yield b"version\r\n"


def main() -> None:
    """Write both files."""
    folder, *values = sys.argv[1:]
    asked = {name: int(value) for name, value in (one.split("=", 1) for one in values)}
    dump, sets = written(asked["users"], asked["posts"], asked["seed"])
    (Path(folder) / "dump.rdb").write_bytes(dump)
    (Path(folder) / "memcached.txt").write_bytes(sets)


if __name__ == "__main__":
    main()
