"""The social network's logic on this host: what it stores and shows, and its stores' answers in pieces."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from cxlab.workload import description, prepared
from shipped import WORKLOADS

from tests.loaded import loaded

FOLDER = WORKLOADS / "social-network"
USERS, POSTS = 30, 400


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., bytes]]:
    """A running one: asks it for a path, with a form if there is one."""
    work = tmp_path_factory.mktemp("network")
    subprocess.run(
        [sys.executable, FOLDER / "data.py", work, f"users={USERS}", f"posts={POSTS}", "seed=1"], check=True
    )
    port, redis, memcached = free_port(), free_port(), free_port()
    commands: list[list[str | Path]] = [
        ["redis-server", "--port", str(redis), "--dir", work, "--save", "", "--appendonly", "no"],
        ["memcached", "-u", "root", "-l", "127.0.0.1", "-p", str(memcached)],
    ]
    with ExitStack() as running:
        for command in commands:
            process = running.enter_context(subprocess.Popen(command, stdout=subprocess.DEVNULL))
            running.callback(process.kill)
        ports = map(str, (port, redis, memcached))
        logic = [sys.executable, str(FOLDER / "logic.py"), *ports, str(work / "memcached.txt")]
        process = running.enter_context(subprocess.Popen(logic, stdout=subprocess.PIPE))
        running.callback(process.kill)
        assert process.stdout is not None and process.stdout.readline() == b"listening\n"

        def ask(path: str, **form: str) -> bytes:
            body = urllib.parse.urlencode(form).encode() if form else None
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/wrk2-api/{path}", body) as answer:
                said: bytes = answer.read()
                return said

        yield ask


def timeline(network: Callable[..., bytes], kind: str, user: int, start: int = 0) -> list[dict[str, Any]]:
    path = f"{kind}-timeline/read?user_id={user}&start={start}&stop={start + 10}"
    posts: list[dict[str, Any]] = json.loads(network(path))
    return posts


def compose(network: Callable[..., bytes], user: int, text: str) -> int:
    form = {"username": f"user{user}", "user_id": str(user), "text": text}
    return int(network("post/compose", **form, media_ids="[7]", media_types='["png"]', post_type="0"))


def test_timelines_show_the_posts_of_the_data_the_newest_first(network: Callable[..., bytes]) -> None:
    data = loaded(FOLDER / "data.py")
    draws = random.Random(1)
    friends = data.friends_of(USERS, draws)
    home, own = timeline(network, "home", 3), timeline(network, "user", 3)
    assert len(home) == 10
    numbers = [post["post_id"] for post in home]
    assert numbers == sorted(numbers, reverse=True)
    assert {post["creator"]["user_id"] for post in home} <= set(friends[3])
    assert {post["creator"]["user_id"] for post in own} == {3}
    # The next ten are older.
    assert max(post["post_id"] for post in timeline(network, "home", 3, 10)) < min(numbers)


def test_a_post_comes_to_friends_and_to_those_it_mentions_and_to_nobody_else(
    network: Callable[..., bytes],
) -> None:
    friends = loaded(FOLDER / "data.py").friends_of(USERS, random.Random(1))
    writer = min(range(USERS), key=lambda user: len(friends[user]))
    strangers = [user for user in range(USERS) if user != writer and user not in friends[writer]]
    mentioned, stranger = strangers[:2]
    # One that does not exist is no mention.
    number = compose(network, writer, f"hello @user{mentioned} and @nobody at https://example.org/long?a=1")
    for user in (friends[writer][0], mentioned):
        assert timeline(network, "home", user)[0]["post_id"] == number
    assert number not in [post["post_id"] for post in timeline(network, "home", stranger)]
    # It is read twice: first from Redis, then from memcached, which was given it.
    first, again = (timeline(network, "user", writer)[0] for _ in range(2))
    assert first == again
    (url,) = first["urls"]
    assert url["expanded_url"] == "https://example.org/long?a=1"
    assert first["text"] == f"hello @user{mentioned} and @nobody at {url['shortened_url']}"
    assert first["user_mentions"] == [{"user_id": mentioned, "username": f"user{mentioned}"}]
    assert first["media"] == [{"media_id": 7, "media_type": "png"}]


def test_a_request_that_it_does_not_have_is_refused(network: Callable[..., bytes]) -> None:
    for path in ("nothing", "home-timeline/read?user_id=1"):
        with pytest.raises(urllib.error.HTTPError, match="400"):
            network(path)


def test_friends_are_mutual_and_as_many_as_in_the_graph_of_deathstarbench() -> None:
    friends = loaded(FOLDER / "data.py").friends_of(962, random.Random(5))
    assert all(user in friends[friend] for user, of_user in enumerate(friends) for friend in of_user)
    assert all(user not in of_user for user, of_user in enumerate(friends))
    # Reed98 of the Facebook100 networks: 962 users, 18,812 friendships.
    assert sum(map(len, friends)) / 2 == pytest.approx(18_812, rel=0.03)


@pytest.mark.parametrize(
    ("parser", "data", "answers"),
    [
        (
            "reply",
            b"+OK\r\n:12\r\n$5\r\na\r\nbc\r\n$-1\r\n*2\r\n$1\r\nx\r\n$-1\r\n*0\r\n",
            [b"OK", 12, b"a\r\nbc", None, [b"x", None], []],
        ),
        (
            "values",
            b"VALUE a 0 4\r\n\r\nEN\r\nVALUE b 0 0\r\n\r\nEND\r\nSTORED\r\nEND\r\n",
            [{b"a": b"\r\nEN", b"b": b""}, {}, {}],
        ),
    ],
)
def test_an_answer_is_taken_when_it_is_whole_wherever_it_was_cut(
    parser: str, data: bytes, answers: list[object]
) -> None:
    parse = getattr(loaded(FOLDER / "store.py"), parser)
    for cut in range(len(data)):
        found: list[object] = []
        at = 0
        for piece in (data[:cut], data):
            while (taken := parse(piece, at)) is not None and len(found) < len(answers):
                answer, at = taken
                assert at <= len(piece), (cut, answer)
                found.append(answer)
        assert (found, at) == (answers, len(data)), cut


def test_the_clients_ask_for_what_the_shares_say(tmp_path: Path) -> None:
    # A server that only counts: 300 requests of 10, 30 and 60 %, each within five standard deviations.
    workload = description.load(FOLDER)
    client = prepared.prepare(workload, workload.values("tiny", ()), 0).build / prepared.PROGRAM
    counter = tmp_path / "counter.py"
    counter.write_text(COUNTER)
    port = free_port()
    with subprocess.Popen([sys.executable, counter, str(port)], stdout=subprocess.PIPE, text=True) as server:
        asked = subprocess.run(
            [client, str(port), "10", "30", "60", "50", "0", "300", "1", "0", "1"],
            capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        assert server.stdout is not None
        kinds = json.loads(server.stdout.readline())
    assert "measure latency_p99" in asked.stdout
    assert sum(kinds.values()) == 300
    assert abs(kinds["compose"] - 30) < 26 and abs(kinds["user"] - 90) < 40 and abs(kinds["home"] - 180) < 42


COUNTER = """
import json, socket, sys
listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
peer, _ = listening.accept()
kinds = {"compose": 0, "user": 0, "home": 0}
data = b""
while piece := peer.recv(65536):
    data += piece
    head, end, body = data.partition(b"\\r\\n\\r\\n")
    lengths = [line for line in head.split(b"\\r\\n") if line.lower().startswith(b"content-length:")]
    if not end or (lengths and len(body) < int(lengths[0].split()[1])):
        continue
    data = b""
    kinds[next(kind for kind in kinds if b"/%b" % kind.encode() in head.split(b" ")[1])] += 1
    peer.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n[]")
print(json.dumps(kinds), flush=True)
"""
