"""What a query asks: words, "phrases", -not, prefix*, OR, and the fields `title:`, `tag:`, `path:`, `prop:key=value`.

Terms that stand side by side must all match, and OR binds loosest. A term without a field is looked for in title,
headings, tags, path and text. What was not meant as an operator is none:

- `OR` counts in capitals and between two terms; elsewhere it says nothing. So do `AND`, which is what neighbours are
  anyway, and `NOT`, which is a `-`. Small ones are words.
- `-`, `*` and the name of a field without anything behind them say nothing, nor do parentheses and other punctuation.
- A quotation mark that is not closed reaches to the end. Curly ones are as good. Within a word it is punctuation.
- A `*` makes a prefix at the end of a word or phrase, and nothing elsewhere. In runs without spaces it is not needed.
- `#name` is `tag:name`, if that is what a tag may be called. A tag has those nested in it; a property has a value if
  it, or one item of its list, is this text. Both are compared without regard to case and Unicode form.
- A word with punctuation in it (`foo_bar`, `v1.2.3`, `don't`), and one like `C++`, must stand in the text as it is
  typed, quoted or not; marks around a word do not count. In a phrase the words follow each other, whatever parts them.
- The name of a note (`plan.md`) is looked for in its path too.

What is no query is refused as `query`: one without a word that must be there, and one over the bounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

from fsnotes.errors import InvalidArgument
from fsnotes.notes.index.folding import LETTER, TOKEN, code_token, plain, sought
from fsnotes.notes.markdown.tags import tag_of
from fsnotes.notes.model import fold, is_note, stem

MAX_LENGTH: Final = 1_000
"""Longest query, in characters."""
MAX_TERMS: Final = 32
MAX_WORDS: Final = 256
"""Most words of all terms together, counted as the index has them: a run without spaces has one for each character."""
MAX_BEGINNINGS: Final = 16
"""Most terms that ask for the beginning of a word: each is looked for in the list of all words."""
MAX_VALUE: Final = 200
"""How many characters of a property's value are compared."""
MAX_ROW: Final = 16
"""How many words of a phrase the index is asked for; the others are looked up in the text."""

_QUOTES: Final = '"“”„‟«»'
_FIELD: Final = re.compile(r"(title|tag|path|prop):", re.IGNORECASE)
_BARE: Final = re.compile(r"\S++")
_PIECE: Final = re.compile(r"\S++")
_INNER: Final = re.compile(rf"{LETTER}(?:.*{LETTER})?", re.DOTALL)
_SIGNED: Final = re.compile(r"\.?[a-z0-9].*?[+#]*+", re.DOTALL)


class Where(Enum):
    """Where words are looked for."""

    ANYWHERE = "title, headings, tags, path and text"
    TITLE = "title"
    PATH = "path"


class Words(NamedTuple):
    """The tokens of *row*, one behind the other; with *beginning*, the last one is only the beginning of a token.

    *typed* are the parts, as they stand in a plain text, with nothing but separators between them; empty where the row
    says it all. *token* is that of a code word like `C++`, which says it all too.
    """

    where: Where
    row: tuple[str, ...]
    beginning: bool = False
    typed: tuple[str, ...] = ()
    token: str | None = None


class Tagged(NamedTuple):
    """The tag of this *key*, or those whose keys begin so. A tag is in those above it."""

    key: str
    beginning: bool = False


class Having(NamedTuple):
    """The property of this *key*, with this *value* if one is given, or with one that begins so."""

    key: str
    value: str | None = None
    beginning: bool = False


class Either(NamedTuple):
    """One of two."""

    first: Words
    second: Words


Term = Words | Tagged | Having | Either


class Clause(NamedTuple):
    """What must match, at least one term, and what must not."""

    must: tuple[Term, ...]
    never: tuple[Term, ...] = ()


class Query(NamedTuple):
    """A note is found if one of the clauses matches."""

    clauses: tuple[Clause, ...]

    @property
    def exact(self) -> bool:
        """Whether the index alone can answer: no term has to be looked up in the text."""
        return all(is_exact(term) for clause in self.clauses for term in (*clause.must, *clause.never))


def is_exact(term: Term) -> bool:
    """Say whether the index alone can tell if a note has *term*."""
    match term:
        case Words():
            return term.token is not None or (not term.typed and len(term.row) <= MAX_ROW)
        case Either():
            return is_exact(term.first) and is_exact(term.second)
        case _:
            return True


def parse(text: str) -> Query:
    """Return what *text* asks for. Raises InvalidArgument."""
    if len(text) > MAX_LENGTH:
        raise InvalidArgument("query", f"longer than {MAX_LENGTH} characters")
    clauses: list[Clause] = []
    must: list[Term] = []
    never: list[Term] = []
    for found in _read(text):
        match found:
            case None:
                if must or never:
                    clauses.append(Clause(tuple(must), tuple(never)))
                must, never = [], []
            case (term, negative):
                chosen = never if negative else must
                if term not in chosen:
                    chosen.append(term)
    if must or never:
        clauses.append(Clause(tuple(must), tuple(never)))
    query = Query(tuple(clauses))
    _check(query)
    return query


def _check(query: Query) -> None:
    if not query.clauses:
        raise InvalidArgument("query", "no word, tag or property to look for in it")
    if not all(clause.must for clause in query.clauses):
        raise InvalidArgument(
            "query", "it only says what not to find; name a word that must be there as well"
        )
    terms = [term for clause in query.clauses for term in (*clause.must, *clause.never)]
    words = [word for term in terms for word in _words_in(term)]
    if len(terms) > MAX_TERMS:
        raise InvalidArgument("query", f"more than {MAX_TERMS} terms")
    if sum(len(word.row) for word in words) > MAX_WORDS:
        raise InvalidArgument("query", f"more than {MAX_WORDS} words")
    beginnings = sum(word.beginning for word in words)
    beginnings += sum(term.beginning for term in terms if isinstance(term, Tagged | Having))
    if beginnings > MAX_BEGINNINGS:
        raise InvalidArgument("query", f"more than {MAX_BEGINNINGS} prefixes and single characters")


def _words_in(term: Term) -> tuple[Words, ...]:
    match term:
        case Words():
            return (term,)
        case Either():
            return term.first, term.second
        case _:
            return ()


# -- reading -----------------------------------------------------------------------------------


def _read(text: str) -> Iterator[tuple[Term, bool] | None]:
    """Yield the terms, each with whether it is negative, and None where OR parts clauses."""
    at = 0
    negated = False  # by the word NOT
    while at < len(text):
        if text[at].isspace() or text[at] in "()":
            at += 1
            continue
        start = at
        while text.startswith("-", at):
            at += 1
        negative = at > start
        operator = _BARE.match(text, at)
        word = "" if operator is None else operator.group()
        if not negative and word in ("OR", "AND", "NOT"):
            at += len(word)
            negated = word == "NOT"
            if word == "OR":
                yield None
            continue
        term, at = _term(text, at)
        if term is not None:
            yield term, negative or negated
            negated = False


def _term(text: str, at: int) -> tuple[Term | None, int]:
    """Read the term at *at*, which may say nothing, and return where the rest begins."""
    field = _FIELD.match(text, at)
    name = "" if field is None else field.group(1).lower()
    at = at if field is None else field.end()
    if name == "prop":
        return _property(text, at)
    value, quoted, beginning, at = _value(text, at, "")
    match name:
        case "tag":
            return _tagged(value, beginning=beginning), at
        case "title":
            return _words(Where.TITLE, value, beginning=beginning), at
        case "path":
            return _words(Where.PATH, value if beginning else stem(value), beginning=beginning), at
        case _:
            pass
    if not quoted and value.startswith("#") and tag_of(value) is not None:
        return _tagged(value, beginning=beginning), at
    words = _words(Where.ANYWHERE, value, beginning=beginning)
    if words is not None and not beginning and is_note(value):
        path = _words(Where.PATH, stem(value), beginning=False)
        if path is not None:
            return Either(words, path), at
    return words, at


def _property(text: str, at: int) -> tuple[Term | None, int]:
    key, quoted, beginning, at = _value(text, at, "=")
    value = None
    if text.startswith("=", at):
        value, quoted, beginning, at = _value(text, at + 1, "")
    elif key and beginning and not quoted:
        key += "*"  # names are not looked for by their beginnings
    key = fold(key)
    if not key:
        return None, at
    compared = fold(value or "")[:MAX_VALUE]
    return Having(key, compared or None, beginning and bool(compared)), at


def _value(text: str, at: int, stop: str) -> tuple[str, bool, bool, int]:
    """Read a value up to white space or *stop*: the text, whether it is quoted, has a star, and where the rest begins.

    White space right at the beginning is an empty value.
    """
    if at < len(text) and text[at] in _QUOTES:
        end = at + 1
        while end < len(text) and text[end] not in _QUOTES:
            end += 1
        inside = text[at + 1 : end]
        end = min(end + 1, len(text))
        stars = end
        while text.startswith("*", end):
            end += 1
        return inside.rstrip("*"), True, end > stars or inside.endswith("*"), end
    end = at
    while end < len(text) and not text[end].isspace() and not (stop and text[end] == stop):
        end += 1
    found = text[at:end].rstrip(")") if not stop else text[at:end]
    return found.rstrip("*"), False, found.endswith("*"), end


def _tagged(value: str, *, beginning: bool) -> Term | None:
    name = value.removeprefix("#")
    key = fold(name if beginning else name.rstrip("/"))
    return Tagged(key, beginning) if key else None


def _words(where: Where, value: str, *, beginning: bool) -> Words | None:
    text = plain(value)
    row, single = sought(text)
    if not row:
        return None
    typed = tuple(_typed(text))
    whole = len(typed) == 1 and not beginning
    token = code_token(typed[0]) if whole else None
    if all(TOKEN.fullmatch(piece) for piece in typed):
        typed = ()
    last_is_word = text.rstrip().endswith(row[-1])
    return Words(where, tuple(row), single or (beginning and last_is_word), typed, token)


def _typed(text: str) -> Iterator[str]:
    """Yield the parts of a plain text between white space, without the marks around them."""
    for piece in _PIECE.finditer(text):
        inner = _INNER.search(piece.group())
        if inner is None:
            continue
        start, end = inner.span()
        word = piece.group()
        # The marks of code words count: a dot before, and pluses and number signs behind.
        while word[end : end + 1] in ("+", "#") and code_token(word[start : end + 1]):
            end += 1
        if code_token(word[max(0, start - 1) : end]) and word[max(0, start - 1)] == ".":
            start -= 1
        yield word[start:end]
