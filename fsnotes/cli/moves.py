"""Moving a note or a folder from the command line, and how a person is told what became of the links."""

from __future__ import annotations

import argparse

from fsnotes.cli.console import Console, shown
from fsnotes.cli.interrupts import uninterrupted
from fsnotes.cli.session import session
from fsnotes.outcomes import UNSEEN, Document, NotesMoved


def move(options: argparse.Namespace, console: Console) -> int:
    """Rename or move a note or a folder."""
    with session(options, console) as here, uninterrupted():
        outcome = here.service.move(
            here.call,
            here.uri,
            options.path,
            options.new_path,
            update_links=not options.keep_links,
            if_match=options.if_match,
            dry_run=options.dry_run,
        )
    _show(outcome, options, console)
    return 0


def _show(outcome: NotesMoved, options: argparse.Namespace, console: Console) -> None:
    reply, document = outcome.reply, outcome.document()
    if reply.not_kept:
        console.complain(f"not kept of rewritten notes: {', '.join(reply.not_kept)}")
    if options.json:
        console.show_json(document)
        return
    done = "would move" if outcome.dry_run else "moved"
    rewritten = "would rewrite" if outcome.dry_run else "rewrote"
    notes = f" ({_count(reply.moved, 'note')})" if reply.etag is None else ""
    console.say(f"{done} {shown(reply.path)} to {shown(reply.new_path)}{notes}")
    for note in document["updated"]:
        console.say(f"{rewritten} {_count(note['links'], 'link')} in {shown(note['path'])}")
    if "updatedMore" in document:
        console.say(f"{rewritten} links in {_count(document['updatedMore'], 'more note')}")
    for link in document["leftAlone"]:
        console.complain(_left(link))
    if "leftAloneMore" in document:
        console.complain(f"left alone: {_count(document['leftAloneMore'], 'more link')}")


def _left(link: Document) -> str:
    if "path" not in link:
        what = "note" if link["reason"].startswith(UNSEEN) else "link"
        return f"left alone: {_count(link['count'], what)}, {link['reason']}"
    where = shown(link["path"])
    if "line" in link:
        where = f"{where}, line {link['line']}, {shown(link['link'])}"
    return f"left alone: {where}: {link['reason']}"


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
