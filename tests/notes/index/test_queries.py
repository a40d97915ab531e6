"""What a query asks: what counts as an operator, what says nothing, and what is refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fsnotes.errors import InvalidArgument
from fsnotes.notes.index import queries
from fsnotes.notes.index.expressions import HEADERS, expression
from fsnotes.notes.index.folding import code_token
from fsnotes.notes.index.queries import (
    Clause,
    Either,
    Having,
    Query,
    Tagged,
    Term,
    Where,
    Words,
    is_exact,
    parse,
)


def words(
    *row: str, where: Where = Where.ANYWHERE, beginning: bool = False, typed: tuple[str, ...] = ()
) -> Words:
    token = code_token(typed[0]) if len(typed) == 1 else None
    return Words(where, row, beginning, typed, token)


def asks(*must: Term, never: tuple[Term, ...] = ()) -> Query:
    return Query((Clause(must, never),))


FOO, BAR = words("foo"), words("bar")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("foo bar", asks(FOO, BAR)),
        ("  Foo\u3000BAR\n", asks(FOO, BAR)),
        ("foo foo", asks(FOO)),
        ('"foo bar"', asks(words("foo", "bar"))),
        ("“foo bar”", asks(words("foo", "bar"))),
        ("«foo bar»", asks(words("foo", "bar"))),
        ('"foo bar', asks(words("foo", "bar"))),
        ('foo "bar', asks(FOO, BAR)),
        ('foo"bar', asks(words("foo", "bar", typed=('foo"bar',)))),
        ('say 5"', asks(words("say"), words("5"))),
        ('"" foo ""', asks(FOO)),
        ("foo -bar", asks(FOO, never=(BAR,))),
        ("-bar foo", asks(FOO, never=(BAR,))),
        ('foo --"bar"', asks(FOO, never=(BAR,))),
        ("foo - bar", asks(FOO, BAR)),
        ("foo -", asks(FOO)),
        ("foo NOT bar", asks(FOO, never=(BAR,))),
        ("foo AND bar", asks(FOO, BAR)),
        ("foo and not bar or", asks(FOO, words("and"), words("not"), BAR, words("or"))),
        ("foo OR bar", Query((Clause((FOO,)), Clause((BAR,))))),
        ("foo x OR bar -x", Query((Clause((FOO, words("x"))), Clause((BAR,), (words("x"),))))),
        ("OR foo OR OR bar OR", Query((Clause((FOO,)), Clause((BAR,))))),
        ('foo "OR" bar', asks(FOO, words("or"), BAR)),
        ("(foo OR bar)", Query((Clause((FOO,)), Clause((BAR,))))),
        ('("foo bar")', asks(words("foo", "bar"))),
        ("foo*", asks(words("foo", beginning=True))),
        ('"foo bar*"', asks(words("foo", "bar", beginning=True))),
        ('"foo bar"*', asks(words("foo", "bar", beginning=True))),
        ("* foo ** - *", asks(FOO)),
        ("*foo", asks(FOO)),
        ("foo-*", asks(FOO)),
        ("foo!, (bar).", asks(FOO, BAR)),
        ("foo -> => !!!", asks(FOO)),
        ("foo_bar", asks(words("foo", "bar", typed=("foo_bar",)))),
        ("foo_ba*", asks(words("foo", "ba", beginning=True, typed=("foo_ba",)))),
        ("v1.2", asks(words("v1", "2", typed=("v1.2",)))),
        ("foo:bar", asks(words("foo", "bar", typed=("foo:bar",)))),
        ("C++,", asks(words("c", typed=("c++",)))),
        ("(.NET)", asks(words("net", typed=(".net",)))),
        ('"learn C++ now"', asks(words("learn", "c", "now", typed=("learn", "c++", "now")))),
        ("設", asks(words("設", beginning=True))),
        ("設計*", asks(words("設計", beginning=True))),
        ("title:foo", asks(words("foo", where=Where.TITLE))),
        ('TITLE:"foo bar"', asks(words("foo", "bar", where=Where.TITLE))),
        ("title: foo", asks(FOO)),
        ("foo title: tag: path: prop: prop:=x prop:*", asks(FOO)),
        ("path:Foo/bar.md", asks(words("foo", "bar", where=Where.PATH, typed=("foo/bar",)))),
        ("path:foo/", asks(words("foo", where=Where.PATH))),
        ("-path:foo bar", asks(BAR, never=(words("foo", where=Where.PATH),))),
        ("tag:#Work/", asks(Tagged("work"))),
        ("tag:work/*", asks(Tagged("work/", beginning=True))),
        ("tag:wo*", asks(Tagged("wo", beginning=True))),
        ("#work", asks(Tagged("work"))),
        ("-#work foo", asks(FOO, never=(Tagged("work"),))),
        ('"#foo" #12', asks(FOO, words("12"))),
        ("prop:State=Done", asks(Having("state", "done"))),
        ('prop:"a b"="c  D"', asks(Having("a b", "c d"))),
        ("prop:due=2024-*", asks(Having("due", "2024-", beginning=True))),
        ("prop:state prop:x=", asks(Having("state"), Having("x"))),
        (
            "plan.md",
            asks(Either(words("plan", "md", typed=("plan.md",)), words("plan", where=Where.PATH))),
        ),
    ],
)
def test_a_query_is_read_as_it_is_meant(text: str, query: Query) -> None:
    assert parse(text) == query


@pytest.mark.parametrize(
    "text", ["", "   ", "-", "*", '"', '""', "OR", "AND NOT", "title:", "!!! ->", "\x00", "—", "()"]
)
def test_a_query_without_a_word_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="no word") as refused:
        parse(text)
    assert refused.value.argument == "query"


@pytest.mark.parametrize("text", ["-foo", "NOT foo", "-tag:x -y", "foo OR -bar", "-bar OR foo"])
def test_a_query_that_only_excludes_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="what not to find"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("x" * 1_001, "x" * 1_000),
        (" ".join(f"w{number}" for number in range(33)), " ".join(f"w{number}" for number in range(32))),
        ("漢" * 258, "漢" * 257),
        (" ".join(f"w{number}*" for number in range(17)), " ".join(f"w{number}*" for number in range(16))),
        (" ".join("漢字設計建国民主共和制度文化語学生"), " ".join("漢字設計建国民主共和制度文化語学")),
    ],
)
def test_a_query_over_a_bound_is_refused_and_one_at_it_is_not(text: str, nearest: str) -> None:
    with pytest.raises(InvalidArgument):
        parse(text)
    assert parse(nearest).clauses != ()


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("foo bar* -x", True),
        ('"foo bar" tag:x prop:a=b 漢字 title:x', True),
        ("C++ -C# .NET", True),
        ("foo_bar", False),
        ("foo -v1.2", False),
        ('"C++ x"', False),
        ('"' + "a " * 17 + '"', False),
        ("plan.md", False),
    ],
)
def test_it_is_known_whether_the_index_alone_can_answer(text: str, exact: bool) -> None:
    assert parse(text).exact is exact
    assert all(is_exact(term) for clause in parse(text).clauses for term in clause.must) or not exact


HOSTILE = [
    '" OR "', "NEAR(a b, 5)", "a + b", "{title}: x", "^foo", "- {x} : y", "body:x", "a AND NOT b", "rowid:1",
    "'; DROP", '"a" "b', "a^b", ":", "::::", "prop:a=b=c", "\ud800", "\x00a", "NOT NOT NOT a", "(" * 900 + "a",
    '"' * 999, "-" * 999, "a" + "*" * 900, "#" * 900 + "a", "prop:" * 190, "title:title:x", "OR " * 300 + "a",
    "\U000f0100x \ue000", "ﷺ" * 60,
]  # fmt: skip


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from([*HOSTILE, "foo", "-", "*", "OR", "tag:", " "])).map(" ".join)
)
@example("a" * 10_000)
@example('"' * 10_000)
@example("a OR " * 2_000)
def test_no_query_is_anything_but_answered_or_refused(text: str) -> None:
    """What reaches FTS5 is an expression that it can read, whatever was typed."""
    try:
        query = parse(text)
    except InvalidArgument:
        return
    with closing(_index()) as connection:
        for made in (expression(query), expression(query, columns=HEADERS, folders=["a", 'b" OR'], tag='x"')):
            connection.execute("SELECT rowid FROM notes WHERE notes MATCH ?", (made,)).fetchall()


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_queries_are_answered_or_refused(text: str) -> None:
    test_no_query_is_anything_but_answered_or_refused.hypothesis.inner_test(text)  # type: ignore[attr-defined]


def _index() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE notes USING fts5(body, title, heads, tags, path, marks, content='', tokenize='ascii')"
    )
    connection.execute("INSERT INTO notes(rowid, body) VALUES (1, 'foo bar')")
    return connection


def test_bounds_leave_room_for_real_queries() -> None:
    assert queries.MAX_LENGTH >= 500
    assert (
        parse('title:"weekly review" (tag:work OR tag:home) -prop:state=done "next steps" draft*').clauses
        != ()
    )
