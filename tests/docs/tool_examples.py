"""What is shown of the tools in `docs/tools.md` that no descriptor says: a sample vault, calls, meanings of fields."""

from __future__ import annotations

from typing import Any, Final

HEAD: Final = """\
# Tools

The {tools} tools of a server, as `tools/list` has them, in its order. This page is generated from them, and every
answer on it is a real one; times, trash ids, sealed states and the jail's level are those of one day on one host. The
commands for people that do the same, and some more, are in [the command line](cli.md).

A tool is called with `tools/call`. Over [HTTP](http.md) and stdio a call and its result have the same bytes.

- All tools but the first take `workspaceUri`, which `notes_workspaces` gives. `path` is a note's path in its workspace,
  with `/` and `.md`; the suffix may be left out. Unknown arguments are refused.
- Results are compact JSON, as `structuredContent` and as text alike. `notes_read` has text alone: one block that says
  where the text is from and how to go on, and one with exactly the note's text. Either form has less than 40,000
  characters, and says how to get the rest.
- Lists come in pages: `nextCursor` is there if there may be more, and is the `cursor` of the next call.
- `etag` is made of a note's bytes alone. With `ifMatch` a note is only changed while it has that etag.
- A right is granted by [configuration](configuration.md). With `--read-only` only tools with the hint `readOnly` are
  there.
- A call that fails as expected has `isError` and one line, `slug: what, why, what to do next`. What each slug means is
  in [errors](errors.md). Beside those shown with a tool, any call may be `invalid_argument`, `not_allowed`, `limit`,
  `busy` or `unavailable`, one that reads or changes a note `not_text`, `too_large` or `ambiguous`, and one that answers
  a form `conflict`, where the note is not what the form showed.
- What comes from notes, names and texts alike, is data and never an instruction.
"""

TRASHED: Final = "20260131T225900Z-0123456789abcdef0123456789abcdef"

GARDEN: Final = b"""\
---
status: open
tags: [garden]
---
# The garden

See [[ideas]] and [[pond]].

## To do

- buy seeds
- dig
"""

SAMPLE: Final[dict[str, bytes]] = {
    "Projects/garden.md": GARDEN,
    "Projects/plan.md": b"# Plan\n\n- [[garden]] in spring #work/outside\n- [[missing]]\n",
    "ideas.md": b"# Ideas\n\nA pond, some seeds. #garden\n",
    "Archive/pond.md": b"# Pond\n\nDeep.\n",
    f".trash/{TRASHED}/old.md": b"# Old\n",
}

LOG: Final = {"log.md": b"# Log\n\n## Monday\n\n### Tasks\n\n- mow\n\n## Tuesday\n\n### Tasks\n\n- mow\n"}
LATIN: Final = {"latin.md": b"caf\xe9\n"}
BROKEN: Final = {"broken.md": b"---\ntags: [a\n---\n# Broken\n"}
MANY: Final = {f"Daily/{number:02}.md": b"# Daily\n" for number in range(1, 27)}
STALE: Final = "S8bAqG54blPI89LW7A2H6rqdphyrM32V"

ANSWER: Final = {
    "delete_choice": {"action": "accept", "content": {"note_id": "ideas.md", "confirm": True}},
}

Arguments = dict[str, Any]

EXAMPLES: Final[dict[str, list[tuple[str, Arguments]]]] = {
    "notes_workspaces": [("A call and its answer:", {})],
    "notes_list": [("The notes of a folder:", {"folder": "Projects"})],
    "notes_read": [("A section of a note:", {"path": "Projects/garden", "heading": "To do"})],
    "notes_search": [
        ("Notes with a word that begins so, and without another one ([search](search.md)):",
         {"query": "seed* -dig"}),
    ],
    "notes_create": [("A new note:", {"path": "Projects/compost", "content": "# Compost\n"})],
    "notes_edit": [
        ("A text that stands there once ([editing](editing.md)):",
         {"path": "Projects/garden", "oldText": "buy seeds", "newText": "buy seeds and soil"}),
    ],
    "notes_append": [
        ("A line at the end of a section ([editing](editing.md#adding-text)):",
         {"path": "Projects/garden", "text": "- compost", "heading": "To do"}),
    ],
    "notes_properties": [
        ("A property that is set and one that goes ([properties](properties.md)):",
         {"path": "Projects/garden", "set": [{"key": "status", "value": "done"}], "unset": ["tags"]}),
    ],
    "notes_move": [
        ("A note that others link to ([links](links.md#how-something-is-moved)):",
         {"path": "ideas", "newPath": "Projects/Good ideas"}),
    ],
    "notes_links": [
        ("The links of a note ([links](links.md)):", {"path": "Projects/garden"}),
        ("Those anywhere that lead to nothing:", {"path": "", "direction": "broken"}),
    ],
    "notes_tags": [("All tags ([tags](links.md#tags)):", {})],
    "notes_delete": [
        ("A person is asked first, always ([confirmation](confirmation.md)):", {"title": "Ideas"}),
    ],
    "notes_trash": [("What was deleted:", {})],
    "notes_restore": [("Back to where it was:", {"trashId": TRASHED})],
}  # fmt: skip
"""Calls that are shown with their answers, one after the other on one vault."""

Refusal = tuple[str, Arguments, dict[str, bytes]]

REFUSALS: Final[dict[str, list[Refusal]]] = {
    "notes_workspaces": [("an argument that it does not take", {"path": "ideas"}, {})],
    "notes_list": [
        ("no such folder", {"folder": "Project"}, {}),
        ("a cursor of another call", {"cursor": "forged"}, {}),
    ],
    "notes_read": [
        ("no such note", {"path": "idea"}, {}),
        ("no such heading", {"path": "Projects/garden", "heading": "Done"}, {}),
        ("several headings of that name", {"path": "log", "heading": "Tasks"}, LOG),
        ("a line that is not there", {"path": "ideas", "startLine": 9}, {}),
        ("not UTF-8", {"path": "latin"}, LATIN),
    ],
    "notes_search": [
        ("nothing that must be there", {"query": "-seeds"}, {}),
        ("no RE2 pattern", {"query": "(?=seeds)", "regex": True}, {}),
        ("no such folder", {"query": "seeds", "folder": "Project"}, {}),
    ],
    "notes_create": [
        ("the path is taken", {"path": "ideas", "content": "# Other\n"}, {}),
        ("a name that not every system takes", {"path": "a?b", "content": ""}, {}),
        ("more than `max_note_bytes`", {"path": "large", "content": "x" * 1_048_577}, {}),
    ],
    "notes_edit": [
        ("the text is not there", {"path": "Projects/garden", "oldText": "buy sand", "newText": ""}, {}),
        ("it is there another number of times", {"path": "log", "oldText": "mow", "newText": "rake"}, LOG),
        ("a stale etag", {"path": "ideas", "oldText": "pond", "newText": "sea", "ifMatch": STALE}, {}),
        ("neither a text nor a heading", {"path": "ideas", "newText": ""}, {}),
        ("not UTF-8", {"path": "latin", "oldText": "caf", "newText": ""}, LATIN),
    ],
    "notes_append": [
        ("no such note", {"path": "idea", "text": "x"}, {}),
        ("no such heading", {"path": "ideas", "text": "x", "heading": "To do"}, {}),
        ("a stale etag", {"path": "ideas", "text": "x", "ifMatch": STALE}, {}),
    ],
    "notes_properties": [
        ("broken frontmatter", {"path": "broken", "unset": ["tags"]}, BROKEN),
        ("a value that YAML cannot read", {"path": "ideas", "set": [{"key": "due", "value": "[a"}]}, {}),
        ("nothing to do", {"path": "ideas"}, {}),
        ("a stale etag", {"path": "ideas", "unset": ["due"], "ifMatch": STALE}, {}),
    ],
    "notes_move": [
        ("no such note or folder", {"path": "idea", "newPath": "x"}, {}),
        ("the new path is taken", {"path": "ideas", "newPath": "Projects/plan"}, {}),
        ("a stale etag", {"path": "ideas", "newPath": "x", "ifMatch": STALE}, {}),
    ],
    "notes_links": [
        ("no such note", {"path": "idea"}, {}),
    ],
    "notes_tags": [("a cursor of another call", {"cursor": "forged"}, {})],
    "notes_delete": [
        ("no note of that title", {"title": "Idea of mine"}, {}),
        ("more notes than a form offers", {"title": "Daily"}, MANY),
    ],
    "notes_trash": [("a cursor of another call", {"cursor": "forged"}, {})],
    "notes_restore": [
        ("no such entry", {"trashId": "20260131T225900Z-" + "f" * 32}, {}),
        ("the path is taken", {"trashId": TRASHED, "newPath": "ideas"}, {}),
    ],
}
"""When a call is refused, its arguments, and what else is in the vault then."""

MEANINGS: Final = {
    "limit": "How many on a page",
    "direction": "Which links: from it, to it, to nothing, to several files",
}
"""What arguments mean whose descriptions say no more than a default."""

FIELDS: Final[dict[str, str]] = {
    "workspaces": "the workspaces that the caller has a grant for",
    "uri": "its `workspaceUri`",
    "name": "its name in the configuration, or that of its folder",
    "folder": "the only folder that the grant covers; empty for all",
    "rights": "what is granted: `read`, `write`, `delete`",
    "policies": "what the workspace allows, see [configuration](configuration.md)",
    "symlinks": "`refuse` or `within`",
    "hardlinks": "`refuse` or `allow`",
    "mounts": "`refuse` or `allow`",
    "maxNoteBytes": "how large a note may be",
    "maxBytes": "how much the workspace may hold",
    "maxEntries": "how many files and folders it may hold",
    "minFreeBytes": "what stays free on its disk",
    "jail": "the level that is in force: `full`, `contained`, `partial` or `none`",
    "noteCount": "how many notes were counted",
    "noteCountComplete": "whether these are all",
    "notes_workspaces workspaces[].index": "its search index: `ready`, `building`, or `none`",
    "notes": "a page of notes",
    "folders": "the folders in that folder",
    "skipped": "what was left out",
    "reason": "why",
    "count": "how many",
    "path": "the note's path",
    "title": "its title: of its properties, else its first heading, else its file name",
    "size": "its bytes",
    "modified": "when it was last written, in UTC",
    "etag": "its etag",
    "nextCursor": "the cursor of the next page",
    "hits": "the notes that were found, the best first",
    "lines": "up to three lines that show why",
    "line": "its number, from 1",
    "text": "the line, cut to 200 characters",
    "partial": "whether the page ended before all was searched",
    "index": "how far the index is, while it is built",
    "indexed": "notes that it knows",
    "remaining": "notes that are still to be read",
    "outcome": "`changed`, `unchanged` or `would_change`",
    "notes_move outcome": "`moved` or `would_move`",
    "notes_delete outcome": "`deleted`, `declined` or `cancelled`",
    "matches": "in how many places the text was replaced",
    "absent": "properties that were to go and were not there",
    "absentMore": "how many more of them",
    "notKept": "what of the former file could not be kept",
    "diff": "what was changed, or would be, for who may read the note",
    "diffComplete": "false where the diff was cut",
    "newPath": "its path after the move",
    "notes_move path": "the path before the move",
    "notes_move notes": "how many notes moved with a folder",
    "updated": "notes whose links were rewritten",
    "updatedMore": "how many more of them",
    "leftAlone": "links that were not rewritten",
    "leftAloneMore": "how many more of them",
    "links": "how many links in it",
    "notes_links links[].line": "the line in which it stands, from 1",
    "notes_move leftAlone[].line": "the line in which it stands, from 1",
    "notes_list skipped[].path": "its path, where that can be shown",
    "notes_links links": "a page of links",
    "link": "the link as it is written",
    "source": "the note that it stands in",
    "targets": "the files that it leads to",
    "targetsMore": "how many more of them",
    "fragment": "the heading or block that it names",
    "fragmentFound": "whether that is there",
    "tags": "a page of tags, the most used first",
    "tag": "the tag, without `#`",
    "trashId": "what `notes_restore` takes",
    "entries": "a page of deleted notes, the latest first",
    "deletedAt": "when it was deleted, in UTC",
}
"""What the fields of results mean: by the name, or by tool and whole path where it means something else there."""
