"""Frontmatter blocks as people and programs write them, for property tests: fragments of every style, put together."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import ruamel.yaml
from hypothesis import strategies as st

KEYS = [
    "title", "tags", "aliases", "b_c", "due date", "Größe", "x-1", "a/b", "k.v", "'quoted: key'", '"dq"',
    "42", "1.10", "true", "null", "2024-01-05", "日本", "\U0001f600", "? explicit",
]  # fmt: skip

# What stands behind the colon, with "\n" for line ends and two spaces for one step of indentation.
ONE_LINE = [
    " words", " 'it''s'", ' "esc \\n \\u00e9 \\\\"', " 01234", " 1.10", " 0o17", " 0x1F", " 1_000", " -5",
    " .inf", " .nan", " 1e3", " yes", " No", " on", " ~", " null", " true", " FALSE", " 2024-01-05",
    " 2024-01-05T10:00:00", " 2001-12-14t21:59:43.10-05:00", " !!str 3", " [a, 'b', 1.10, [c]]",
    " {x: 1, 'y': [2]}", " []", " {}", "", "  ", " a:b#c", " http://x.y/z?a=1#b", " 日本語 \U0001f600",
    " a - dash", " '[[Link]]'", ' "[[Link#H|x]]"', " !!binary aGk=", " &here anchored", " '@'", " 12:30",
    " 1.2.3",
]  # fmt: skip
MANY_LINES = [
    "\n  - a\n  - 'b' \n  - 1.10", "\n- a\n- b", "\n    - a\n    - x: 1\n      y: 2",
    "\n  x: 1\n  y:\n    z: [1]", " |\n  text\n   more\n  # no comment", " |-\n  text", " |+\n  kept\n\n",
    " >\n  folded\n  text\n\n  par", " >2-\n   deep", " plain\n  goes on\n\n  and on",
    " 'quoted\n\n  goes on'", ' "dq \\\n  goes on"', " [a,\n  b\n  ]", " {x: 1,\n  y: 2}",
    "\n  # inside\n  - a # one\n  # between\n  - b # two", "\n  -\n  - ", "\n\n  - after a blank line",
    "\n  later", "\n  - |\n    text in a list\n  - >-\n    more", "\n  - - nested\n    - list\n  - x",
    "\n  'on its own line'",
]  # fmt: skip
COMMENTS = ["", "", "", "", " # comment", "  # 'quote"]
BETWEEN = ["", "", "", "\n", "# comment\n", "\n\n", "#\n", "  # indented comment\n", "   \n"]
ENDS = ["\n", "\n", "\r\n", "\r"]
BODIES = ["", "body\n", "\n# Heading\n", "---\nx: y\n---\n", "no line end", "- a\r\n", "\r\n"]


@dataclass(frozen=True)
class Note:
    """A note with frontmatter, and the names by which its properties are addressed."""

    data: bytes
    names: tuple[str, ...]


def name_of(key: str) -> str:
    """The name by which the property is addressed that is written with *key*."""
    return key.removeprefix("? ").strip("'\"")


@st.composite
def pairs(draw: st.DrawFn, key: str) -> str:
    value = draw(st.sampled_from(ONE_LINE) | st.sampled_from(MANY_LINES))
    comment = draw(st.sampled_from(COMMENTS))
    if key.startswith("? "):
        return f"{key}\n:{value if not value.startswith(chr(10)) else ' x'}"
    first, newline, rest = value.partition("\n")
    if first.lstrip()[:1] in ("'", '"', "[", "{", "p") and rest:
        return f"{key}:{value}{comment}"  # a comment cannot stand in the middle of it
    return f"{key}:{first}{comment}{newline}{rest}"


@st.composite
def notes(draw: st.DrawFn) -> Note:
    keys = draw(st.lists(st.sampled_from(KEYS), unique=True, max_size=5))
    parts = [draw(st.sampled_from(BETWEEN))]
    parts += [draw(pairs(key)) + "\n" + draw(st.sampled_from(BETWEEN)) for key in keys]
    if keys and draw(st.booleans()):
        parts.append("alias_of: *here\n" if any("&here" in part for part in parts) else "")
    text = "".join(parts)
    if draw(st.integers(0, 5)) == 0:
        text = "".join("  " + line if line.strip() else line for line in io.StringIO(text, newline="\n"))
    ends = draw(st.sampled_from([["\n"], ["\r\n"], ["\r"], ENDS]))
    return Note(_framed(draw, text, ends), tuple(name_of(key) for key in keys))


@st.composite
def notes_in_braces(draw: st.DrawFn) -> Note:
    keys = draw(st.lists(st.sampled_from(["a", "'b'", '"c"', "Größe", "1"]), unique=True, max_size=4))
    values = ["1", "x y", "'q, r'", "[1, 2]", "{x: {y: z}}", "01234", "null", '"\\u00e9"', "2024-01-05"]
    gaps = draw(st.sampled_from([["", " "], ["\n", "\n  "], ["", " ", "\n", " # comment\n"]]))
    gap = st.sampled_from(gaps)
    parts = [
        f"{draw(gap)}{key}: {draw(st.sampled_from(values))}{draw(st.sampled_from(['', ' ']))}" for key in keys
    ]
    comma = draw(st.sampled_from(["", "", ","])) if keys else ""
    text = (
        draw(gap)
        + "{"
        + ",".join(parts)
        + comma
        + draw(gap)
        + "}"
        + draw(st.sampled_from(["", " # end"]))
        + "\n"
    )
    return Note(
        _framed(draw, text, draw(st.sampled_from([["\n"], ["\r\n"]]))), tuple(name_of(key) for key in keys)
    )


def _framed(draw: st.DrawFn, text: str, ends: list[str]) -> bytes:
    opening = draw(st.sampled_from(["---", "--- ", "---\t"]))
    closing = draw(st.sampled_from(["---", "...", "---  "]))
    lines = [opening, *text.split("\n")[:-1], closing]
    note = "".join(line + draw(st.sampled_from(ends)) for line in lines) + draw(st.sampled_from(BODIES))
    return (draw(st.sampled_from(["", "", "\ufeff"])) + note).encode()


NEW_KEYS = ["new", "another new", "yes", "7", "a: b", "#x", "[x]", "null2", "Ü", 'q"uo\\te']
VALUES = [
    "words", "'quoted'", '"dq # no comment"', "01234", "1.10", "yes", "null", "", "2024-01-05", "[a, b]",
    "{x: 1}", "a:b", "- a\n- b", "- x: 1\n  y: 2\n- z", "x: 1\ny: [2]", "|\n  text\n    more\n",
    ">-\n folded\n text", "|+\n  kept\n\n", "|2\n   deep\n", "'two\nlines'", "[a,\n  b]", "plain\ngoes on",
    "  - indented\n  - list", "日本", "-5", ".nan", "- |\n  text\n- b", "? a\n: b", "\r\n- a\r\n- b\r\n",
    '"\\ud83d\\ude00"', "- a",
]  # fmt: skip


def parser() -> Any:
    """A parser without any of our care."""
    yaml = ruamel.yaml.YAML(typ="safe", pure=True)
    yaml.composer.warn_double_anchors = False  # the last one counts
    return yaml


def load(text: str) -> Any:
    """What such a parser reads."""
    return parser().load(text)
