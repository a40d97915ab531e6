"""Tables and colours: on a terminal that shows them, nowhere else, and never by the grace of what a note says."""

from __future__ import annotations

import re
import shutil
import sys

import pytest

from fsnotes.cli import columns
from fsnotes.cli.columns import Column
from fsnotes.cli.console import terminal_width
from fsnotes.cli.tables import rendered
from tests.cli.shell import PYTHON, Done, Shell, Terminal
from tests.cli.test_listing import NAMES, SHOWN

SGR = re.compile(r"\x1b\[[0-9;]*m")
"""The only sequence that is ours: colour and weight."""

MARKUP = ["[bold red]x.md", "[link=x]y.md", ":skull:.md", "[b][i]z.md"]


def on_colour_terminal(shell: Shell, *words: str, **env: str) -> Done:
    how = {"TERM": "xterm-256color", "COLUMNS": "120", "TZ": "UTC", "PYTHONUTF8": "1", **env}
    with shell.on_terminal(*words, results_too=True, **how) as terminal:
        return terminal.end()


def harmless(text: str) -> bool:
    return [c for c in SGR.sub("", text) if not c.isprintable() and c != "\n"] == []


def test_notes_are_a_table_with_titles_and_colours(shell: Shell) -> None:
    shell.write("Projects/plan.md", "# Plan\n")
    shell.write("garden.md", "# My garden\n" + "x" * 12_345)
    shell.write("日本.md", "")
    done = on_colour_terminal(shell, "list", "-w", str(shell.vault))
    assert SGR.findall(done.err) != []
    assert harmless(done.err)
    assert SGR.sub("", done.err).splitlines() == [
        "  Size  Modified          Path       Title",
        "                          Projects/",
        " 12 kB  2023-11-14 22:13  garden.md  My garden",
        "   0 B  2023-11-14 22:13  日本.md",
    ]


def test_the_same_without_colours_where_nobody_wants_them(shell: Shell) -> None:
    shell.write("garden.md", "# My garden\n")
    done = on_colour_terminal(shell, "list", "-w", str(shell.vault), NO_COLOR="1")
    assert done.err == (
        "  Size  Modified          Path       Title\n  12 B  2023-11-14 22:13  garden.md  My garden\n"
    )
    assert SGR.findall(on_colour_terminal(shell, "list", "-w", str(shell.vault), NO_COLOR="").err) != []


@pytest.mark.parametrize("term", ["dumb", "unknown", ""])
def test_a_terminal_that_shows_none_gets_plain_columns(shell: Shell, term: str) -> None:
    shell.write("garden.md", "# My garden\n")
    done = on_colour_terminal(shell, "list", "-w", str(shell.vault), TERM=term)
    assert done.err == "  12 B  2023-11-14 22:13  garden.md  (My garden)\n"


def test_a_pipe_gets_lines_whatever_the_terminal_is(shell: Shell) -> None:
    shell.write("garden.md", "# My garden\n")
    env = {"TERM": "xterm-256color", "FORCE_COLOR": "1", "COLORTERM": "truecolor"}
    done = shell.here("list", env=env)
    assert done == Done(0, "garden.md\tMy garden\t12\t2023-11-14T22:13:20Z\n")
    with shell.on_terminal("list", "-w", str(shell.vault), **env) as terminal:
        assert terminal.end() == done


def test_rich_is_loaded_for_a_table_and_for_nothing_else(shell: Shell) -> None:
    shell.write("garden.md", "# My garden\n")
    code = (
        "import sys\nfrom fsnotes.cli import main\ncode = main(sys.argv[1:])\n"
        "print('rich' in sys.modules, sorted({'pygments', 'markdown_it'} & sys.modules.keys()))\nsys.exit(code)\n"
    )

    def last(*words: str, term: str) -> str:
        command = [*PYTHON, "-c", code, *words, "-w", str(shell.vault)]
        with Terminal(command, shell.environ(TERM=term), shell.home, results_too=True) as terminal:
            return terminal.end().err.splitlines()[-1]

    assert last("list", term="xterm") == "True []"
    assert last("list", "--json", term="xterm") == "False []"
    assert last("read", "garden", term="xterm") == "False []"
    assert last("list", term="dumb") == "False []"
    assert (
        shell.run("list", "-w", "Notes", command=[sys.executable, "-c", code]).out.splitlines()[-1]
        == "False []"
    )


@pytest.mark.parametrize("width", ["40", "60", "200"])
def test_hostile_names_and_texts_are_shown_and_never_obeyed(shell: Shell, width: str) -> None:
    for name in [*NAMES, *MARKUP]:
        shell.write(
            name,
            f"# title \x1b]0;x\x07 [red]of[/red] {name}\nword \x1b[2J [blink]y[/blink]\n#tag\n[[n\x9bone]]\n",
        )
    for number, name in enumerate([*NAMES, *MARKUP]):
        shell.write(f".trash/20260131T235959Z-{number:032x}/{name}")
    for words in (["list"], ["trash"], ["search", "word"], ["tags"], ["links", "--direction", "broken"]):
        done = on_colour_terminal(shell, *words, "-w", "Notes", "--jail", "off", COLUMNS=width)
        assert done.code == 0
        assert harmless(done.err)
        if width == "200" and words != ["tags"]:
            plain = SGR.sub("", done.err)
            assert [name for name in SHOWN if name not in plain] == []
            assert [name for name in MARKUP if name not in plain] == []


def test_nothing_of_a_long_name_is_left_out(shell: Shell) -> None:
    name = "x" * 100 + "END.md"
    shell.write(name, "")
    done = on_colour_terminal(shell, "list", "-w", str(shell.vault), COLUMNS="60")
    assert "".join(line.strip() for line in SGR.sub("", done.err).splitlines()[1:]).replace(" ", "").endswith(
        name
    ) or name in SGR.sub("", done.err).replace("\n", "").replace(" ", "")
    assert "…" not in done.err


def test_a_trash_id_is_whole_or_there_is_no_table(shell: Shell) -> None:
    """It is there to be copied."""
    trash_id = f"20260131T235959Z-{1:032x}"
    shell.write(f".trash/{trash_id}/a.md", "a")
    wide = on_colour_terminal(
        shell, "trash", "-w", str(shell.vault), COLUMNS="120", NO_COLOR="1"
    ).err.splitlines()
    assert wide[0].split() == ["Trash", "id", "Size", "Deleted", "Path"]
    assert wide[1] == f"{trash_id}     1 B  2026-01-31 23:59  a.md"
    narrow = on_colour_terminal(shell, "trash", "-w", str(shell.vault), COLUMNS="80").err
    assert narrow == f"{trash_id}     1 B  2026-01-31 23:59  a.md\n"


def test_hits_tags_and_links_are_tables_too(shell: Shell) -> None:
    shell.write("a.md", "# Alpha\nsome zebra here #zoo\n[[b]] and [[none]]\n")
    shell.write("b.md", "---\ntitle: Beta\n---\n")

    def lines(*words: str) -> list[list[str]]:
        done = on_colour_terminal(shell, *words, "-w", str(shell.vault), NO_COLOR="1")
        return [line.split() for line in done.err.splitlines()]

    assert lines("search", "zebra") == [
        ["Line", "Path", "Title", "and", "text"], ["a.md", "Alpha"], ["2", "some", "zebra", "here", "#zoo"],
    ]  # fmt: skip
    assert lines("tags") == [["Notes", "Tag"], ["1", "#zoo"]]
    assert lines("links", "a") == [
        ["Line", "In", "Link", "Leads", "to"], ["3", "a.md", "[[b]]", "b.md"], ["3", "a.md", "[[none]]", "nothing"],
    ]  # fmt: skip


def test_titles_stand_above_the_first_page_only(shell: Shell) -> None:
    for number in range(205):
        shell.write(f"n{number:03}.md", "")
    done = on_colour_terminal(shell, "list", "-w", str(shell.vault), NO_COLOR="1")
    assert len(done.err.splitlines()) == 206
    assert done.err.count("Modified") == 1


def test_a_dumb_terminal_gets_no_line_that_is_written_again_and_again(shell: Shell) -> None:
    for number in range(3_000):  # more than one step takes in
        shell.write(f"{number}.md", "x")

    def said(term: str) -> str:
        words = ("index", "Notes", "--jail", "off", "--state-dir", f"~/state of {term}")
        with shell.on_terminal(*words, TERM=term) as terminal:
            done = terminal.end()
        assert (done.code, done.out) == (0, "3000 notes are indexed\n")
        return done.err

    assert said("dumb") == ""
    assert "\x1b[K" in said("xterm")


def test_a_row_ends_where_its_text_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """No trailing blanks, which would wrap in a terminal that was made narrower."""
    monkeypatch.setenv("COLUMNS", "100")
    text = rendered(
        (Column("A", width=3), Column("B")), [["1", "x"], ["2", "long" * 5]], titles=True, colours=False
    )
    assert text == "A    B\n1    x\n2    longlonglonglonglong"


@pytest.mark.parametrize("stated", ["", "0", "-5", "wide", "²", "١"])
def test_a_width_that_cannot_be_meant_is_no_width(monkeypatch: pytest.MonkeyPatch, stated: str) -> None:
    monkeypatch.setenv("COLUMNS", stated)
    assert terminal_width() in {1, shutil.get_terminal_size().columns}


@pytest.mark.parametrize(("width", "enough"), [("52", True), ("51", False)])
def test_a_table_needs_room_for_what_is_folded(
    monkeypatch: pytest.MonkeyPatch, width: str, *, enough: bool
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    assert columns.fits((Column("A", width=6), Column("B", width=16), Column("C"), Column("D"))) is enough
