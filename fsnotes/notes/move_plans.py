"""What a move is going to do: computed and checked before anything happens, and then carried out by `moving.py`."""

from __future__ import annotations

from collections.abc import Sequence

from fsnotes.notes.charts import Chart
from fsnotes.notes.commands import LeftAlone
from fsnotes.notes.courses import Course
from fsnotes.notes.etags import etag
from fsnotes.notes.journal import Entry, Rewriting
from fsnotes.notes.splices import Splice, apply
from sandbox.errors import IdentityChanged
from sandbox.names import RelPath
from sandbox.records import record, replace
from sandbox.root import Change, Content, FileIdentity, Root, Stamp


@record
class Text:
    """The text that a note gets which has the path *before* now and *after* then: how it is made, and how it is known.

    Not the text itself: a move may rewrite thousands of notes.
    """

    chart: Chart
    before: RelPath
    after: RelPath
    identity: FileIdentity
    former: str
    etag: str
    size: int
    splices: tuple[Splice, ...]

    @property
    def rewriting(self) -> Rewriting:
        """What the journal says of it."""
        return Rewriting(self.after, self.former, self.etag, self.splices)

    def change(self, root: Root) -> Change:
        """Return the change that makes it. Raises IdentityChanged for a note that is not as it was."""
        content = root.read(self.before)
        if etag(content.data) != self.former:
            raise IdentityChanged(str(self.before))
        return Change(self.before, apply(content.data, self.splices), content.identity)


@record
class Plan:
    """A move and all that it changes. *content* is a note's, *stamp* a folder's, which holds so many *notes*."""

    course: Course
    content: Content | None
    stamp: Stamp | None
    notes: int
    texts: tuple[Text, ...]
    left: tuple[LeftAlone, ...]
    late: tuple[Text, ...] = ()
    """Of notes that somebody keeps saving: their links are rewritten once the move has happened."""

    @property
    def rewrites(self) -> bool:
        """Whether any note gets other links."""
        return bool(self.texts or self.late)

    @property
    def entry(self) -> Entry:
        """What the journal says of it."""
        inode = self.content.identity.ino if self.content is not None else self.stamp.ino if self.stamp else 0
        return Entry(
            self.course.source,
            self.course.target,
            inode,
            tuple(text.rewriting for text in (*self.texts, *self.late)),
        )


def without(plan: Plan, waiting: Sequence[object], *, why: str) -> Plan:
    """Return the plan without the texts that do not wait (None), whose notes are left alone: *why* says so."""
    texts = tuple(text for text, each in zip(plan.texts, waiting, strict=True) if each is not None)
    refused = (text.after for text, each in zip(plan.texts, waiting, strict=True) if each is None)
    left = (*plan.left, *(LeftAlone(str(after), 0, "", why) for after in refused))
    return replace(plan, texts=texts, left=left)
