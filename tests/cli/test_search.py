"""`search`: the same hits as JSON, as lines with tabs for programs, and under their notes for a person."""

from __future__ import annotations

from tests.cli.shell import Done, Shell, refused


def test_search_shows_notes_and_lines(shell: Shell) -> None:
    shell.write("a.md", "# Plan\n\nWater the garden\nA garden\n")
    shell.write("f/garden.md", "---\ntags: [t]\n---\nnothing\n")
    shell.write("b.md", b"garden \xff")
    said = "fsnotes: skipped 1 more: not text\n"
    rows = "a.md\t3\tWater the garden\na.md\t4\tA garden\nf/garden.md\t\t\n"
    assert shell.here("search", "garden") == Done(0, rows, said)
    assert shell.there("search", "garden", "--tag", "t") == Done(0, "f/garden.md\t\t\n", said)
    assert shell.there("search", "garden", "--folder", "f") == Done(0, "f/garden.md\t\t\n", "")
    assert shell.there("search", "garden -water") == Done(0, "f/garden.md\t\t\n", said)
    assert shell.there("search", "^W.*n$", "--regex") == Done(0, "a.md\t3\tWater the garden\n", said)
    (shell.vault / "b.md").unlink()
    assert shell.there("search", "water", "--json").document() == {
        "hits": [{"path": "a.md", "title": "Plan", "lines": [{"line": 3, "text": "Water the garden"}]}],
        "partial": False,
        "skipped": [],
    }


def test_search_joins_all_pages_and_gives_one_where_a_limit_asks_for_it(shell: Shell) -> None:
    for number in range(205):
        shell.write(f"{number:03}.md", "word\n")
    shell.write("x.md", b"\xff")
    done = shell.there("search", "word")
    assert [line.split("\t")[0] for line in done.out.splitlines()] == [f"{n:03}.md" for n in range(205)]
    assert done.err == "fsnotes: skipped 1 more: not text\n"
    page = shell.there("search", "word", "--limit", "3", "--json").document()
    assert [hit["path"] for hit in page["hits"]] == ["000.md", "001.md", "002.md"]
    following = shell.there("search", "word", "--limit", "2", "--cursor", page["nextCursor"])
    assert following.out == "003.md\t1\tword\n004.md\t1\tword\n"
    assert following.err.startswith("fsnotes: there is more: --cursor ")
    assert refused(shell.there("search", "word", "--limit", "201"), 2, "invalid_argument")
    assert refused(shell.there("search", "other", "--cursor", page["nextCursor"]), 2, "invalid_argument")


def test_search_refuses_as_its_siblings_do(shell: Shell) -> None:
    shell.write("a.md", "word\n")
    assert refused(shell.there("search"), 2, "invalid_argument")
    assert refused(shell.there("search", ""), 2, "invalid_argument")
    assert refused(shell.there("search", "(", "--regex"), 2, "invalid_argument")
    assert refused(shell.there("search", "word", "--folder", "../x"), 3, "not_allowed")
    assert refused(shell.there("search", "word", "--folder", "none"), 4, "not_found")
    assert shell.there("search", "nothing") == Done(0, "", "")


def test_search_lines_up_for_a_person_and_moves_no_terminal(shell: Shell) -> None:
    shell.write("a.md", "# Title\n\nword \x9b2J\u202d 日本\n")
    shell.write("word.md", "nothing\n")
    with shell.on_terminal(
        "search", "-w", str(shell.vault), "word", results_too=True, PYTHONUTF8="1"
    ) as terminal:
        assert terminal.end() == Done(
            0, "", "a.md  Title\n     3  word \\u009b2J\\u202d 日本\nword.md  word\n"
        )
    with shell.on_terminal("search", "-w", str(shell.vault), "none", results_too=True) as terminal:
        assert terminal.end() == Done(0, "", "fsnotes: no such notes\n")
