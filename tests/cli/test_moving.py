"""`move`: what moves, what is told of the links, and that nothing is moved over anything."""

from __future__ import annotations

import pytest

from tests.cli.shell import Done, Shell, etag, refused

A, C = b"# A\r\n[x](c.md)", b"[[a]] ![[a]]\n[[twin]]\n"


@pytest.fixture
def vault(shell: Shell) -> Shell:
    shell.write("a.md", A)
    shell.write("c.md", C)
    shell.write("x/twin.md", b"")
    shell.write("y/twin.md", b"")
    return shell


def test_move_tells_what_it_rewrote(vault: Shell) -> None:
    done = vault.here("move", "a", "sub/b")
    assert done == Done(0, "moved a.md to sub/b.md\nrewrote 1 link in sub/b.md\nrewrote 2 links in c.md\n")
    assert (vault.vault / "sub/b.md").read_bytes() == A.replace(b"c.md", b"../c.md")
    assert (vault.vault / "c.md").read_bytes() == C.replace(b"[[a", b"[[b")


def test_move_tells_what_it_left_alone_on_the_other_channel(vault: Shell) -> None:
    done = vault.there("move", "x/twin", "x/other")
    assert done == Done(
        0,
        "moved x/twin.md to x/other.md\n",
        "fsnotes: left alone: c.md, line 2, [[twin]]: several files answer to it\n",
    )


def test_move_tells_how_many_notes_were_not_looked_into(vault: Shell) -> None:
    vault.write("hard.md", b"[[a]]")
    (vault.vault.parent / "hard").hardlink_to(vault.vault / "hard.md")
    done = vault.there("move", "a", "c2")
    assert done.err == "fsnotes: left alone: 1 note, not looked into: hard link\n"


def test_a_dry_run_says_what_it_would_do(vault: Shell) -> None:
    done = vault.here("move", "a.md", "b.md", "--dry-run", "--if-match", etag(A))
    assert done == Done(0, "would move a.md to b.md\nwould rewrite 2 links in c.md\n")
    assert (vault.vault / "a.md").read_bytes() == A
    assert (vault.vault / "c.md").read_bytes() == C


def test_move_as_json_is_what_an_assistant_gets(vault: Shell) -> None:
    document = vault.there("move", "a", "b", "--json").document()
    changed = C.replace(b"[[a", b"[[b")
    assert document == {
        "outcome": "moved",
        "path": "a.md",
        "newPath": "b.md",
        "etag": etag(A),
        "updated": [{"path": "c.md", "etag": etag(changed), "links": 2}],
        "leftAlone": [],
    }


def test_a_folder_moves_and_links_can_be_kept(vault: Shell) -> None:
    vault.write("d.md", b"[x](x/twin.md)")
    assert vault.here("move", "x", "deep/x", "--keep-links") == Done(0, "moved x to deep/x (1 note)\n")
    assert (vault.vault / "deep/x/twin.md").exists()
    assert (vault.vault / "d.md").read_bytes() == b"[x](x/twin.md)"


@pytest.mark.parametrize(
    ("words", "code", "slug"),
    [
        (("a", "c"), 5, "exists"),
        (("gone", "b"), 4, "not_found"),
        (("a", "../b"), 3, "not_allowed"),
        (("a", "b?"), 2, "invalid_argument"),
        (("a", "b", "--if-match", "0" * 32), 5, "conflict"),
    ],
)
def test_a_move_that_is_refused_moves_nothing(
    vault: Shell, words: tuple[str, ...], code: int, slug: str
) -> None:
    assert refused(vault.there("move", *words), code, slug)
    assert (vault.vault / "a.md").read_bytes() == A
    assert (vault.vault / "c.md").read_bytes() == C
