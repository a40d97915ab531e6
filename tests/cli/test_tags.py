"""`tags`: the same counts as JSON, as lines with tabs for programs, and as columns for a person."""

from __future__ import annotations

from tests.cli.shell import Done, Shell, refused


def test_tags_shows_what_there_is_and_how_often(shell: Shell) -> None:
    shell.write("a.md", "---\ntags: [Work]\n---\n#work/mail #x\n")
    shell.write("b.md", b"#x \xff")
    said = "fsnotes: skipped 1 more: not text\n"
    assert shell.here("tags") == Done(0, "Work\t2\nwork/mail\t1\nx\t1\n", said)
    assert shell.there("tags", "#wo") == Done(0, "Work\t2\nwork/mail\t1\n", said)
    (shell.vault / "b.md").unlink()
    assert shell.there("tags", "work/", "--json").document() == {
        "tags": [{"tag": "work/mail", "count": 1}],
        "skipped": [],
    }


def test_tags_joins_all_pages_and_gives_one_where_a_limit_asks_for_it(shell: Shell) -> None:
    names = [f"t{number:03}" for number in range(205)]
    shell.write("a.md", " ".join(f"#{name}" for name in names))
    shell.write("b.md", b"\xff")
    done = shell.there("tags")
    assert [line.split("\t")[0] for line in done.out.splitlines()] == names
    assert done.err == "fsnotes: skipped 1 more: not text\n"
    page = shell.there("tags", "--limit", "3", "--json").document()
    assert [tag["tag"] for tag in page["tags"]] == names[:3]
    following = shell.there("tags", "--limit", "2", "--cursor", page["nextCursor"])
    assert following.out == "t003\t1\nt004\t1\n"
    assert following.err.startswith("fsnotes: there is more: --cursor ")
    assert refused(shell.there("tags", "--limit", "201"), 2, "invalid_argument")
    assert refused(shell.there("tags", "x", "--cursor", page["nextCursor"]), 2, "invalid_argument")


def test_tags_lines_up_for_a_person_and_moves_no_terminal(shell: Shell) -> None:
    shell.write("a.md", "#work #work #日本 #e\x9b2J #b\u202d\n")
    with shell.on_terminal("tags", "-w", str(shell.vault), results_too=True, PYTHONUTF8="1") as terminal:
        assert terminal.end() == Done(
            0, "", "     2  #work\n     1  #b\n     1  #e\\u009b2J\n     1  #日本\n"
        )
    with shell.on_terminal("tags", "-w", str(shell.vault), "none", results_too=True) as terminal:
        assert terminal.end() == Done(0, "", "fsnotes: no tags here\n")
