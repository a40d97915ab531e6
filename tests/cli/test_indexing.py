"""`index`: builds what makes a search quick, says how far it is to a person, and leaves the vault alone."""

from __future__ import annotations

import os
import subprocess
import time

from tests.cli.shell import FSNOTES, Done, Shell, refused


def test_index_is_built_brought_up_to_date_and_used(shell: Shell) -> None:
    shell.write("a.md", "some zebra among many other words\n")
    shell.write("zebra.md", "nothing\n")
    shell.write("b.md", b"zebra \xff")
    before = shell.files()
    assert shell.there("search", "zebra").out == "a.md\t1\tsome zebra among many other words\nzebra.md\t\t\n"
    assert shell.run("index", str(shell.vault)) == Done(0, "2 notes are indexed\n", "")
    assert shell.there("search", "zebra") == Done(
        0,
        "zebra.md\t\t\na.md\t1\tsome zebra among many other words\n",
        "fsnotes: skipped 1 more: not text\n",
    )
    shell.write("new.md", "zebra\n")
    (shell.vault / "a.md").unlink()
    assert sorted(shell.there("search", "zebra").out.splitlines()) == ["new.md\t1\tzebra", "zebra.md\t\t"]
    assert shell.there("index", "--json").document() == {"indexed": 2, "skipped": []}
    shell.write("large.md", "x" * 1_048_577)
    assert shell.here("index") == Done(0, "2 notes are indexed\n", "fsnotes: skipped large.md: too large\n")
    assert before.keys() - shell.files().keys() == {"a.md"}


def test_index_is_for_one_workspace_that_is_there(shell: Shell) -> None:
    assert refused(shell.there("index", str(shell.vault)), 2, "invalid_argument")
    assert refused(shell.run("index", str(shell.vault / "none")), 2, "invalid_argument")
    assert shell.there("index") == Done(0, "0 notes are indexed\n", "")


def test_index_that_a_server_keeps_is_left_to_it(shell: Shell) -> None:
    shell.write("a.md", "word\n")
    with subprocess.Popen(
        [*FSNOTES, "serve", str(shell.vault)],
        cwd=shell.home,
        env=shell.environ(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        try:
            end = time.monotonic() + 30
            while not any(shell.state.glob("ws/*/index/search.sqlite3")):
                assert time.monotonic() < end
                time.sleep(0.01)
            assert shell.there("index") == Done(
                6, "", "fsnotes: busy: a server keeps this index, and brings it up to date itself\n"
            )
            assert shell.there("search", "word").out == "a.md\t1\tword\n"
        finally:
            server.kill()
    assert shell.there("index") == Done(0, "1 note is indexed\n", "")


def test_index_tells_a_person_how_far_it_is(shell: Shell) -> None:
    for number in range(2_000):
        shell.write(f"{number}.md", "word\n" * 50)
    with shell.on_terminal("index", str(shell.vault), results_too=True) as terminal:
        done = terminal.end()
    assert done.code == 0
    assert "indexing  " in done.err
    assert " of 2000  [" in done.err
    assert "2000 notes are indexed" in done.err


def test_index_may_be_interrupted_and_goes_on(shell: Shell) -> None:
    for number in range(300):
        shell.write(f"{number}.md", f"word {number}\n" * 50)
    for seconds in (0.2, 0.4):
        with subprocess.Popen(
            [*FSNOTES, "index", str(shell.vault)], cwd=shell.home, env=shell.environ(), stdout=subprocess.PIPE
        ) as process:
            time.sleep(seconds)
            process.kill()
    assert shell.there("index") == Done(0, "300 notes are indexed\n", "")
    assert len(shell.there("search", "word").out.splitlines()) == 3 * 300
    assert os.listdir(shell.vault) != []
