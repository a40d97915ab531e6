"""The commands that concern the search index, with their replies: data that can cross a process boundary.

`KeepIndex` runs where the index is written, the others where notes are read. Which of them a search needs, and in which
order, is decided above, in `search_pages.py`; what each does is in `asking.py` and `indexer.py`.
"""

from __future__ import annotations

from fsnotes.notes.commands import Command
from fsnotes.notes.replies import IndexKept, IndexSearched, PathsMatched, PathsSearched
from sandbox.records import record


@record
class KeepIndex(Command[IndexKept]):
    """Do what is next to keep the index equal to the notes, for about 50 ms.

    First what happened to the notes at *paths* is taken in, visible at once. *folders*, "" for everything, are to be
    surveyed: what is in them may have changed in any way. *whole*, and nothing else is done but to have the file on the
    disk, so that a power cut leaves it as it is.
    """

    paths: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    whole: bool = False


@record
class SearchIndex(Command[IndexSearched]):
    """Find notes in *folder* (empty: all) that the index knows and that *query* means, best first.

    With *regex*, those in whose text it matches, newest first. With *tag*, in the form in which tags are compared, only
    those that have it or one nested in it. At most *limit* in a call, which goes on behind the position *after*. Ids of
    *upto* and higher, None for no bound, and notes at the paths *without* are left out; unless *settled*, so is every
    note that is not as the index knows it.
    """

    query: str
    folder: str = ""
    tag: str | None = None
    regex: bool = False
    after: str | None = None
    upto: int | None = None
    without: tuple[str, ...] = ()
    settled: bool = True
    limit: int = 20


@record
class SearchPaths(Command[PathsSearched]):
    """Find those of the notes at *paths* that a query means; the arguments are those of `SearchIndex`.

    With *within*, the first one is searched from that byte on.
    """

    query: str
    paths: tuple[str, ...]
    folder: str = ""
    tag: str | None = None
    regex: bool = False
    within: int = 0
    limit: int = 20


@record
class MatchPaths(Command[PathsMatched]):
    """Find the notes whose ids *wanted* may mean, in a stretch of the index of *generation*.

    *wanted* is in the form in which they are compared (`completing.py`). The call goes on behind the number *after*;
    notes at the paths *without* are left out.
    """

    wanted: str
    generation: str
    after: int = 0
    without: tuple[str, ...] = ()
