"""The grammar of the command line. What each command does is in the module that its parser names."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final, NoReturn

from fsnotes import __version__
from fsnotes.cli.clients import CLIENTS
from fsnotes.cli.commands import (
    audit,
    completion,
    doctor,
    edits,
    indexes,
    keys,
    links,
    moves,
    notes,
    search,
    server,
    snippets,
    tags,
    tokens,
)
from fsnotes.cli.console import one_line, terminal_width
from fsnotes.cli.examples import EXAMPLES
from fsnotes.vocabulary import DIRECTIONS, MAX_LIMIT, MOST_LINES, SORTS

_EPILOG: Final = (
    "fsnotes demo shows it at work; fsnotes COMMAND --help ends with an example;"
    " exit codes: 0 done, 1 unexpected, 2 bad arguments, 3 not allowed, 4 not found, 5 conflict, 6 limit,"
    " 7 not confirmed, 8 jail, 130 interrupted"
)

_SHARED: Final[dict[str, object]] = {
    "config": None,
    "state_dir": None,
    "jail": None,
    "jail_level": None,
    "read_only": False,
    "legacy": None,
    "log_level": None,
    "log_format": None,
}
"""What the shared options are where they are not given."""


class _Formatter(argparse.HelpFormatter):
    """Knows the width: argparse makes one for each argument, and would load `shutil` to find it out."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=terminal_width() - 2)


class _Parser(argparse.ArgumentParser):
    late: str | None = None
    """The last positional argument where it may be left out, and may come behind options that follow the others."""

    def __init__(self, **words: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=_Formatter, **words)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Take what comes last as the late argument: argparse itself decides too soon that it was left out."""
        found, rest = super().parse_known_args(args, namespace)
        if self.late and rest and all(_is_word(word) for word in rest):
            before = getattr(found, self.late)
            if isinstance(before, list):
                setattr(found, self.late, [*before, *rest])
                rest = []
            elif before is None and len(rest) == 1:
                setattr(found, self.late, rest[0])
                rest = []
        return found, rest

    def format_help(self) -> str:
        """Return the help, with an example at its end, on a line of its own to be copied."""
        example = EXAMPLES.get(self.prog)
        return super().format_help() + (f"\nexample:\n  {example}\n" if example else "")

    def error(self, message: str) -> NoReturn:
        """End with one line. It repeats words from outside: a shell's `*` brings in any file's name."""
        line = f"fsnotes: invalid_argument: {message}; {self.prog} --help shows what it takes"
        self.exit(2, one_line(line) + "\n")


def _is_word(word: str) -> bool:
    return word == "-" or " " in word or not word.startswith("-")  # as argparse tells words from options


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line. Shared options stand before or after the command."""
    top = _Parser(
        prog="fsnotes",
        usage="fsnotes [SHARED OPTION ...] COMMAND ...",
        description="Serve and manage folders of markdown notes.",
        epilog=_EPILOG,
    )
    top.add_argument("--version", action="version", version=f"fsnotes {__version__}")
    top.set_defaults(**_SHARED, folders=[], host=None, port=None, endpoint=None, workers=None)
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND", prog="fsnotes")
    _share(top)

    serve = _command(commands, "serve", "serve folders to MCP clients over stdio or HTTP", server.serve)
    serve.late = "folders"
    serve.add_argument("folders", nargs="*", metavar="DIR", help="a folder to serve, granted in full to you")
    serve.add_argument(
        "--transport", choices=["stdio", "http"], default="stdio", help="stdio (default), or http for several"
    )
    serve.add_argument("--host", metavar="ADDRESS", help="for http: what to bind to (default: 127.0.0.1)")
    serve.add_argument("--port", type=int, metavar="N", help="for http: default 8931; 0 takes a free one")
    serve.add_argument(
        "--path", dest="endpoint", metavar="PATH", help="for http: the endpoint (default: /mcp)"
    )
    serve.add_argument(
        "--workers", type=int, metavar="N", help="for http: how many processes serve it, 1 (default) to 64"
    )

    examined = _command(commands, "doctor", "show what is enforced here, and attack it", doctor.doctor)
    examined.late = "folders"
    examined.add_argument(
        "folders", nargs="*", metavar="DIR", help="a folder to examine, as serve would have it"
    )
    _as_json(examined)
    examined.add_argument(
        "--clear", metavar="NAME", help="open a workspace again that was closed for breaches"
    )

    shown = _command(
        commands, "snippet", "print configuration for a client, ready to be pasted", snippets.snippet
    )
    shown.late = "folders"
    shown.add_argument("client", metavar="CLIENT", choices=CLIENTS, help=f"one of {', '.join(CLIENTS)}")
    shown.add_argument(
        "folders",
        nargs="*",
        default=[],
        metavar="DIR",
        help="a folder to serve (default: what is configured)",
    )
    shown.add_argument("--json", action="store_true", help="the same for programs, with where it goes")

    completed = _command(
        commands, "completion", "print what a shell needs to complete commands", completion.completion
    )
    completed.add_argument("shell", nargs="?", choices=["bash", "zsh", "fish"], help="the shell")
    completed.add_argument(
        "--workspaces", action="store_true", help="print the names of the workspaces, as the scripts ask"
    )

    _command(commands, "demo", "play a sample workspace in a temporary folder", server.demo)

    listing = _notes_command(commands, "list", "list notes", notes.list_notes)
    listing.add_argument(
        "folder", nargs="?", default="", help="a folder of the workspace (default: the whole)"
    )
    listing.add_argument("-r", "--recursive", action="store_true", help="with all folders below")
    listing.add_argument(
        "--glob", metavar="PATTERN", help="only notes that match, such as 'Projects/**' or '*.draft.md'"
    )
    listing.add_argument("--tag", help="only notes with this tag, or with one nested in it")
    listing.add_argument(
        "--sort", choices=SORTS, default="path", help="path (default), newest or largest first"
    )
    _paged(listing)

    read = _notes_command(commands, "read", "print a note", notes.read)
    read.add_argument("path", help="the note's path in the workspace; .md may be left out")
    read.add_argument(
        "--section",
        "--heading",
        dest="heading",
        metavar="HEADING",
        help="only what stands under this heading",
    )
    read.add_argument("--start-line", type=int, metavar="N", help="from this line on")
    read.add_argument("--end-line", type=int, metavar="N", help="up to this line")

    sought = _notes_command(commands, "search", "find notes by words, tags and properties", search.search)
    sought.add_argument(
        "query", help='words, "phrases", -not, prefix*, OR, title:x, path:x, tag:x, prop:key=value'
    )
    sought.add_argument("--folder", default="", help="only in this folder of the workspace")
    sought.add_argument("--tag", help="only notes with this tag, or with one nested in it")
    sought.add_argument("--regex", action="store_true", help="the query is an RE2 pattern for the text")
    _paged(sought)

    create = _notes_command(commands, "create", "make a note from --content or standard input", notes.create)
    create.add_argument("path", help="where in the workspace; .md is added, folders are made")
    create.add_argument("--content", metavar="TEXT", help="the text (default: standard input)")

    edit = _notes_command(commands, "edit", "replace text in a note, or under a heading", edits.edit)
    edit.add_argument("path", help="the note's path in the workspace; .md may be left out")
    old = edit.add_mutually_exclusive_group()
    old.add_argument("--old", metavar="TEXT", help="the text to replace, literally (default: the section's)")
    old.add_argument("--old-file", metavar="FILE", help="the same from a file, every byte of it; - is stdin")
    new = edit.add_mutually_exclusive_group()
    new.add_argument("--new", metavar="TEXT", help="what to put there (default: standard input)")
    new.add_argument("--new-file", metavar="FILE", help="the same from a file, every byte of it; - is stdin")
    edit.add_argument(
        "--expected", type=int, default=1, metavar="N", help="how often the text stands there (default: 1)"
    )
    _changing(edit)

    append = _notes_command(commands, "append", "add text to a note or a section", edits.append)
    append.add_argument("path", help="the note's path in the workspace; .md may be left out")
    append.add_argument("text", nargs="?", metavar="TEXT", help="the text (default, and -: standard input)")
    append.late = "text"
    append.add_argument("--position", choices=["start", "end"], default="end", help="default: end")
    _changing(append)

    properties = _notes_command(
        commands, "properties", "set and unset properties in a note's frontmatter", edits.properties
    )
    properties.add_argument("path", help="the note's path in the workspace; .md may be left out")
    properties.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a property and its value, which is YAML (may be repeated)",
    )
    properties.add_argument(
        "--unset",
        action="append",
        default=[],
        metavar="KEY",
        help="a property that is to go (may be repeated)",
    )
    _conditional(properties)

    move = _notes_command(commands, "move", "rename or move a note or a folder, with its links", moves.move)
    move.add_argument("path", help="the note or folder in the workspace; .md may be left out")
    move.add_argument(
        "new_path", metavar="NEW-PATH", help="its whole new path; .md is added, folders are made"
    )
    move.add_argument("--keep-links", action="store_true", help="rewrite no links")
    _conditional(move)

    linked = _notes_command(
        commands, "links", "list the links of a note, or those that lead astray", links.links
    )
    linked.add_argument(
        "path",
        nargs="?",
        default="",
        help="a note; for broken and ambiguous ones a folder (default: the whole)",
    )
    linked.add_argument(
        "--direction",
        choices=DIRECTIONS,
        help="out of the note (default), in to it, broken: to nothing, ambiguous: to several files",
    )
    linked.add_argument(
        "--orphans",
        action="store_true",
        help="list instead the notes, in a folder or all, that no other note links to",
    )
    _paged(linked)

    counted = _notes_command(commands, "tags", "list tags and how often each is used", tags.tags)
    counted.add_argument("prefix", nargs="?", default="", help="what they begin with, such as work/")
    _paged(counted)

    delete = _notes_command(commands, "delete", "ask, then move a note to the trash", notes.delete)
    delete.add_argument("title", help="the note's title, a part of it, or its path")

    trash = _notes_command(commands, "trash", "list what was deleted", notes.trash)
    _paged(trash)

    restore = _notes_command(commands, "restore", "put a deleted note back", notes.restore)
    restore.add_argument("trash_id", metavar="TRASH-ID", help="as fsnotes trash shows it")
    restore.add_argument("--to", dest="new_path", metavar="PATH", help="another place than where it was")

    index = _notes_command(commands, "index", "build the search index, or bring it up to date", indexes.index)
    index.add_argument("folder", nargs="?", metavar="DIR", help="the folder (default: as for -w)")

    ring = commands.add_parser("keys", help="the keys that seal confirmations")
    actions = ring.add_subparsers(required=True, metavar="ACTION")
    _command(actions, "rotate", "seal with a fresh key from now on", keys.rotate)
    _command(actions, "list", "list the keys by id and age", keys.show)

    log = _command(commands, "audit", "show what was changed and refused, by whom", audit.audit)
    log.add_argument("-f", "--follow", action="store_true", help="go on with what comes, until interrupted")
    log.add_argument("--json", action="store_true", help="each line as it is in the log: one JSON object")
    log.add_argument(
        "--since", metavar="TIME", help="from then on: 2026-01-31, 2026-01-31T22:59:00Z, or 90m, 2h, 7d"
    )
    log.add_argument("--principal", metavar="NAME", help="only what this one did, such as local:alice")
    log.add_argument("-w", "--workspace", metavar="NAME", help="only in the workspace of this name")
    log.add_argument("--tool", metavar="NAME", help="only by this tool, such as delete or notes_delete")
    log.add_argument(
        "--outcome", metavar="WORD", help="only with this outcome, such as deleted or not_allowed"
    )
    log.add_argument(
        "--limit", type=int, metavar="N", help=f"the last N lines (0 to {MOST_LINES}; with --follow: 10)"
    )

    bearers = commands.add_parser("token", help="the static tokens for HTTP")
    actions = bearers.add_subparsers(required=True, metavar="ACTION")
    made = _command(actions, "new", "make a token and print it, this once", tokens.new)
    made.add_argument("name", metavar="NAME", help="whose it is: the principal is token:NAME")
    _as_json(made)
    _as_json(_command(actions, "list", "list the tokens by id, name and age", tokens.show))
    revoked = _command(actions, "revoke", "end a token, or all of one name, at once", tokens.revoke)
    revoked.add_argument("token", metavar="NAME|ID", help="all tokens of a name, or one by its id")
    _as_json(revoked)
    return top


def _command(
    commands: Any, name: str, summary: str, run: Callable[[argparse.Namespace, Any], int]
) -> _Parser:
    made: _Parser = commands.add_parser(
        name, help=summary, description=summary[0].upper() + summary[1:] + "."
    )
    made.set_defaults(run=run)
    _share(made)
    return made


def _share(made: argparse.ArgumentParser) -> None:
    # Suppressed: what is not given after the command must not undo what was given before it.
    shared = made.add_argument_group("shared options", argument_default=argparse.SUPPRESS)
    shared.add_argument(
        "--config", metavar="FILE", help="default: $FSNOTES_CONFIG, then ~/.config/fsnotes/config.toml"
    )
    shared.add_argument(
        "--state-dir", metavar="DIR", help="default: $FSNOTES_STATE_DIR, then ~/.local/state/fsnotes"
    )
    shared.add_argument(
        "--jail", choices=["off", "best-effort", "require"], help="default: best-effort; require ends with 8"
    )
    shared.add_argument("--jail-level", choices=["contained", "full"], help="what require asks for")
    shared.add_argument("--read-only", action="store_true", help="change nothing, whatever is granted")
    shared.add_argument(
        "--legacy", choices=["on", "off"], help="clients of older revisions (stdio: on, http: off)"
    )
    shared.add_argument("--log-level", choices=["debug", "info", "warning", "error"], help="default: warning")
    shared.add_argument("--log-format", choices=["text", "json"], help="default: text")


def _notes_command(
    commands: Any, name: str, summary: str, run: Callable[[argparse.Namespace, Any], int]
) -> _Parser:
    made = _command(commands, name, summary, run)
    made.add_argument(
        "-w", "--workspace", metavar="NAME|DIR", help="default: the only one, or the one you are in"
    )
    _as_json(made)
    return made


def _as_json(made: argparse.ArgumentParser) -> None:
    made.add_argument("--json", action="store_true", help="the result as JSON")


def _changing(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--section",
        "--heading",
        dest="heading",
        metavar="HEADING",
        help="only in what stands under this heading",
    )
    _conditional(made)


def _conditional(made: argparse.ArgumentParser) -> None:
    made.add_argument("--if-match", metavar="ETAG", help="only if the note still has this etag")
    made.add_argument("--dry-run", action="store_true", help="change nothing, show what would be changed")


def _paged(made: argparse.ArgumentParser) -> None:
    made.add_argument("--limit", type=int, metavar="N", help=f"one page of at most N (1 to {MAX_LIMIT})")
    made.add_argument("--cursor", help="the page that this cursor of an earlier answer names")
