"""`links`: the same links as JSON, as lines with tabs for programs, and as sentences for a person."""

from __future__ import annotations

from tests.cli.shell import Done, Shell, refused


def test_links_of_a_note_to_it_and_astray(shell: Shell) -> None:
    shell.write("a.md", "# A\n\n[[b#H]] [[b#None]] [[gone|x]]\n[[twin]]\n")
    shell.write("b.md", "# H\n")
    shell.write("x/twin.md")
    shell.write("y/twin.md")
    shell.write("bad.md", b"\xff")
    out = "a.md\t3\t[[b#H]]\tb.md\na.md\t3\t[[b#None]]\tb.md\n"
    assert shell.here("links", "a") == Done(
        0, out + "a.md\t3\t[[gone|x]]\na.md\t4\t[[twin]]\tx/twin.md\ty/twin.md\n"
    )
    said = "fsnotes: skipped 1 more: not text\n"
    assert shell.there("links", "b", "--direction", "in") == Done(0, out, said)
    assert shell.there("links", "--direction", "broken") == Done(0, "a.md\t3\t[[gone|x]]\n", said)
    assert shell.there("links", "y", "--direction", "ambiguous") == Done(0)
    assert shell.there("links", "a.md", "--direction", "ambiguous", "--json").document() == {
        "links": [{"source": "a.md", "line": 4, "link": "[[twin]]", "targets": ["x/twin.md", "y/twin.md"]}],
        "skipped": [],
    }


def test_links_needs_a_note_where_one_is_meant(shell: Shell) -> None:
    assert refused(shell.there("links"), 2, "invalid_argument")
    assert refused(shell.there("links", "none"), 4, "not_found")
    assert refused(shell.there("links", "../x"), 3, "not_allowed")
    assert refused(shell.there("links", "a", "--direction", "sideways"), 2, "invalid_argument")
    shell.write("bad.md", b"\xff")
    assert refused(shell.there("links", "bad"), 6, "not_text")


def test_links_lists_orphans(shell: Shell) -> None:
    shell.write("a.md", "[[b]] [[a]]")
    shell.write("b.md")
    shell.write("sub/c\x1bd.md")
    shell.write("bad.md", b"\xff")
    said = "fsnotes: skipped 1 more: not text\n"
    assert shell.here("links", "--orphans") == Done(0, "a.md\nbad.md\nsub/c\\u001bd.md\n", said)
    assert shell.there("links", "--orphans", "sub", "--json").document()["orphans"] == ["sub/c\x1bd.md"]
    assert refused(shell.there("links", "none", "--orphans"), 4, "not_found")
    for more in (["--direction", "out"], ["--limit", "1"], ["--cursor", "x"]):
        assert refused(shell.there("links", "--orphans", *more), 2, "invalid_argument")


def test_links_joins_all_pages_and_gives_one_where_a_limit_asks_for_it(shell: Shell) -> None:
    shell.write("a.md", "".join(f"[[n{number}]]\n" for number in range(205)))
    done = shell.there("links", "a")
    assert (done.err, [line.split("\t")[1] for line in done.out.splitlines()]) == (
        "",
        [str(line) for line in range(1, 206)],
    )
    page = shell.there("links", "a", "--limit", "2", "--json").document()
    following = shell.there("links", "a", "--limit", "1", "--cursor", page["nextCursor"])
    assert following.out == "a.md\t3\t[[n2]]\n"
    assert following.err.startswith("fsnotes: there is more: --cursor ")
    assert refused(shell.there("links", "a", "--limit", "0"), 2, "invalid_argument")


def test_links_are_shown_to_a_person_and_move_no_terminal(shell: Shell) -> None:
    shell.write("a.md", "[[b\x1b]] [[b#no]] [[twin]] [[\u202eb]]\n")
    shell.write("b.md")
    for number in range(12):
        shell.write(f"{number:02}/twin.md")
    with shell.on_terminal(
        "links", "-w", str(shell.vault), "a", results_too=True, PYTHONUTF8="1"
    ) as terminal:
        done = terminal.end()
    assert done.err.splitlines() == [
        "a.md:1  [[b\\u001b]]  -> nothing",
        "a.md:1  [[b#no]]  -> b.md (not that part of it)",
        f"a.md:1  [[twin]]  -> {', '.join(f'{number:02}/twin.md' for number in range(10))}, 2 more",
        "a.md:1  [[\\u202eb]]  -> nothing",
    ]
    with shell.on_terminal(
        "links", "-w", str(shell.vault), "b", "--direction", "out", results_too=True
    ) as terminal:
        assert terminal.end() == Done(0, "", "fsnotes: no such links\n")
