"""Hundreds of connections at once, and floods of bad credentials: bounded, flat, and each principal's own.

A client process of one thread drives all connections, so what is measured is shared by it and the servers.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fsnotes.identity.token_text import SECRET_BYTES, make
from tests.server.http.many import Instance, command, instance
from tests.server.http.raw import posted
from tests.server.wire import call

pytestmark = pytest.mark.slow

CONNECTIONS = 1_000
NAMES = ("a", "b", "c", "d")
NOTES = 20
WARM_SECONDS, LOAD_SECONDS = 8.0, 20.0
PAUSE_SECONDS = 2.0
"""How long a client rests between two requests, on the average."""

BAD = 10_000
MOST_GROWTH = 1.1
DESCRIPTORS = 4_096


@pytest.fixture(autouse=True)
def descriptors() -> Iterator[None]:
    """Let this process and the servers have so many descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if wanted < CONNECTIONS + 200:
        pytest.skip("descriptors: the hard limit is too low")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def secret(name: str) -> str:
    """What only *name* may see."""
    return f"secret-of-{name}-9d41"


def household(home: Path, *, more: str = "") -> dict[str, str]:
    """A folder of each principal, and one of which each has a part; return their tokens."""
    lines = [f'[http]\nauth = "token"\nmax_connections = {CONNECTIONS + 100}\n{more}']
    places = [*NAMES, "shared"]
    lines += [f'[[workspace]]\nname = "{place}"\npath = "{home / place}"\n' for place in places]
    for name in NAMES:
        for folder, inside in ((home / name, ""), (home / "shared" / name, name)):
            folder.mkdir(parents=True)
            for number in range(NOTES):
                (folder / f"{number}.md").write_text(
                    f"# Note {number}\n\n{secret(name)} #tag-{secret(name)}\n"
                )
            workspace = "shared" if inside else name
            lines.append(
                f'[[grant]]\nprincipal = "token:{name}"\nworkspace = "{workspace}"\nfolder = "{inside}"\n'
                'allow = ["read", "write", "delete"]\n'
            )
    (home / ".config/fsnotes").mkdir(parents=True)
    (home / ".config/fsnotes/config.toml").write_text("".join(lines))
    return {name: command(home, "token", "new", name).strip() for name in NAMES}


@dataclass
class Seen:
    """What was received, in all."""

    answers: Counter[str] = field(default_factory=Counter)
    own: Counter[str] = field(default_factory=Counter)
    leaks: list[tuple[str, bytes]] = field(default_factory=list)
    wrong: list[Any] = field(default_factory=list)

    def take(self, name: str, status: int, received: bytes) -> None:
        """Look at every byte of an answer, head and body."""
        for other in NAMES:
            if other != name and secret(other).encode() in received:
                self.leaks.append((name, received))
        self.own[name] += secret(name).encode() in received
        if status == 503:
            self.answers["503"] += 1
            return
        body = received.partition(b"\r\n\r\n")[2]
        message = json.loads(body) if status == 200 else {}
        if "result" not in message:
            self.wrong.append((status, received[:500]))
        elif not message["result"].get("isError"):
            self.answers["done"] += 1
        else:
            slug = message["result"]["content"][0]["text"].partition(":")[0]
            self.answers[slug] += 1


class Client:
    """A connection that is kept as long as the server keeps it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._writer: asyncio.StreamWriter | None = None
        self._reader: asyncio.StreamReader | None = None

    async def ask(self, body: dict[str, Any], bearer: str) -> tuple[int, bytes]:
        """Send a request; return the status and all bytes of the answer."""
        if self._writer is None or self._reader is None or self._reader.at_eof():
            await self.close()
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writer.write(posted(body, port=self._port, bearer=bearer))
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        received = head + await self._reader.readexactly(length)
        if b"connection: close" in head.lower():
            await self.close()
        return int(head.split(b" ", 2)[1]), received

    async def close(self) -> None:
        """Hang up."""
        if self._writer is not None:
            self._writer.close()
        self._writer = self._reader = None


def work(home: Path, name: str, dice: random.Random) -> tuple[str, dict[str, Any]]:
    """Something that *name* asks: of its own folders, mostly, and of the others'."""
    own, shared = (home / name).as_uri(), (home / "shared").as_uri()
    other = dice.choice([each for each in NAMES if each != name])
    foreign = (home / other).as_uri()
    number = dice.randrange(NOTES)
    return dice.choice(
        [
            ("notes_workspaces", {}),
            ("notes_list", {"workspaceUri": shared, "recursive": True}),
            ("notes_list", {"workspaceUri": own}),
            ("notes_read", {"workspaceUri": own, "path": f"{number}.md"}),
            ("notes_read", {"workspaceUri": shared, "path": f"{name}/{number}.md"}),
            ("notes_read", {"workspaceUri": shared, "path": f"{other}/{number}.md"}),
            ("notes_read", {"workspaceUri": foreign, "path": f"{number}.md"}),
            ("notes_search", {"workspaceUri": own, "query": "secret"}),
            ("notes_search", {"workspaceUri": shared, "query": "note"}),
            ("notes_tags", {"workspaceUri": shared}),
            ("notes_edit", {"workspaceUri": own, "path": f"{number}", "newText": "Note", "oldText": "Note"}),
            ("notes_delete", {"workspaceUri": own, "title": f"{number}.md"}),
        ]
    )


def measured(server: Instance) -> tuple[int, int]:
    """The resident bytes and the descriptors of all processes of the server."""
    processes = server.tree()
    return sum(each.memory_info().rss for each in processes), sum(each.num_fds() for each in processes)


async def load(server: Instance, home: Path, tokens: dict[str, str], seen: Seen) -> list[tuple[int, int]]:
    """Have all connections work; return what the server took after the warm-up and at the end."""
    end = time.monotonic() + LOAD_SECONDS
    taken = []

    async def one(number: int) -> None:
        dice = random.Random(number)  # noqa: S311 - nothing is kept secret by it
        name = NAMES[number % len(NAMES)]
        client = Client(server.port)
        await asyncio.sleep(dice.random() * PAUSE_SECONDS)
        while time.monotonic() < end:
            tool, arguments = work(home, name, dice)
            try:
                seen.take(
                    name, *await asyncio.wait_for(client.ask(call(1, tool, arguments), tokens[name]), 30)
                )
            except (OSError, EOFError, TimeoutError) as error:
                seen.wrong.append(error)
                await client.close()
            await asyncio.sleep(2 * dice.random() * PAUSE_SECONDS)
        await client.close()

    async def watch() -> None:
        await asyncio.sleep(WARM_SECONDS)
        taken.append(await asyncio.to_thread(measured, server))
        await asyncio.sleep(end - time.monotonic() - 2)
        taken.append(await asyncio.to_thread(measured, server))

    await asyncio.gather(watch(), *(one(number) for number in range(CONNECTIONS)))
    return taken


def test_a_thousand_connections_get_their_own_answers_and_take_no_more_as_time_goes_on(
    tmp_path: Path,
) -> None:
    tokens = household(
        tmp_path, more="max_requests = 512\nmax_calls_per_principal = 256\ncalls_per_second = 10000\n"
    )
    seen = Seen()
    with instance(tmp_path) as server:
        before, after = asyncio.run(load(server, tmp_path, tokens, seen))
    print(sum(seen.answers.values()), dict(seen.answers), before, after)
    assert seen.leaks == []
    assert seen.wrong == []
    # What is refused is another's, or too much at once, as it is stated.
    assert seen.answers.keys() <= {"done", "not_allowed", "not_found", "busy", "limit", "503"}
    assert seen.answers["done"] > sum(seen.answers.values()) / 4
    assert min(seen.own[name] for name in NAMES) > 100
    assert after[0] <= MOST_GROWTH * before[0]
    assert after[1] <= before[1] + 50


def test_ten_thousand_bad_tokens_are_refused_while_good_ones_are_served(tmp_path: Path) -> None:
    tokens = household(tmp_path)
    statuses: Counter[int] = Counter()
    good: list[int] = []
    body = call(1, "notes_workspaces")

    async def bad(server: Instance, count: int) -> None:
        client = Client(server.port)
        for number in range(count):
            # A whole one that nobody was given, and one with a slip of the pen.
            wrong = make(os.urandom(SECRET_BYTES)) if number % 2 else tokens["a"][:-1] + "x"
            status, received = await client.ask(body, wrong)
            statuses[status] += 1
            assert not any(secret(name).encode() in received for name in NAMES)
        await client.close()

    async def flood(server: Instance, count: int) -> None:
        flooding = asyncio.gather(*(bad(server, count // 20) for _ in range(20)))
        client = Client(server.port)
        while not flooding.done():
            good.append((await asyncio.wait_for(client.ask(body, tokens["b"]), 10))[0])
            await asyncio.sleep(0.02)
        await client.close()
        await flooding

    with instance(tmp_path, "--jail", "off") as server:
        asyncio.run(flood(server, BAD // 10))
        before, _ = measured(server)
        asyncio.run(flood(server, BAD))
        after, _ = measured(server)
    assert statuses == {401: BAD + BAD // 10}
    assert len(good) > 50
    assert set(good) == {200}
    assert after <= MOST_GROWTH * before
