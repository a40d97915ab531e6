"""A whole server that is killed under load: what it acknowledged is there, and another one of these notes goes on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from tests.server.http.many import SECONDS, Instance, asked, confirmed, instance, until
from tests.server.http.test_many import Load, audited

pytestmark = pytest.mark.slow

CLIENTS = 4


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A folder of notes; the home folder is the one above."""
    folder = tmp_path / "Notes"
    folder.mkdir()
    (folder / "one.md").write_text("# One\n")
    return folder


def found(server: Instance, uri: str, query: str) -> set[str]:
    """The notes that a search finds, all pages of it."""
    paths: set[str] = set()
    more: dict[str, str] = {}
    while True:
        asked_for = {"workspaceUri": uri, "query": query, "limit": 100, **more}
        page = server.call("notes_search", asked_for).message["result"]["structuredContent"]
        paths |= {hit["path"] for hit in page["hits"]}
        if page.get("nextCursor") is None:
            return paths
        more = {"cursor": page["nextCursor"]}


def gone(processes: list[psutil.Process]) -> Callable[[], bool]:
    """Whether all have ended."""
    return lambda: not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in processes)


def test_what_a_killed_server_acknowledged_is_there_and_the_other_one_goes_on(
    vault: Path, tmp_path: Path
) -> None:
    here = vault.as_uri()
    words = (str(vault),)  # with workers, which end with their server
    with ExitStack() as stack:
        victim = stack.enter_context(instance(tmp_path, *words))
        other = stack.enter_context(instance(tmp_path, *words))
        form = victim.call("notes_delete", {"workspaceUri": here, "title": "One"})
        processes = victim.tree()
        with (
            Load(other, vault, CLIENTS, prefix="o") as kept,
            Load(victim, vault, CLIENTS, prefix="v") as lost,
        ):
            until(lambda: len(lost.acknowledged) >= 40 and len(kept.acknowledged) >= 40)
            for process in processes:
                process.kill()
            until(gone(processes))
            seen = len(kept.acknowledged)
            until(lambda: len(kept.acknowledged) >= seen + 40)
        # The other one's clients have not noticed. The killed one's lost what was under way, and nothing else.
        assert (kept.broken, kept.refused) == ([], [])
        assert all(answer.startswith("busy: ") for answer in map(failure, kept.wrong))
        assert all(answer.startswith("busy: ") for answer in map(failure, lost.wrong))
        made = {path.name for path in vault.glob("n-*.md")}
        acknowledged = {*kept.acknowledged, *lost.acknowledged}
        assert acknowledged <= made
        assert len(made - acknowledged) <= CLIENTS
        assert all((vault / name).read_text() == f"# {name}\n" for name in made)
        lines = [entry["path"] for entry in audited(tmp_path) if entry["outcome"] == "created"]
        assert acknowledged <= set(lines) <= made
        assert len(lines) == len(set(lines))
        # What the killed one began, the other one finishes; and it keeps the index from here on.
        done = other.call(
            "notes_delete", {"workspaceUri": here, "title": "One"}, **confirmed("one.md", asked(form))
        )
        assert done.message["result"]["structuredContent"]["outcome"] == "deleted"
        assert found(other, here, "n*") == made
        with instance(tmp_path, *words) as again:
            assert found(again, here, "n*") == made
            answer = again.call("notes_delete", {"workspaceUri": here, "title": "One"})
            assert answer.message["result"]["isError"] is True
        other.process.terminate()
        assert other.process.wait(SECONDS) == 0
    assert [path.name for path in (vault / ".trash").rglob("*.md")] == ["one.md"]


def failure(answer: object) -> str:
    """The text of a call that failed."""
    return str(answer.message["result"]["content"][0]["text"])  # type: ignore[attr-defined]
