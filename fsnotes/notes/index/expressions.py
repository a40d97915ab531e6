"""How a query is put to FTS5: as an expression in which everything of the caller's is a quoted token of ours.

It finds every note that the query means; where a term has to be looked up in the text, others too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from fsnotes.notes.index import marks
from fsnotes.notes.index.queries import (
    MAX_ROW,
    Clause,
    Either,
    Having,
    Query,
    Tagged,
    Term,
    Where,
    Words,
    is_exact,
)

HEADERS: Final = "{title heads tags}"
"""The columns in which a word weighs most."""
TITLES: Final = "{title heads}"
CONTENT: Final = "{body heads tags marks}"
"""The columns that do not depend on the path of the note, which may be known to have changed."""


def expression(
    query: Query, *, columns: str = "", folders: Iterable[str] = (), tag: str | None = None
) -> str:
    """Return what finds *query*, in one of these *folders* if any are given, with the *tag* of this key.

    With *columns*, terms that must match anywhere must match there.
    """
    found = " OR ".join(f"({_clause(clause, columns)})" for clause in query.clauses)
    limits = []
    if tag is not None:
        limits.append(_marked(marks.of_tag(tag)))
    places = [_marked(marks.of_folder(folder)) for folder in folders]
    if places:
        limits.append(f"({' OR '.join(places)})")
    return " AND ".join([f"({found})", *limits])


def term_expression(term: Term, columns: str = "") -> str:
    """Return what finds one term, in these *columns* if it may be anywhere."""
    match term:
        case Words():
            return _words(term, columns)
        case Tagged(key, beginning):
            return _marked(marks.of_tag(key), beginning=beginning)
        case Having(key, value, beginning):
            return _marked(marks.of_property(key, value), beginning=beginning)
        case Either(first, second):
            return f"({_words(first, columns)} OR {_words(second, columns)})"


def _clause(clause: Clause, columns: str) -> str:
    must = " AND ".join(term_expression(term, columns) for term in clause.must)
    # A note that has the words of what it must not have, but not as they are typed, is meant: the text decides.
    never = " OR ".join(term_expression(term) for term in clause.never if is_exact(term))
    return f"({must}) NOT ({never})" if never else must


def _words(words: Words, columns: str) -> str:
    if words.token is not None:
        found = _quoted((words.token,))
    else:
        found = _quoted(words.row[:MAX_ROW])
        if words.beginning and len(words.row) <= MAX_ROW:
            found += " *"
    match words.where:
        case Where.TITLE:
            return f"title : {found}"
        case Where.PATH:
            return f"path : {found}"
        case Where.ANYWHERE:
            return f"{columns} : {found}" if columns else found


def _marked(token: str, *, beginning: bool = False) -> str:
    return f"marks : {_quoted((token,))}{' *' if beginning else ''}"


def _quoted(tokens: Sequence[str]) -> str:
    # SAFETY: a token has no ASCII character but small letters and digits, so none can end the quotes.
    return f'"{" ".join(tokens)}"'
