"""What a note's properties are to those who show and search them: values that JSON has, tags, aliases, places."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings

from fsnotes.errors import FsnotesError, InvalidYaml, NotText
from fsnotes.notes.markdown.tags import tag_of
from fsnotes.notes.property_reading import Term, read_properties
from tests.notes.blocks import Note, notes


def _texts(terms: tuple[Term, ...]) -> list[str]:
    return [term.text for term in terms]


def _note(block: str) -> bytes:
    return f"\ufeff---\r\n{block}\n---\nbody".encode()


@pytest.mark.parametrize(
    ("block", "values"),
    [
        ("title: A\ncount: 01234\nversion: 1.10", {"title": "A", "count": 1234, "version": 1.1}),
        ("when: 2024-01-05\nat: 2024-01-05 10:00", {"when": "2024-01-05", "at": "2024-01-05 10:00"}),
        ("b: 2\na: 1", {"b": 2, "a": 1}),
        (
            "2: a\ntrue: b\n1.10: c\nnull: d\n2024-01-05: e",
            {"2": "a", "true": "b", "1.10": "c", "null": "d", "2024-01-05": "e"},
        ),
        (
            "x: .inf\ny: .nan\nz: 12345678901234567890",
            {"x": ".inf", "y": ".nan", "z": "12345678901234567890"},
        ),
        ("x: 9007199254740992", {"x": 2**53}),
        ("x: !!binary aGk=\ny: !!set {a, b}\nz: !!str 3", {"x": "aGk=", "y": ["a", "b"], "z": "3"}),
        ("x: {1: {b: [~, yes, true]}}", {"x": {"1": {"b": [None, "yes", True]}}}),
        ("x: &x [1]\ny: *x", {"x": [1], "y": [1]}),
        ("base: &b {x: 1, y: 2}\n<<: *b\ny: 3", {"x": 1, "y": 3, "base": {"x": 1, "y": 2}}),
        ("? [a, b]\n: c", {"[a, b]": "c"}),
        ('x: "\\ud83d\\ude00 \\ud800"', {"x": "\U0001f600 \ufffd"}),
        ("x: |\n  text\n  more", {"x": "text\nmore\n"}),
        ("# only a comment", {}),
    ],
)
def test_values_are_such_as_json_has(block: str, values: dict[str, Any]) -> None:
    found = read_properties(_note(block)).values()
    assert list(found.items()) == list(values.items())
    assert json.loads(json.dumps(found, allow_nan=False).encode()) == values


def test_a_note_without_a_block_has_no_properties() -> None:
    for data in (b"", b"body", b"---\nno end", b"\xff", b"---\n---\n", b"---\n~\n---\n"):
        assert read_properties(data).values() == {}
        assert read_properties(data).tags() == read_properties(data).aliases() == ()


@pytest.mark.parametrize(
    ("block", "tags"),
    [
        ("tags: [a, b/c, Größe, \U0001f600]", ["a", "b/c", "Größe", "\U0001f600"]),
        ("tags:\n  - a\n  - '#b'\n  - \"c\"", ["a", "b", "c"]),
        ("tags: a, b c,d", ["a", "b", "c", "d"]),
        ("tags: journal", ["journal"]),
        ("tags: '#a #b'", ["a", "b"]),
        ("Tags: [a]\ntag: b\nTAG: [c]", ["a", "b", "c"]),
        (
            "tags: [a, 1984, y1984, 1984/05, 2024-01-05, 1.5, true, null, [b], {c: d}]",
            ["a", "y1984", "1984/05", "2024-01-05"],
        ),
        ("tags: 1984", []),
        ("tags: [two words, a.b, a:b, 'x,y', '', ' z ']", ["z"]),
        ("tags: &t [a]\ntag: *t", ["a", "a"]),
        ("tags: [a/, '#b/c/']", ["a", "b/c"]),
        ("tags: >\n  a\n  b", ["a", "b"]),
        ("tags:", []),
        ("tags: []", []),
        ("tags: {a: b}", []),
        ("nested:\n  tags: [a]", []),
        ("keywords: [a]", []),
        ("tags: [a, a, A]", ["a", "a", "A"]),
        ("base: &b {tags: [a]}\n<<: *b", ["a"]),
    ],
)
def test_tags_are_those_of_the_block(block: str, tags: list[str]) -> None:
    assert _texts(read_properties(_note(block)).tags()) == tags


@pytest.mark.parametrize(
    ("block", "aliases"),
    [
        (
            "aliases: [Doggo, 'Woofer, the', 1984, 1.10, 2024-01-05, true, null]",
            ["Doggo", "Woofer, the", "1984", "1.10", "2024-01-05"],
        ),
        ("aliases:\n- Good dog\n-  ' x '", ["Good dog", "x"]),
        ("alias: Doggo, Good dog ,Yapper", ["Doggo", "Good dog", "Yapper"]),
        ("aliases: 1984", ["1984"]),
        ("aliases: |\n  one\n  two", ["one\n  two".replace("\n  ", "\n")]),
        ("aliases: ''\nALIAS: x", ["x"]),
        ("aliases: [[x]]", []),
        ("aliases:", []),
    ],
)
def test_aliases_are_those_of_the_block(block: str, aliases: list[str]) -> None:
    assert _texts(read_properties(_note(block)).aliases()) == aliases


@pytest.mark.parametrize(
    "block",
    [
        "tags: [ä, b]\naliases: 'Größe, klein'",
        "x: [ä] # comment\ntags:\n  - '#b' \n  - c # d\nalias: \U0001f600 x,y",
        "{tags: 'a b', alias: [\"c\"]}",
    ],
)
def test_a_term_has_its_place_in_the_note(block: str) -> None:
    data = _note(block)
    found = read_properties(data)
    terms = (*found.tags(), *found.aliases())
    assert len(terms) >= 3
    assert [data[slice(*term.span or ())].decode() for term in terms] == _texts(terms)


@pytest.mark.parametrize(
    ("block", "sources"),
    [
        ('tags: ["\\u0061b"]', ['"\\u0061b"']),
        ("tags: 'it''s, b'", ["'it''s, b'"]),
        ("tags: >\n  a\n  b", [">\n  a\n  b", ">\n  a\n  b"]),
        ("tags: &t [a]\nTags: *t", ["a", None]),
        ("tags: [&t a, *t]", ["&t a", None]),
        ("x: &t a\ntags: *t", [None]),
        ("tags: !!str a", ["!!str a"]),
    ],
)
def test_a_term_that_is_not_written_as_it_is_read_has_the_place_of_its_value(
    block: str, sources: list[str | None]
) -> None:
    data = _note(block)
    spans = [term.span for term in read_properties(data).tags()]
    assert [None if span is None else data[slice(*span)].decode() for span in spans] == sources


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"---\na: [\n---\n", InvalidYaml),
        (b"---\na: 1\na: 2\n---\n", InvalidYaml),
        (b"---\n- a\n---\n", InvalidYaml),
        (b"---\na: &a [*a]\n---\n", InvalidYaml),
        (b"---\na: \xff\n---\n", NotText),
        (b"---\n" + b"a: b\n" * 20_000 + b"---\n", InvalidYaml),
    ],
)
def test_what_cannot_be_read_is_an_error_and_not_an_empty_answer(
    data: bytes, error: type[FsnotesError]
) -> None:
    with pytest.raises(error):
        read_properties(data, path="a.md")


@settings(max_examples=300, deadline=None)
@given(notes())
def test_every_scalar_stands_where_it_is_said_to_stand(note: Note) -> None:
    found = read_properties(note.data)
    json.dumps(found.values(), allow_nan=False)
    places = [
        (scalar.start, scalar.end) for entry in found.entries for scalar in entry.scalars if scalar.start >= 0
    ]
    for (start, end), span in zip(places, found.spans(places), strict=True):
        assert note.data[slice(*span)].decode() == found.text[start:end] != ""
    assert list(found.spans(reversed(places))) == list(found.spans(places))[::-1]


def test_places_are_found_in_time_in_proportion_to_the_block() -> None:
    block = "tags:\n" + "".join(f"- größe{number}\n" for number in range(1_900))
    started = time.process_time()
    found = read_properties(_note(block + "x: |\n  " + "é" * 15_000))
    assert len(found.tags()) == 1_900
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        *(
            (tag, tag)
            for tag in [
                "a",
                "a/b",
                "y1984",
                "1984/05",
                "a-b_c",
                "Größe",
                "日本語",
                "\U0001f468",
                "-",
                "_1",
                "e\u0301",
            ]
        ),
        *(("#" + tag, tag) for tag in ["a", "a/b"]),
        *((tag + "/", tag) for tag in ["a", "a/b", "a//b"]),
    ],
)
def test_what_is_a_tag(text: str, tag: str) -> None:
    assert tag_of(text) == tag


@pytest.mark.parametrize(
    "text", ["", "#", "/", "1984", "1984/", "##a", "a b", "a.b", "a,b", "a#b", "a:b", "a\n"]
)
def test_what_is_no_tag(text: str) -> None:
    assert tag_of(text) is None


@pytest.mark.parametrize("character", ["\u2014", "\u3000", "\u2e3a", "(", "'", '"', "\\", "\u00a0", "\u200d"])
def test_what_ends_a_tag(character: str) -> None:
    assert tag_of(f"a{character}b") is None
