"""`fsnotes index`: builds the search index of a workspace, or brings it up to date."""

from __future__ import annotations

import argparse

from fsnotes.cli import paging
from fsnotes.cli.console import Console
from fsnotes.cli.session import session
from fsnotes.errors import Busy, ConfigurationError
from fsnotes.failures import describe
from fsnotes.freshness import Progress
from fsnotes.outcomes import skipped as shown


def index(options: argparse.Namespace, console: Console) -> int:
    """Do it, with a line that says how far it is where a person waits."""
    if options.folder is not None:
        if options.workspace is not None:
            raise ConfigurationError("a folder and -w: name the workspace once")
        options.workspace = options.folder
    indexed = 0

    def told(progress: Progress) -> None:
        nonlocal indexed
        indexed = progress.indexed
        if progress.phase == "building":
            console.show_progress("indexing", indexed, indexed + progress.remaining)
        elif progress.phase == "surveying":
            console.show_progress("looking at the notes", progress.remaining, None)

    with session(options, console) as here:
        try:
            skipped = [shown(item) for item in here.product.build_index(here.workspace.name, told)]
        except Busy as busy:
            failure = describe(busy)
            console.complain(f"{failure.slug}: a server keeps this index, and brings it up to date itself")
            return failure.exit_code
        finally:
            console.end_progress()
        if options.json:
            console.show_json({"indexed": indexed, "skipped": skipped})
        else:
            console.say(f"{indexed} {'note is' if indexed == 1 else 'notes are'} indexed")
            paging.say_skipped(console, skipped)
    return 0
