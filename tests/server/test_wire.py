"""Each tool over the wire, whole results: what a client and a model get to see of the real service."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import fsnotes
from fsnotes.server.stdio import LARGE_FRAME
from fsnotes.server.tools import TOOLS
from tests.server.conftest import Vault
from tests.server.wire import SERVER_KEY, Wire, accept, call, envelope, failed, request
from tests.workers import jail_level

SERVER = {"name": "fsnotes", "title": "fsnotes", "version": fsnotes.__version__}
NO_FORMS = envelope({})
NOT_ALLOWED = (
    "not_allowed: no such workspace for you, or the operation is not granted in it;"
    " notes_workspaces lists what is"
)


@pytest.fixture
def notes(shared_vault: Vault) -> Vault:
    return shared_vault


def structured(wire: Wire, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool that answers with structure; hold the result to its form and its schema."""
    result = wire.result(tool, arguments)
    document: dict[str, Any] = result["structuredContent"]
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    assert result == {
        "content": [{"type": "text", "text": text}],
        "structuredContent": document,
        "isError": False,
        "resultType": "complete",
    }
    assert len(text) < 40_000
    schema = next(known.output_schema for known in TOOLS if known.name == tool)
    assert schema is not None
    Draft202012Validator(schema).validate(document)
    return document


def read(wire: Wire, arguments: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Read a note; return the header and the text."""
    result = wire.result("notes_read", arguments)
    header, text = (block["text"] for block in result["content"])
    assert result == {
        "content": [{"type": "text", "text": header}, {"type": "text", "text": text}],
        "isError": False,
        "resultType": "complete",
    }
    assert len(header) + len(text) < 40_000
    return json.loads(header), text


def failure(wire: Wire, tool: str, arguments: dict[str, Any], *, meta: Any = None) -> str:
    """Call a tool that fails; return its one line."""
    answer = wire.call(tool, arguments, meta=meta)
    line: str = answer["result"]["content"][0]["text"]
    assert answer == failed(answer["id"], line, SERVER)
    assert len(line.splitlines()) == 1
    return line


def test_workspaces_shows_where_the_caller_may_work(vault: Vault) -> None:
    vault.write("a.md", "a")
    document = structured(vault.serve(), "notes_workspaces", {})
    # The index is being built meanwhile.
    assert document["workspaces"][0].pop("index") in ("none", "building", "ready")
    assert document == {
        "workspaces": [
            {
                "uri": vault.uri,
                "name": "Notes",
                "folder": "",
                "rights": ["read", "write", "delete"],
                "policies": {
                    "symlinks": "refuse",
                    "hardlinks": "refuse",
                    "mounts": "refuse",
                    "maxNoteBytes": 1_048_576,
                },
                "jail": jail_level()[0].value,
                "noteCount": 1,
                "noteCountComplete": True,
            }
        ]
    }


def test_a_listing_says_what_there_is_and_what_was_skipped(notes: Vault) -> None:
    notes.write("b.md", "---\ntitle: Bee\n---\n")
    notes.write("Folder/c.md", "# C\n")
    notes.write("picture.png", "")
    os.symlink("b.md", notes.folder / "link.md")
    document = structured(notes.wire, "notes_list", notes.args())
    assert [(note["path"], note["title"], note["size"]) for note in document["notes"]] == [
        ("b.md", "Bee", 19)
    ]
    assert document["folders"] == ["Folder"]
    assert [item["path"] for item in document["skipped"]] == ["link.md"]
    everything = structured(notes.wire, "notes_list", notes.args(recursive=True))
    assert [note["path"] for note in everything["notes"]] == ["Folder/c.md", "b.md"]


def test_links_are_shown_with_what_they_lead_to(notes: Vault) -> None:
    notes.write("a.md", "[[Folder/b#B|x]] [[gone]] [[twin]] [web](https://example.org)\n")
    notes.write("Folder/b.md", "# B\n\n![[pic.png]] [a](../a.md)\n")
    notes.write("pic.png", "")
    for folder in ("x", "y"):
        notes.write(f"{folder}/twin.md", "")
    (notes.folder / "bad.md").write_bytes(b"\xff")
    first = {
        "source": "a.md",
        "line": 1,
        "link": "[[Folder/b#B|x]]",
        "targets": ["Folder/b.md"],
        "fragment": "B",
        "fragmentFound": True,
    }
    page = structured(notes.wire, "notes_links", notes.args(path="a", limit=1))
    cursor = page.pop("nextCursor")
    assert page == {"links": [first], "skipped": []}
    rest = structured(notes.wire, "notes_links", notes.args(path="a", cursor=cursor))
    assert [(link["link"], link["targets"]) for link in rest["links"]] == [
        ("[[gone]]", []),
        ("[[twin]]", ["x/twin.md", "y/twin.md"]),
    ]
    counted = [{"count": 1, "reason": "not_text"}]
    into = structured(notes.wire, "notes_links", notes.args(path="Folder/b.md", direction="in"))
    assert into == {"links": [first], "skipped": counted}
    for direction, link in (("broken", "[[gone]]"), ("ambiguous", "[[twin]]")):
        astray = structured(notes.wire, "notes_links", notes.args(path="", direction=direction))
        assert ([each["link"] for each in astray["links"]], astray["skipped"]) == ([link], counted)


def test_a_search_shows_where_its_words_stand(notes: Vault) -> None:
    notes.write("a.md", "---\ntags: [work]\n---\n# Plan\n\nWater the garden\n")
    notes.write("Folder/b.md", "The garden #work\n")
    notes.write("Folder/c.md", "the gardener\n")
    (notes.folder / "bad.md").write_bytes(b"garden \xff")
    counted = [{"count": 1, "reason": "not_text"}]
    first = {"path": "Folder/b.md", "title": "b", "lines": [{"line": 1, "text": "The garden #work"}]}
    second = {"path": "a.md", "title": "Plan", "lines": [{"line": 6, "text": "Water the garden"}]}
    found = structured(notes.wire, "notes_search", notes.args(query="garden tag:work"))
    assert found == {"hits": [first, second], "partial": False, "skipped": counted}
    page = structured(notes.wire, "notes_search", notes.args(query="garden", limit=1))
    assert page["hits"] == [first]
    rest = structured(
        notes.wire, "notes_search", notes.args(query="garden", limit=1, cursor=page["nextCursor"])
    )
    assert rest["hits"] == [second]
    found = structured(
        notes.wire, "notes_search", notes.args(query=r"g[a-z]+n\b", regex=True, folder="Folder", tag="Work")
    )
    assert found == {"hits": [first], "partial": False, "skipped": []}


def test_tags_are_counted_and_paged(notes: Vault) -> None:
    notes.write("a.md", "---\ntags: [Work/mail]\n---\n# A\n\n#work #x `#no`\n")
    (notes.folder / "bad.md").write_bytes(b"\xff")
    document = structured(notes.wire, "notes_tags", notes.args(limit=2))
    cursor = document.pop("nextCursor")
    assert document == {
        "tags": [{"tag": "Work", "count": 2}, {"tag": "Work/mail", "count": 1}],
        "skipped": [{"count": 1, "reason": "not_text"}],
    }
    assert structured(notes.wire, "notes_tags", notes.args(cursor=cursor)) == {
        "tags": [{"tag": "x", "count": 1}],
        "skipped": [],
    }
    listed = structured(notes.wire, "notes_list", notes.args(tag="#work"))
    assert ([note["path"] for note in listed["notes"]], listed["skipped"]) == (
        ["a.md"],
        [{"path": "bad.md", "reason": "not_text"}],
    )
    document = structured(notes.wire, "notes_tags", notes.args(prefix="#work/"))
    assert document["tags"] == [{"tag": "Work/mail", "count": 1}]


def test_a_file_whose_name_is_no_unicode_is_counted_and_breaks_nothing(notes: Vault) -> None:
    notes.write("a.md", "a")
    with open(os.fsencode(notes.folder) + b"/caf\xe9.md", "wb"):
        pass
    document = structured(notes.wire, "notes_list", notes.args())
    assert [note["path"] for note in document["notes"]] == ["a.md"]
    assert len(document["skipped"]) == 1


def test_a_long_list_comes_in_pages_that_hold_everything_once(notes: Vault) -> None:
    names = [f"{number:04}-{'x' * 100}.md" for number in range(450)]
    for name in names:
        notes.write(name, "")
    found: list[str] = []
    arguments = notes.args(limit=200)
    while True:
        page = structured(notes.wire, "notes_list", arguments)
        found += [note["path"] for note in page["notes"]]
        if "nextCursor" not in page:
            break
        arguments = notes.args(limit=200, cursor=page["nextCursor"])
    assert found == names


def test_a_note_is_read_exactly_as_it_is(notes: Vault) -> None:
    text = "\ufeff# T\u00efle\r\nline\u2028two\rthree\n\n\U0001f600\x00\x1b end"
    notes.write("a.md", text)
    header, read_text = read(notes.wire, notes.args(path="a"))
    assert read_text == text
    assert (header["path"], header["startLine"]) == ("a.md", 1)
    assert "next" not in header


def test_a_long_note_is_read_in_parts_that_join_to_the_whole(notes: Vault) -> None:
    text = "".join(f"{number} {'word ' * 40}\n" for number in range(900)) + "y" * 90_000
    notes.write("long.md", text)
    arguments, parts = notes.args(path="long.md"), []
    for _ in range(20):
        header, part = read(notes.wire, arguments)
        parts.append(part)
        if "next" not in header:
            break
        arguments = notes.args(path="long.md", **header["next"])
    assert "".join(parts) == text


def test_a_note_is_created_never_overwritten(notes: Vault) -> None:
    document = structured(notes.wire, "notes_create", notes.args(path="new/a", content="# A\r\n"))
    assert document == {"path": "new/a.md", "etag": document["etag"], "size": 5}
    assert read(notes.wire, notes.args(path="new/a"))[0]["etag"] == document["etag"]
    line = failure(notes.wire, "notes_create", notes.args(path="new/a.md", content="other"))
    assert line == 'exists: "new/a.md" is taken and was not overwritten; choose another path'
    assert notes.files() == {"new/a.md": "# A\r\n"}


def test_a_note_is_edited_as_its_bytes_say_and_nothing_else_changes(notes: Vault) -> None:
    text = "\ufeff---\r\ntitle: x\r\n---\r\n# A\r\none\r\n\r\n# B\r\none\ttwo"
    notes.write("a.md", text)
    etag = read(notes.wire, notes.args(path="a"))[0]["etag"]
    arguments = notes.args(path="a", oldText="one\n\n# B", newText="1\n\n# C", ifMatch=etag)
    planned = structured(notes.wire, "notes_edit", arguments | {"dryRun": True})
    assert notes.files() == {"a.md": text}
    made = text.replace("one\r\n\r\n# B", "1\r\n\r\n# C")
    assert structured(notes.wire, "notes_edit", arguments) == planned | {"outcome": "changed"}
    assert planned == {
        "outcome": "would_change",
        "path": "a.md",
        "etag": read(notes.wire, notes.args(path="a"))[0]["etag"],
        "size": len(made.encode()),
        "matches": 1,
        "diff": (
            "@@ -2,7 +2,7 @@\n title: x\r\n ---\r\n # A\r\n-one\r\n-\r\n-# B\r\n+1\r\n+\r\n+# C\r\n one\ttwo\n"
            "\\ No newline at end of file\n"
        ),
    }
    assert notes.files() == {"a.md": made}
    line = failure(notes.wire, "notes_edit", arguments)
    assert line == (
        f'conflict: "a.md" changed, moved or vanished since you saw it; its etag is {planned["etag"]}; nothing was'
        " done, read it again"
    )
    section = structured(notes.wire, "notes_edit", notes.args(path="a", heading="C", newText="$& \\1\nx\n"))
    assert section.keys() == {"outcome", "path", "etag", "size", "diff"}
    assert notes.files() == {"a.md": made.replace("one\ttwo", "$& \\1\r\nx\r\n")}


def test_text_is_added_and_what_is_there_stays(notes: Vault) -> None:
    notes.write("a.md", "# A\r\none\r\n\r\n# B")
    added = structured(notes.wire, "notes_append", notes.args(path="a.md", text="two", heading="A"))
    assert added == {
        "outcome": "changed",
        "path": "a.md",
        "etag": added["etag"],
        "size": 20,
        "diff": "@@ -1,4 +1,5 @@\n # A\r\n one\r\n+two\r\n \r\n # B\n\\ No newline at end of file\n",
    }
    structured(notes.wire, "notes_append", notes.args(path="a", text="three\n", ifMatch=added["etag"]))
    structured(notes.wire, "notes_append", notes.args(path="a", text="zero", position="start"))
    assert notes.files() == {"a.md": "zero\r\n# A\r\none\r\ntwo\r\n\r\n# B\r\nthree\r\n"}


def test_a_note_moves_with_its_links(notes: Vault) -> None:
    notes.write("a.md", "# A\r\n[x](c.md)")
    notes.write("c.md", "[[a]] `[[a]]`")
    given = notes.args(path="a", newPath="sub/b")
    planned = structured(notes.wire, "notes_move", given | {"dryRun": True})
    assert notes.files() == {"a.md": "# A\r\n[x](c.md)", "c.md": "[[a]] `[[a]]`"}
    done = structured(notes.wire, "notes_move", given)
    assert done == planned | {"outcome": "moved"}
    assert notes.files() == {"sub/b.md": "# A\r\n[x](../c.md)", "c.md": "[[b]] `[[a]]`"}
    assert done == {
        "outcome": "moved",
        "path": "a.md",
        "newPath": "sub/b.md",
        "etag": done["etag"],
        "updated": [
            {"path": "sub/b.md", "etag": done["etag"], "links": 1},
            {"path": "c.md", "etag": done["updated"][1]["etag"], "links": 1},
        ],
        "leftAlone": [],
    }
    folder = structured(notes.wire, "notes_move", notes.args(path="sub", newPath="into", updateLinks=False))
    assert (folder["notes"], folder["updated"]) == (1, [])
    assert notes.files() == {"into/b.md": "# A\r\n[x](../c.md)", "c.md": "[[b]] `[[a]]`"}


def test_properties_are_set_and_unset_and_all_else_stays(notes: Vault) -> None:
    text = "\ufeff---\r\ntitle: 'x' # why\r\nid: 01234\r\n---\r\nbody"
    notes.write("a.md", text)
    given = notes.args(
        path="a",
        set=[{"key": "tags", "value": "[a, 'b c']"}, {"key": "due", "value": "2026-01-31"}],
        unset=["id", "nothing"],
    )
    planned = structured(notes.wire, "notes_properties", given | {"dryRun": True})
    assert notes.files() == {"a.md": text}
    made = text.replace("id: 01234\r\n", "tags: [a, 'b c']\r\ndue: 2026-01-31\r\n")
    assert planned == {
        "outcome": "would_change",
        "path": "a.md",
        "etag": planned["etag"],
        "size": len(made.encode()),
        "absent": ["nothing"],
        "diff": (
            "@@ -1,5 +1,6 @@\n \ufeff---\r\n title: 'x' # why\r\n-id: 01234\r\n+tags: [a, 'b c']\r\n"
            "+due: 2026-01-31\r\n ---\r\n body\n\\ No newline at end of file\n"
        ),
    }
    assert structured(notes.wire, "notes_properties", given) == planned | {"outcome": "changed"}
    assert notes.files() == {"a.md": made}
    again = structured(notes.wire, "notes_properties", given | {"ifMatch": planned["etag"]})
    assert again == {**planned, "outcome": "unchanged", "absent": ["id", "nothing"], "diff": ""}


def test_the_largest_results_of_a_change_stay_below_the_bound(notes: Vault) -> None:
    """Each character of this path takes six as JSON, and so does each of the diff."""
    path = "/".join([*["\x01" * 255] * 14, "\x01" * 252 + ".md"])
    folder = os.open(notes.folder, os.O_RDONLY)
    try:
        for part in path.split("/")[:-1]:
            os.mkdir(part, dir_fd=folder)
            inner = os.open(part, os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = inner
        name = path.rpartition("/")[2]
        with open(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=folder), "w") as file:
            file.write("\x02" * 9_000)
        given = notes.args(path=path, oldText="\x02" * 9_000, newText="\x02" * 8_000 + "x")
        edited = structured(notes.wire, "notes_edit", given)
        added = structured(notes.wire, "notes_append", notes.args(path=path, text="\x03\n" * 9_000))
        assert (edited["diffComplete"], added["diffComplete"]) == (False, False)
        assert os.stat(name, dir_fd=folder).st_size == added["size"] == 8_002 + 18_000
        keys = [f"{number:02}" + '"' * 250 for number in range(99)]
        value = {"key": "k", "value": '"' + "\\n" * 30_000 + '"'}
        least = structured(notes.wire, "notes_properties", notes.args(path=path, set=[value], unset=keys))
        assert least["absent"] == keys[: len(least["absent"])]
        assert len(least["absent"]) + least["absentMore"] == 99
    finally:
        os.close(folder)


def test_a_deleted_note_is_in_the_trash_and_comes_back(notes: Vault) -> None:
    notes.write("a.md", "# A\n")
    state = notes.wire.result("notes_delete", notes.args(title="A"))["requestState"]
    answer = {"requestState": state, "inputResponses": accept("a.md")}
    deleted = notes.wire.result("notes_delete", notes.args(title="A"), **answer)["structuredContent"]
    entry = {"trashId": deleted["trashId"], "path": "a.md", "size": 4}
    (listed,) = structured(notes.wire, "notes_trash", notes.args())["entries"]
    assert {key: listed[key] for key in entry} == entry
    restored = structured(notes.wire, "notes_restore", notes.args(trashId=deleted["trashId"], newPath="b"))
    assert restored == {"path": "b.md", "etag": restored["etag"]}
    assert notes.files() == {"b.md": "# A\n"}
    assert notes.wire.refusal("notes_delete", notes.args(title="A"), **answer)["code"] == -32602


@pytest.mark.parametrize("suffix", ["", "/"])
def test_a_slash_after_the_workspace_makes_no_difference(notes: Vault, suffix: str) -> None:
    notes.write("a.md", "a")
    arguments = {"workspaceUri": notes.uri + suffix, "path": "a"}
    assert read(notes.wire, arguments)[1] == "a"


@pytest.mark.parametrize(
    "tool", [tool for tool in TOOLS if tool.name != "notes_workspaces"], ids=lambda t: t.name
)
def test_unknown_forbidden_and_malformed_workspaces_get_one_answer(notes: Vault, tool: Any) -> None:
    required = dict.fromkeys(tool.input_schema["required"], "x")
    needed = {"notes_edit": {"oldText": "x"}, "notes_properties": {"unset": ["x"]}}
    required |= needed.get(tool.name, {})
    lines = {
        failure(notes.wire, tool.name, {**required, "workspaceUri": uri})
        for uri in (
            "file:///nowhere",
            notes.folder.parent.as_uri(),
            notes.uri + "-evil",
            notes.uri + "/%2e%2e",
            "https://example.com/",
            "x",
        )
    }
    assert lines == {NOT_ALLOWED}


@pytest.mark.parametrize(
    ("tool", "arguments", "start"),
    [
        ("notes_read", {"path": "nowhere"}, "not_found: "),
        ("notes_read", {"path": "../x"}, "not_allowed: "),
        ("notes_read", {"path": "/etc/passwd"}, "not_allowed: "),
        ("notes_read", {"path": "link"}, "not_allowed: "),
        ("notes_read", {"path": "fifo"}, "not_allowed: "),
        ("notes_read", {"path": "binary"}, "not_text: "),
        ("notes_create", {"path": "a/CON", "content": ""}, "invalid_argument: "),
        ("notes_create", {"path": ".git/x", "content": ""}, "not_allowed: "),
        ("notes_edit", {"path": "text", "newText": "x"}, "invalid_argument: oldText: "),
        ("notes_edit", {"path": "text", "newText": "x", "oldText": ""}, "invalid_argument: oldText: "),
        ("notes_edit", {"path": "text", "newText": "x", "oldText": "two"}, "not_found: "),
        ("notes_edit", {"path": "text", "newText": "x", "oldText": "one"}, "ambiguous: "),
        ("notes_edit", {"path": "text", "newText": "x", "heading": "C"}, "not_found: "),
        ("notes_edit", {"path": "nowhere", "newText": "x", "oldText": "one"}, "not_found: "),
        ("notes_edit", {"path": "link", "newText": "x", "oldText": "root"}, "not_allowed: "),
        ("notes_edit", {"path": "binary", "newText": "x", "oldText": "y"}, "not_text: "),
        (
            "notes_edit",
            {"path": "text", "newText": "x" * 1_048_577, "oldText": "one", "expectedMatches": 2},
            "too_large: ",
        ),
        ("notes_append", {"path": "text", "text": ""}, "invalid_argument: text: "),
        ("notes_properties", {"path": "text"}, "invalid_argument: set: "),
        ("notes_properties", {"path": "text", "set": [], "unset": []}, "invalid_argument: set: "),
        ("notes_properties", {"path": "text", "set": [{"key": "k"}]}, "invalid_argument: set: item 1: "),
        (
            "notes_properties",
            {"path": "text", "set": [{"key": "k", "value": "a: b"}]},
            "invalid_argument: set: item 1: its value is a mapping on one line; ",
        ),
        (
            "notes_properties",
            {"path": "broken", "unset": ["k"]},
            'invalid_yaml: the frontmatter of "broken.md" is broken at line 3; ',
        ),
        ("notes_append", {"path": "text", "text": "x", "position": "top"}, "invalid_argument: position: "),
        ("notes_append", {"path": "text", "text": "x", "ifMatch": "stale"}, "conflict: "),
        ("notes_append", {"path": "../x", "text": "x"}, "not_allowed: "),
        ("notes_append", {"path": "fifo", "text": "x", "dryRun": True}, "not_allowed: "),
        ("notes_move", {"path": "text", "newPath": "broken"}, "exists: "),
        ("notes_move", {"path": "gone", "newPath": "c"}, 'not_found: there is no note or folder "gone"'),
        (
            "notes_move",
            {"path": "text", "newPath": "b?"},
            "invalid_argument: newPath: not a name for a new note",
        ),
        ("notes_move", {"path": "text", "newPath": ""}, "invalid_argument: newPath: "),
        ("notes_move", {"path": "text", "newPath": "../b"}, "not_allowed: "),
        ("notes_move", {"path": "text", "newPath": "b", "ifMatch": "0" * 32, "dryRun": True}, "conflict: "),
        ("notes_list", {"folder": "nowhere"}, "not_found: "),
        ("notes_list", {"cursor": "forged"}, "invalid_argument: "),
        ("notes_list", {"tag": "two words"}, "invalid_argument: tag: "),
        ("notes_links", {"path": ""}, "invalid_argument: path: "),
        ("notes_links", {"path": "nowhere"}, "not_found: "),
        ("notes_links", {"path": "nowhere", "direction": "broken"}, "not_found: "),
        ("notes_links", {"path": "../x", "direction": "ambiguous"}, "not_allowed: "),
        ("notes_links", {"path": "link", "direction": "in"}, "not_allowed: "),
        ("notes_links", {"path": "binary"}, "not_text: "),
        ("notes_links", {"path": "text", "direction": "sideways"}, "invalid_argument: "),
        ("notes_links", {"path": "text", "cursor": "forged"}, "invalid_argument: "),
        ("notes_search", {"query": "--"}, "invalid_argument: query: no word"),
        ("notes_search", {"query": "-x"}, "invalid_argument: query: it only says what not to find"),
        ("notes_search", {"query": "x" * 1_001}, "invalid_argument: query: "),
        ("notes_search", {"query": "(", "regex": True}, "invalid_argument: query: not a pattern of RE2"),
        ("notes_search", {"query": ".{1000}", "regex": True}, "invalid_argument: query: too large a pattern"),
        ("notes_search", {"query": "x", "tag": "two words"}, "invalid_argument: tag: "),
        ("notes_search", {"query": "x", "folder": "nowhere"}, "not_found: "),
        ("notes_search", {"query": "x", "folder": "../x"}, "not_allowed: "),
        ("notes_search", {"query": "x", "folder": "text.md"}, "not_found: "),
        ("notes_search", {"query": "x", "limit": 201}, "invalid_argument: limit: "),
        ("notes_search", {"query": "x", "cursor": "forged"}, "invalid_argument: cursor: "),
        ("notes_tags", {"cursor": "forged"}, "invalid_argument: "),
        ("notes_tags", {"prefix": 7}, "invalid_argument: "),
        ("notes_trash", {"cursor": "forged"}, "invalid_argument: "),
        ("notes_restore", {"trashId": "nothing"}, "not_found: "),
        ("notes_delete", {"title": "nothing like it"}, "not_found: "),
    ],
)
def test_an_expected_failure_is_one_line_without_a_path_of_the_host(
    notes: Vault, tool: str, arguments: dict[str, Any], start: str
) -> None:
    os.symlink("/etc/passwd", notes.folder / "link.md")
    os.mkfifo(notes.folder / "fifo.md")
    (notes.folder / "binary.md").write_bytes(b"\xff\xfe")
    notes.write("text.md", "# A\none one\n")
    notes.write("broken.md", "---\nk: [\n---\n")
    line = failure(notes.wire, tool, notes.args(**arguments))
    assert line.startswith(start)
    assert str(notes.folder.parent) not in line
    assert (notes.folder / "text.md").read_text() == "# A\none one\n"


@pytest.mark.parametrize(
    ("tool", "arguments", "start"),
    [
        ("notes_read", {"path": ""}, "invalid_argument: path: "),
        ("notes_read", {"path": "text", "heading": ""}, "invalid_argument: heading: "),
        ("notes_create", {"path": "", "content": "x"}, "invalid_argument: path: "),
        ("notes_edit", {"path": "", "oldText": "one", "newText": "x"}, "invalid_argument: path: "),
        ("notes_edit", {"path": "text", "oldText": "", "newText": "x"}, "invalid_argument: oldText: "),
        ("notes_append", {"path": "text", "text": "x", "ifMatch": ""}, "invalid_argument: ifMatch: "),
        ("notes_properties", {"path": "text", "unset": [""]}, "invalid_argument: unset: "),
        ("notes_properties", {"path": "text", "set": [{"key": "", "value": "x"}]}, "invalid_argument: set: "),
        ("notes_list", {"glob": ""}, "invalid_argument: glob: "),
        ("notes_list", {"tag": ""}, "invalid_argument: tag: "),
        ("notes_list", {"cursor": ""}, "invalid_argument: cursor: "),
        ("notes_links", {"path": "text", "cursor": ""}, "invalid_argument: cursor: "),
        ("notes_search", {"query": ""}, "invalid_argument: query: "),
        ("notes_delete", {"title": ""}, "invalid_argument: title: "),
        ("notes_restore", {"trashId": ""}, "invalid_argument: trashId: "),
        ("notes_move", {"path": "text", "newPath": ""}, "invalid_argument: newPath: "),
        ("notes_read", {"workspaceUri": "", "path": "text"}, "invalid_argument: workspaceUri: "),
    ],
)
def test_nothing_is_not_taken_for_something(
    notes: Vault, tool: str, arguments: dict[str, Any], start: str
) -> None:
    notes.write("text.md", "#\none one\n")
    assert failure(notes.wire, tool, notes.args() | arguments).startswith(start)
    assert (notes.folder / "text.md").read_text() == "#\none one\n"


def test_what_needs_no_form_needs_no_capability(notes: Vault) -> None:
    """Neither no note nor too many are asked about, so whatever the client can show."""
    for number in range(26):
        notes.write(f"{number}.md", "# Same\n")
    for title, start in (("other", "not_found: "), ("Same", "too_many: ")):
        assert failure(notes.wire, "notes_delete", notes.args(title=title), meta=NO_FORMS).startswith(start)


def test_read_only_offers_and_does_nothing_that_changes(vault: Vault) -> None:
    vault.write("a.md", "# A\n")
    wire = vault.serve("--read-only")
    listed = wire.ask(request(1, "tools/list"))["result"]["tools"]
    assert [tool["name"] for tool in listed] == [
        "notes_workspaces",
        "notes_list",
        "notes_read",
        "notes_search",
        "notes_links",
        "notes_tags",
        "notes_trash",
    ]
    assert read(wire, vault.args(path="a"))[1] == "# A\n"
    for tool in (
        "notes_create",
        "notes_edit",
        "notes_properties",
        "notes_move",
        "notes_delete",
        "notes_restore",
    ):
        assert wire.ask(call(2, tool, vault.args()))["error"] == {"code": -32602, "message": "Unknown tool"}
    assert vault.files() == {"a.md": "# A\n"}


def test_the_tools_of_two_configurations_are_the_same_bytes(vault: Vault, shared_vault: Vault) -> None:
    own = vault.serve()
    lines = []
    for wire in (own, shared_vault.wire):
        wire.send(request(1, "tools/list"))
        lines.append(wire.receive_raw())
    assert lines[0] == lines[1]
    assert SERVER_KEY.encode() in lines[0]


def test_calls_that_run_at_once_are_each_answered(notes: Vault) -> None:
    for number in range(40):
        notes.write(f"{number}.md", str(number))
    notes.wire.send(*[call(number, "notes_read", notes.args(path=f"{number}.md")) for number in range(40)])
    answers = notes.wire.receive_all(40)
    assert {id_: answer["result"]["content"][1]["text"] for id_, answer in answers.items()} == {
        number: str(number) for number in range(40)
    }


def test_large_frames_are_parsed_beside_the_loop_and_answered_in_their_place(notes: Vault) -> None:
    """What comes behind a large frame waits for it; a cancellation behind it finds it, and the end comes in time."""
    text = "x" * (LARGE_FRAME + 1)
    broken = b'{"a":[' + b"[]," * (LARGE_FRAME // 3 + 1) + b"]}"
    create = call(21, "notes_create", notes.args(path="large", content=text))
    notes.wire.send_raw(broken + b"\n" + json.dumps(create).encode() + b"\n")
    notes.wire.send(request(22, "server/discover"))
    assert notes.wire.receive()["error"]["code"] == -32700
    answers = notes.wire.receive_all(2)
    assert sorted(answers) == [21, 22]
    assert notes.files() == {"large.md": text}


def test_a_large_last_frame_that_is_still_being_parsed_at_the_end_is_answered(vault: Vault) -> None:
    vault.write("a.md", "text")
    with vault.serve("--jail", "off") as wire:
        wire.call("notes_workspaces")
        padding = {"unasked": "\u00e9" * (4 * LARGE_FRAME)}  # it belongs to no form, and takes long to parse
        last = call(7, "notes_create", vault.args(path="last", content="x"), inputResponses=padding)
        wire.send_raw(json.dumps(last).encode())
        wire.end_input()
        assert wire.receive()["result"]["structuredContent"]["path"] == "last.md"
        assert wire.wait() == 0
    assert vault.files()["last.md"] == "x"
