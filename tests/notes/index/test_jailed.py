"""The index works behind the walls: kept by a worker that can write nothing else, read by one that cannot write it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from fsnotes.notes.opening import PACKAGES, WorkerOptions
from sandbox.jail.process import import_folders
from sandbox.jail.report import Level
from sandbox.jail.spec import JailSpec
from sandbox.jail.supervisor import Jail
from sandbox.policy import Policy
from tests.workers import jail_level, require_jail

SOURCES = Path(__file__).resolve().parents[3]


class Pair:
    """A vault, its index, and how both kinds of workers are asked."""

    def __init__(self, top: Path, want: Level) -> None:
        self.vault, self.index = top / "vault", top / "index"
        for folder in (top, self.vault, self.index):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)
        self._want = want

    @contextmanager
    def worker(self, kind: Literal["ro", "index"]) -> Iterator[Jail]:
        spec = JailSpec(
            workspace=str(self.vault),
            kind=kind,
            handler=f"tests.notes.index.jailed:{'keeper' if kind == 'index' else 'reader'}",
            index=str(self.index),
            want=self._want,
            options=WorkerOptions(Policy()).to_json(),
            import_paths=(*import_folders(*PACKAGES), str(SOURCES)),
        )
        jail = Jail(spec, require=Level.CONTAINED)
        jail.start()
        try:
            yield jail
        finally:
            jail.stop()


def ask(jail: Jail, operation: str, **args: Any) -> dict[str, Any]:
    return jail.call(operation, args, deadline=time.monotonic() + 30, write=False, abandoned=lambda: False)


@pytest.fixture(params=[Level.FULL, Level.CONTAINED], ids=lambda level: level.value)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Pair:
    require_jail()
    if jail_level()[0].rank < request.param.rank:
        pytest.skip("no namespaces here")
    return Pair(Path(os.path.realpath(tmp_path)), request.param)


def settle(jail: Jail) -> None:
    for _ in range(1_000):
        if ask(jail, "step")["idle"]:
            return
    pytest.fail("it is never done")


def test_an_index_is_kept_and_read_behind_walls(pair: Pair) -> None:
    for number in range(300):
        (pair.vault / f"{number}.md").write_text(
            f"# Note {number}\n\nword w{number} 漢字設計 state: done{number}\n"
        )
    with pair.worker("ro") as reader:
        assert ask(reader, "page", query="word") == {"refused": "IndexUnusable"}
    with pair.worker("index") as keeper, pair.worker("ro") as reader:
        settle(keeper)
        assert ask(reader, "page", query="w17 -w18") == {"hits": ["17.md"]}
        assert 0 < len(ask(reader, "page", query="字設 foo OR word")["hits"]) <= 50
        assert ask(reader, "regex", query=r": done29\d$")["hits"][0].startswith("29")
        (pair.vault / "17.md").write_text("# Other\n\n```\nc++\n```\n---\nx: [1\n")
        (pair.vault / "18.md").rename(pair.vault / "renamed.md")
        assert ask(keeper, "refresh", paths=["17.md", "18.md", "renamed.md"]) == {"left": []}
        assert ask(reader, "page", query="w17") == {"hits": []}
        assert ask(reader, "page", query="C++") == {"hits": ["17.md"]}
        assert ask(reader, "page", query="renamed w18") == {"hits": ["renamed.md"]}
        settle(keeper)
        assert ask(keeper, "close") == {}
        assert ask(reader, "page", query="w19") == {"hits": ["19.md"]}


def test_a_reader_cannot_keep_and_a_killed_keeper_is_followed_by_another(pair: Pair) -> None:
    (pair.vault / "a.md").write_text("word")
    with pair.worker("ro") as reader:
        assert ask(reader, "keep", query="word") == {"refused": "Unavailable"}
        with pair.worker("index") as keeper:
            settle(keeper)
            (pair.vault / "b.md").write_text("word")
            ask(keeper, "refresh", paths=["b.md"])
        with pair.worker("index") as keeper:
            settle(keeper)
            assert sorted(ask(reader, "page", query="word")["hits"]) == ["a.md", "b.md"]
        assert sorted(path.name for path in pair.vault.iterdir()) == ["a.md", "b.md"]
