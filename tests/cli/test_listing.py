"""`list` and `trash`: the same notes as JSON, as lines with tabs for programs, and as columns for a person."""

from __future__ import annotations

import os

import pytest

from fsnotes.cli import columns
from tests.cli.shell import Done, Shell, etag, refused

NAMES = ["a\x1b[31m.md", "b\u202ecod.md", "c\u200b.md", "d\ntwo.md", "e\x9b2J.md"]
SHOWN = [r"a\u001b[31m.md", r"b\u202ecod.md", r"c\u200b.md", r"d\u000atwo.md", r"e\u009b2J.md"]


def summary(path: str, title: str, data: bytes) -> dict[str, object]:
    return {
        "path": path,
        "title": title,
        "size": len(data),
        "modified": "2023-11-14T22:13:20Z",
        "etag": etag(data),
    }


def test_list_shows_folders_notes_and_what_it_skipped(shell: Shell) -> None:
    shell.write("garden.md", "# My garden\n")
    shell.write("Projects/plan.md", "plan\n")
    (shell.vault / "link.md").symlink_to("garden.md")
    assert shell.here("list") == Done(
        0, "Projects/\ngarden.md\tMy garden\t12\t2023-11-14T22:13:20Z\n", "fsnotes: skipped link.md: link\n"
    )
    done = shell.here("list", "--json")
    assert done.document() == {
        "notes": [summary("garden.md", "My garden", b"# My garden\n")],
        "folders": ["Projects"],
        "skipped": [{"path": "link.md", "reason": "link"}],
    }


def test_list_escapes_a_name_that_is_no_text_once(shell: Shell) -> None:
    (shell.vault / os.fsdecode(b"b\xff.md")).write_text("x")
    shell.write("back\\slash.md", "x")
    done = shell.there("list")
    assert (
        done.err == "fsnotes: skipped b\\xff.md: unnameable\nfsnotes: skipped back\\\\slash.md: unnameable\n"
    )


def test_list_takes_a_folder_a_pattern_and_an_order(shell: Shell) -> None:
    shell.write("a.md", "1", modified=1_700_000_001)
    shell.write("P/b.md", "333", modified=1_700_000_003)
    shell.write("P/Q/c.markdown", "22", modified=1_700_000_002)

    def paths(*arguments: str) -> list[str]:
        return [line.split("\t")[0] for line in shell.there("list", *arguments).out.splitlines()]

    assert paths("P") == ["P/Q/", "P/b.md"]
    assert paths("P/", "-r", "--sort", "size") == ["P/b.md", "P/Q/c.markdown"]
    assert paths("-r", "--sort", "modified") == ["P/b.md", "P/Q/c.markdown", "a.md"]
    assert paths("--recursive", "--glob", "P/**") == ["P/Q/c.markdown", "P/b.md"]


def test_list_takes_a_tag(shell: Shell) -> None:
    shell.write("a.md", "#Work/mail\n")
    shell.write("P/b.md", "---\ntags: work\n---\n")
    shell.write("P/c.md", "#workshop\n")
    done = shell.there("list", "-r", "--tag", "#work")
    assert [line.split("\t")[0] for line in done.out.splitlines()] == ["P/b.md", "a.md"]
    assert shell.there("list", "--tag", "work/mail").out.split("\t")[0] == "a.md"
    assert refused(shell.there("list", "--tag", "two words"), 2, "invalid_argument")


def test_list_of_an_empty_vault_says_nothing_to_a_program_and_says_so_to_a_person(shell: Shell) -> None:
    assert shell.there("list") == Done(0)
    assert shell.there("list", "--json").document() == {"notes": [], "folders": [], "skipped": []}
    with shell.on_terminal("list", "-w", str(shell.vault), results_too=True) as terminal:
        assert terminal.end() == Done(0, "", "fsnotes: no notes here\n")


def test_list_joins_all_pages_and_gives_one_where_a_limit_asks_for_it(shell: Shell) -> None:
    paths = [f"n{number:03}.md" for number in range(205)]
    for path in paths:
        shell.write(path, "")
    done = shell.there("list")
    assert ([line.split("\t")[0] for line in done.out.splitlines()], done.err) == (paths, "")
    whole = shell.there("list", "--json").document()
    assert ([note["path"] for note in whole["notes"]], set(whole)) == (paths, {"notes", "folders", "skipped"})

    page = shell.there("list", "--limit", "3", "--json").document()
    assert [note["path"] for note in page["notes"]] == paths[:3]
    following = shell.there("list", "--limit", "2", "--cursor", page["nextCursor"])
    assert [line.split("\t")[0] for line in following.out.splitlines()] == paths[3:5]
    (line,) = following.err.splitlines()
    assert line.startswith("fsnotes: there is more: --cursor ")
    last = shell.there("list", "--cursor", line.rpartition(" ")[2], "--json").document()
    assert [note["path"] for note in last["notes"]] == paths[5:105]


@pytest.mark.parametrize("limit", ["0", "-1", "201"])
@pytest.mark.parametrize("command", ["list", "trash"])
def test_a_limit_that_cannot_be_meant_is_refused(shell: Shell, command: str, limit: str) -> None:
    assert refused(shell.there(command, "--limit", limit), 2, "invalid_argument")


def test_what_has_no_name_to_show_is_counted_once_over_all_pages(shell: Shell) -> None:
    for number in range(240):
        folder = os.fsencode(shell.vault) + b"/f%03d" % number
        os.mkdir(folder)
        os.close(os.open(folder + b"/a\x1b.lnk", os.O_CREAT | os.O_WRONLY))
        os.symlink("x", folder + b"/\x1b")
    document = shell.there("list", "-r", "--json").document()
    assert document == {"notes": [], "folders": [], "skipped": [{"count": 240, "reason": "link"}]}
    assert shell.there("list", "-r") == Done(0, "", "fsnotes: skipped 240 more: link\n")


def test_list_lines_up_for_a_person(shell: Shell) -> None:
    shell.write("Projects/plan.md", "# Plan\n")
    shell.write("garden.md", "# My garden\n" + "x" * 12_345)
    shell.write("日本.md", "")
    with shell.on_terminal(
        "list", "-r", "-w", str(shell.vault), results_too=True, TZ="XXX-2", PYTHONUTF8="1"
    ) as terminal:
        assert terminal.end() == Done(
            0,
            "",
            "   7 B  2023-11-15 00:13  Projects/plan.md\n"
            " 12 kB  2023-11-15 00:13  garden.md  (My garden)\n"
            "   0 B  2023-11-15 00:13  日本.md\n",
        )
    with shell.on_terminal("list", "-w", str(shell.vault), "--glob", "x", results_too=True) as terminal:
        assert terminal.end() == Done(0, "", "fsnotes: no notes here\n")


def test_an_encoding_that_lacks_a_letter_does_not_end_the_listing(shell: Shell) -> None:
    shell.write("日本.md", "")
    done = shell.here("list", env={"PYTHONIOENCODING": "latin-1"})
    assert done == Done(0, "\\u65e5\\u672c.md\t\\u65e5\\u672c\t0\t2023-11-14T22:13:20Z\n")


@pytest.mark.parametrize("results_too", [True, False])
def test_a_hostile_name_reaches_no_terminal_as_it_is(shell: Shell, results_too: bool) -> None:
    for name in NAMES:
        shell.write(name, f"# title \x1b]0;x\x07 of {name}")
    (shell.vault / "z\x1b[2J.md").symlink_to("x")
    with shell.on_terminal("list", "-w", str(shell.vault), results_too=results_too) as terminal:
        done = terminal.end()
    said = done.out + done.err
    assert done.code == 0
    assert all(shown in said for shown in SHOWN)
    assert [character for character in said if not character.isprintable() and character not in "\n\t"] == []


def test_a_hostile_name_in_the_trash_reaches_no_terminal_as_it_is(shell: Shell) -> None:
    for number, name in enumerate(NAMES):
        shell.write(f".trash/20260131T235959Z-{number:032x}/{name}")
    with shell.on_terminal("trash", "-w", str(shell.vault), results_too=True, TZ="XXX+1") as terminal:
        lines = terminal.end().err.splitlines()
    assert lines == [
        f"20260131T235959Z-{number:032x}     2 B  2026-01-31 22:59  {SHOWN[number]}"
        for number in (4, 3, 2, 1, 0)
    ]


def test_a_shell_pattern_brings_no_control_characters_into_a_complaint(shell: Shell) -> None:
    done = shell.there("list", "a", *NAMES)
    assert refused(done, 2, "invalid_argument")
    assert [character for character in done.err if not character.isprintable() and character != "\n"] == []


def test_trash_shows_what_was_deleted_newest_first(shell: Shell) -> None:
    assert shell.there("trash") == Done(0)
    assert shell.there("trash", "--json").document() == {"entries": []}
    old, new = f"20260101T000000Z-{1:032x}", f"20260102T030405Z-{2:032x}"
    shell.write(f".trash/{old}/Projects/plan.md", "plan")
    shell.write(f".trash/{new}/a.md", "")
    shell.write(".trash/by hand.md")
    assert shell.here("trash") == Done(
        0, f"{new}\ta.md\t0\t2026-01-02T03:04:05Z\n{old}\tProjects/plan.md\t4\t2026-01-01T00:00:00Z\n"
    )
    first = {"trashId": new, "path": "a.md", "deletedAt": "2026-01-02T03:04:05Z", "size": 0}
    second = {"trashId": old, "path": "Projects/plan.md", "deletedAt": "2026-01-01T00:00:00Z", "size": 4}
    assert shell.here("trash", "--json").document() == {"entries": [first, second]}
    page = shell.there("trash", "--json", "--limit", "1").document()
    assert page == {"entries": [first], "nextCursor": page["nextCursor"]}
    assert shell.there("trash", "--json", "--cursor", page["nextCursor"]).document() == {"entries": [second]}


def test_trash_that_is_empty_says_so_to_a_person(shell: Shell) -> None:
    with shell.on_terminal("trash", "-w", str(shell.vault), results_too=True) as terminal:
        assert terminal.end() == Done(0, "", "fsnotes: the trash is empty\n")


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (9949, "9.9 kB"), (9950, "10 kB"), (999_499, "999 kB"),
        (999_500, "1.0 MB"), (1_048_576, "1.0 MB"), (16_777_216, "17 MB"), (10**12, "1.0 TB"), (2**63, "9.2 EB"),
        (10**22, "huge"),
    ],
)  # fmt: skip
def test_sizes_fit_their_column(count: int, shown: str) -> None:
    assert columns.size(count) == shown
    assert len(shown) <= columns.SIZE_WIDTH


@pytest.mark.parametrize("seconds", [2.0**60, -(2.0**60), float("inf"), float("nan")])
def test_a_time_that_no_calendar_has_is_a_dash(seconds: float) -> None:
    assert columns.moment(seconds) == "-"


@pytest.mark.parametrize(
    ("title", "path", "tells_more"),
    [
        ("plan", "plan.md", False),
        ("Plan", "Projects/plan.md", False),
        ("plan.md", "plan.md", False),
        ("The plan", "plan.md", True),
        ("", "plan.md", True),
        ("v1.2", "v1.2.markdown", False),
    ],
)
def test_a_title_is_shown_where_it_tells_more_than_the_name(title: str, path: str, tells_more: bool) -> None:
    assert columns.differs(title, path) is tells_more
