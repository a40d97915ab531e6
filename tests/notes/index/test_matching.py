"""Which notes a query means, and which lines show it; compared with an oracle that shares no code."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsnotes.errors import NotText
from fsnotes.notes.index.matching import Matcher, Subject
from fsnotes.notes.index.queries import parse
from fsnotes.notes.index.snippets import MAX_CHARACTERS, MAX_LINES, Line, snippets
from tests.examples import examples
from tests.notes.index import oracle
from tests.notes.proportion import best, hold_to_proportion


def means(query: str, text: str, *, path: str = "folder/name.md") -> bool:
    return Matcher(parse(query)).matches(Subject(path, text.encode()))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("foo_bar", "the FOO_BAR, here"),
        ("foo_bar", "my_foo_bar"),
        ("v1.2.3", "since V1.2.3."),
        ("v1.2", "v1.2.3"),
        ("don't", "I don’t know"),
        ("re-use", "to re‑use it"),
        ("C++", "C++17 and more"),
        ('"C++ templates"', "on C++ templates"),
        ('"use .net"', "Use .NET"),
        (".NET", "使用.NET"),
        ("foo_b*", "foo_bar"),
        ('"foo bar"', "foo, (bar)"),
        ('"foo bar"', "foo\n\nbar"),
        ("a@b.org", "<a@b.org>"),
        ("10:30", "at 10:30h 10:30"),
        ("漢字_a", "大漢字_a"),
        ("folder", "nothing"),
        ("name.md", "nothing"),
        ("path:folder/name.md", ""),
        ("path:folder", ""),
        ("title:name", "text"),
        ("title:Real", "# The real one"),
        ("tag:a", "#a/b"),
        ("#a/b", "---\ntags: [A/b]\n---\n"),
        ("tag:a/*", "#a/b"),
        ("prop:state=done", "---\nstate: Done\n---\n"),
        ("prop:n=2", "---\nn: [1, 2]\n---\n"),
        ("prop:n", "---\nn:\n---\n"),
        ('prop:"my key"="a b"', "---\nmy key: A  b\n---\n"),
        ("prop:date=2024-*", "---\ndate: 2024-05-01\n---\n"),
        ("x OR y -x", "y"),
        ("re-use", "---\ntitle: \"re\\u2010use\"\n---\n"),
    ],
)  # fmt: skip
def test_a_note_is_meant(query: str, text: str) -> None:
    assert means(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("foo_bar", "foo bar foo-bar foo_bars xfoo_bar"),
        ("v1.2", "v1 2 v1.23 v1-2"),
        ("don't", "don t"),
        ("C++", "C C+ C# C+++"),
        ("C#", "C C++ c#m"),
        (".NET", "net x.net ...net"),
        ('"C++ templates"', "C templates and C++"),
        ("foo_b*", "foo b foo-bar"),
        ('"foo bar"', "bar foo"),
        ("漢字", "漢 字"),
        ("md", "text"),
        ("title:text", "# Other\n\ntext"),
        ("tag:b", "#a/b"),
        ("tag:a/*", "#a"),
        ("prop:state=do", "---\nstate: done\n---\n"),
        ("prop:state", "state: done"),
        ("x y", "x"),
        ("x -y", "x y"),
        ("x -foo_bar", "x foo_bar"),
    ],
)
def test_a_note_is_not_meant(query: str, text: str) -> None:
    assert not means(query, text)


def test_what_must_not_stand_there_as_typed_may_stand_there_otherwise() -> None:
    assert means("x -foo_bar", "x foo bar")


@settings(max_examples=examples(100, long=200), deadline=None)
@given(st.data())
def test_the_matcher_finds_what_the_oracle_finds(data: st.DataObject) -> None:
    path = data.draw(oracle.folders) + data.draw(st.sampled_from(["a", "abc", "漢字設 b", "note"])) + ".md"
    note = data.draw(oracle.notes(path))
    query = data.draw(oracle.queries)
    expected = oracle.finds(query, note)
    assert means(oracle.typed(query), note.text(), path=path) == expected


def test_the_oracle_finds_and_misses_about_as_often() -> None:
    """Random queries that no note answers would prove nothing."""
    seen: list[bool] = []

    @settings(max_examples=150, database=None, derandomize=True, deadline=None)
    @given(oracle.notes("a/abc.md"), oracle.queries)
    def run(note: oracle.Note, query: tuple[oracle.Side, ...]) -> None:
        seen.append(oracle.finds(query, note))

    run()
    assert 0.1 < sum(seen) / len(seen) < 0.9


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(NotText):
        Matcher(parse("x")).matches(Subject("a.md", b"\xff x"))


# -- lines -------------------------------------------------------------------------------------


def shown(query: str, text: str) -> tuple[Line, ...]:
    return snippets(Matcher(parse(query)), text)


def test_lines_with_hits_are_shown_with_their_numbers() -> None:
    assert shown("foo", "one\r\nFoo two\rthree\nfoo_bar") == (Line(2, 1, "Foo two"), Line(4, 1, "foo_bar"))


def test_lines_with_more_of_the_terms_come_before_others() -> None:
    text = "\n".join(["a"] * 5 + ["a b"] + ["b"] * 5 + ["b a c"])
    assert [line.number for line in shown("a b c", text)] == [1, 6, 12]
    assert len(shown("a", "a\n" * 50)) == MAX_LINES


def test_a_phrase_over_two_lines_is_shown_where_it_begins() -> None:
    assert shown('"foo bar"', "x\nsay foo\nbar") == (Line(2, 1, "say foo"),)


def test_code_words_are_shown_where_they_stand_as_typed() -> None:
    assert shown("foo_bar", "foo bar\nfoo_bar") == (Line(2, 1, "foo_bar"),)
    assert shown("C++", "c\nC++\nc#") == (Line(2, 1, "C++"),)


def test_words_that_must_not_be_there_and_fields_show_nothing() -> None:
    assert shown("tag:x -y", "#x y") == ()
    assert shown("path:folder", "nothing") == ()


@pytest.mark.parametrize("filling", ["word ", "écrit ", "漢字"])
@pytest.mark.parametrize("place", [0, 50, 5_000, 40_000])
def test_a_long_line_is_cut_around_the_hit(filling: str, place: int) -> None:
    before = (filling * place)[:place]
    line = f"{before} needle {filling * 5000}"
    (found,) = shown("needle", line)
    assert "needle" in found.text
    assert len(found.text) <= MAX_CHARACTERS
    assert line[found.column - 1 :].startswith(found.text)


@pytest.mark.parametrize("unit", ["a ", "a\n", "漢", "a_", "é ", "foo_ba "])
@pytest.mark.parametrize("query", ["a", '"a a a a b"', "foo_bar", "漢字", "a_a_a_b", "-a b"])
def test_matching_and_showing_take_time_in_proportion(unit: str, query: str) -> None:
    matcher = Matcher(parse(query))

    def case(size: int) -> Callable[[], object]:
        text = unit * size
        data = text.encode()
        return lambda: (matcher.matches(Subject("x.md", data)), snippets(matcher, text))

    hold_to_proportion(case, 3_000, patience=(1, 3, 9))


def test_a_note_of_a_megabyte_on_one_line_is_looked_through_in_a_moment() -> None:
    text = "lorem ipsum dolor " * 58_000 + "needle_x"
    matcher = Matcher(parse("needle_x dolor"))

    def look() -> tuple[Line, ...]:
        matcher.matches(Subject("x.md", text.encode()))
        return snippets(matcher, text)

    assert best(look, 3) < 1.5
    assert "dolor" in look()[0].text


def test_many_terms_and_many_headings_do_not_multiply() -> None:
    one = Matcher(parse('"h1 zz"'))
    many = Matcher(parse(" OR ".join(f'"h{number} zz{number}"' for number in range(30))))
    data = "\n".join(f"# h{number}" for number in range(40_000)).encode()
    single = best(lambda: one.matches(Subject("a.md", data)), 3)
    assert best(lambda: many.matches(Subject("a.md", data)), 3) < 3 * single + 0.1
