"""Clients that open with `initialize`, over real pipes: both revisions, beside today's, and those that mean no good.

Sources: the pages "Lifecycle", "Tools", "Elicitation" and "Cancellation" of revisions 2025-11-25 and 2025-06-18.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fsnotes
from fsnotes.server.legacy.questions import MOST_OPEN
from tests.server.conftest import Vault
from tests.server.older import (
    CLIENT,
    FORMS,
    NEWEST,
    REVISIONS,
    accept,
    ask,
    call,
    cancel,
    note,
    open_with,
    opening,
    reply,
)
from tests.server.test_stdio import SCRIPT, begun, let_go, wait_for
from tests.server.test_two_ways import has_loaded_the_sdk
from tests.server.wire import VERSION, VERSION_KEY, Frame, Wire, envelope, error, request
from tests.server.wire import call as modern

FOLDERS = 120
NOTES = {"a.md": "# A\n", "b.md": "# B\n"}
INVALID = {"code": -32602, "message": "Invalid request parameters"}
MISFIT = "invalid_argument: the answer does not fit the form; nothing was done"
OUTDATED = "conflict: the confirmation is no longer valid; nothing was done, ask again"
NOBODY = "not_allowed: a person must confirm this and cannot be asked here; nothing was done, run it in a terminal: "


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Vault]]:
    home = tmp_path_factory.mktemp("older")
    made = [home / str(number) / "Notes" for number in range(FOLDERS)]
    for folder in made:
        folder.mkdir(parents=True)
    with Wire.serve(*made, state=home / "state", options=("--jail", "off")) as wire:
        yield [Vault(folder, home / "state", wire) for folder in made]


@pytest.fixture
def notes(folders: list[Vault]) -> Iterator[Vault]:
    """Two notes in a folder that no other test has seen, on a connection that each test opens anew."""
    vault = folders.pop()
    for path, text in NOTES.items():
        vault.write(path, text)
    yield vault
    vault.wire.assert_silent()


@pytest.fixture
def unopened(tmp_path: Path) -> Iterator[Wire]:
    """A server that nobody has said anything to."""
    with Wire([sys.executable, SCRIPT, str(tmp_path), "8", "0.5"], home=tmp_path) as wire:
        yield wire


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """A server whose tools do as they are told; its forms are open for half a second."""
    home = tmp_path_factory.mktemp("scripted")
    with Wire([sys.executable, SCRIPT, str(home), "8", "0.5"], home=home) as wire:
        yield wire


def delete(id_: Any, notes: Vault, title: str = "A") -> Frame:
    return call(id_, "notes_delete", notes.args(title=title))


def line(answer: Frame) -> str:
    """The one line of a call that failed, in exactly the shape of these revisions."""
    text: str = answer["result"]["content"][0]["text"]
    assert answer["result"] == {"content": [{"type": "text", "text": text}], "isError": True}
    assert len(text.splitlines()) == 1
    return text


def outcome(answer: Frame) -> str:
    result: Frame = answer["result"]
    assert result.keys() == {"content", "isError", "structuredContent"}
    assert result["isError"] is False
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    found: str = result["structuredContent"]["outcome"]
    return found


def kept(notes: Vault) -> bool:
    return notes.files() == NOTES


# -- the opening -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", REVISIONS)
def test_each_revision_is_answered_with_itself(notes: Vault, version: str) -> None:
    result = open_with(notes.wire, version)
    assert isinstance(result.pop("instructions"), str)
    assert result == {
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "fsnotes", "title": "fsnotes", "version": fsnotes.__version__},
    }


@pytest.mark.parametrize("version", ["2025-03-26", "2024-11-05", VERSION, "2099-01-01", "", "x" * 10_000])
def test_any_other_version_is_answered_with_the_newest_that_begins_so(notes: Vault, version: str) -> None:
    assert open_with(notes.wire, version)["protocolVersion"] == NEWEST


def test_a_malformed_opening_opens_nothing(unopened: Wire) -> None:
    malformed: list[Any] = [
        None,
        {},
        {"capabilities": {}, "clientInfo": CLIENT},
        {"protocolVersion": 5, "capabilities": {}},
        {"protocolVersion": NEWEST},
        {"protocolVersion": NEWEST, "capabilities": None},
        {"protocolVersion": NEWEST, "capabilities": []},
    ]
    for params in malformed:
        assert unopened.ask(ask(1, "initialize", params))["error"]["code"] == -32602
        assert unopened.ask(ask(2, "tools/list"))["error"]["code"] == -32602


def test_without_an_opening_a_request_without_envelope_is_refused(unopened: Wire) -> None:
    for method in ("ping", "tools/list", "tools/call"):
        assert unopened.ask(ask(1, method))["error"]["code"] == -32602
    unopened.send(note("notifications/initialized"))
    assert unopened.ask(ask(1, "ping"))["error"]["code"] == -32602
    open_with(unopened)
    assert unopened.ask(ask(1, "ping")) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_an_opening_that_is_pipelined_counts_for_what_is_behind_it(unopened: Wire) -> None:
    unopened.send(opening(id_=1), note("notifications/initialized"), ask(2, "tools/list"), ask(3, "ping"))
    answers = unopened.receive_all(3)
    assert all("result" in answer for answer in answers.values())


def test_what_is_switched_off_is_told_the_version_that_is_spoken(vault: Vault) -> None:
    wire = vault.serve("--jail", "off", "--legacy", "off")
    data = {"supported": [VERSION], "requested": NEWEST}
    assert wire.ask(opening()) == error("open", -32022, "Unsupported protocol version", data)
    assert wire.ask(ask(2, "ping"))["error"]["code"] == -32602
    assert "result" in wire.ask(request(3, "server/discover"))


# -- methods ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", REVISIONS)
@pytest.mark.parametrize("params", [None, {}, {"cursor": None}, {"_meta": {"progressToken": 1}}])
def test_the_list_has_the_same_tools(notes: Vault, version: str, params: Any) -> None:
    open_with(notes.wire, version)
    tools = notes.wire.ask(request(1, "tools/list"))["result"]["tools"]
    assert notes.wire.ask(ask(2, "tools/list", params))["result"] == {"tools": tools}
    assert all(tool["outputSchema"]["type"] == "object" for tool in tools if "outputSchema" in tool)


def test_a_cursor_that_was_never_given_out_is_invalid(notes: Vault) -> None:
    open_with(notes.wire)
    answer = notes.wire.ask(ask(1, "tools/list", {"cursor": "x"}))
    assert answer == error(1, -32602, "Invalid cursor")


@pytest.mark.parametrize(
    "method",
    [
        "logging/setLevel",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "tasks/list",
        "tasks/get",
        "server/discover",
        "roots/list",
        "elicitation/create",
        "no/such/method",
        "",
    ],
)
def test_what_was_not_declared_is_not_found(notes: Vault, method: str) -> None:
    open_with(notes.wire)
    assert notes.wire.ask(ask(1, method, {"uri": "file:///x"})) == error(1, -32601, "Method not found")


@pytest.mark.parametrize("version", REVISIONS)
def test_results_have_the_shapes_of_their_revision(notes: Vault, version: str) -> None:
    wire = notes.wire
    open_with(wire, version)
    listed = wire.ask(call(1, "notes_list", notes.args()))["result"]
    assert listed.keys() == {"content", "isError", "structuredContent"}
    assert [each["path"] for each in listed["structuredContent"]["notes"]] == ["a.md", "b.md"]
    read = wire.ask(call(2, "notes_read", notes.args(path="a")))["result"]
    assert (read.keys(), read["content"][1]) == ({"content", "isError"}, {"type": "text", "text": "# A\n"})
    assert line(wire.ask(call(3, "notes_read", notes.args(path="x")))).startswith("not_found: ")
    assert line(wire.ask(call(4, "notes_read", {"path": "x"}))).startswith("invalid_argument: workspaceUri")
    made = wire.ask(call(5, "notes_create", notes.args(path="c", content="c\n")))["result"]
    assert made["structuredContent"]["path"] == "c.md"
    assert notes.files() == {**NOTES, "c.md": "c\n"}


def test_a_call_without_arguments_has_none(notes: Vault) -> None:
    open_with(notes.wire)
    for more in ({}, {"arguments": None}, {"_meta": None}, {"task": {"ttl": 1}}):
        answer = notes.wire.ask(ask(1, "tools/call", {"name": "notes_workspaces", **more}))
        assert answer["result"]["isError"] is False


def test_nothing_of_it_loads_the_sdk(vault: Vault) -> None:
    vault.write("a.md", "# A\n")
    wire = vault.serve("--jail", "off")
    open_with(wire)
    wire.ask(ask(1, "tools/list", {"_meta": {"progressToken": 1, "odd": {}}}))
    assert outcome(wire.ask(reply(wire.ask(delete(2, vault)), accept("a.md")))) == "deleted"
    assert not has_loaded_the_sdk(wire)
    wire.ask(request(3, "tools/list", meta=envelope(odd={})))
    assert has_loaded_the_sdk(wire)


@pytest.mark.parametrize(
    "params", [None, {}, {"name": 5}, {"name": "notes_read", "arguments": []}, {"name": "x", "_meta": 5}]
)
def test_a_call_that_is_no_call_is_invalid(notes: Vault, params: Any) -> None:
    open_with(notes.wire)
    assert notes.wire.ask(ask(1, "tools/call", params))["error"] == INVALID


def test_an_unknown_tool_is_invalid(notes: Vault) -> None:
    open_with(notes.wire)
    assert notes.wire.ask(call(1, "notes_find")) == error(1, -32602, "Unknown tool")


def test_a_server_that_changes_nothing_offers_the_same_to_all(vault: Vault) -> None:
    wire = vault.serve("--jail", "off", "--read-only")
    open_with(wire)
    names = [tool["name"] for tool in wire.ask(ask(1, "tools/list"))["result"]["tools"]]
    assert names == [tool["name"] for tool in wire.ask(request(2, "tools/list"))["result"]["tools"]]
    assert "notes_delete" not in names
    assert wire.ask(call(3, "notes_delete", vault.args(title="A"))) == error(3, -32602, "Unknown tool")


def test_roots_have_no_part(notes: Vault) -> None:
    wire = notes.wire
    open_with(wire, capabilities={"roots": {"listChanged": True}})
    wire.send(note("notifications/roots/list_changed"))
    outside = {"workspaceUri": notes.folder.parent.as_uri()}
    assert line(wire.ask(call(1, "notes_list", outside))).startswith("not_allowed: ")
    assert wire.ask(call(2, "notes_list", notes.args()))["result"]["isError"] is False


def test_a_crash_tells_nothing(scripted: Wire) -> None:
    open_with(scripted)
    for kind in ("crash", "exit", "interrupt", "recursion"):
        answer = scripted.ask(call(1, "notes_read", {"workspaceUri": "w", "path": f"{kind}/x"}))
        assert answer == error(1, -32603, "Internal error")


def test_who_asks_is_told_how_far_a_call_is(scripted: Wire) -> None:
    open_with(scripted)
    arguments = {"workspaceUri": "w", "path": "report/2"}
    scripted.send(call(1, "notes_read", arguments, _meta={"progressToken": "t"}))
    told = [scripted.receive() for _ in range(2)]
    assert told == [
        note(
            "notifications/progress",
            {"progressToken": "t", "progress": done, "total": 10, "message": "of it"},
        )
        for done in range(2)
    ]
    assert scripted.receive()["id"] == 1
    assert scripted.ask(call(2, "notes_read", arguments))["id"] == 2


def test_a_cancelled_call_goes_unanswered(scripted: Wire, tmp_path: Path) -> None:
    open_with(scripted)
    place = tmp_path / "waiting"
    scripted.send(call(1, "notes_read", {"workspaceUri": "w", "path": f"wait/{place}"}))
    begun(place)
    scripted.send(cancel(1))
    let_go(place)
    wait_for(Path(f"{place}.abandoned"))
    scripted.assert_silent()


# -- both kinds on one pipe ------------------------------------------------------------------------


def test_each_message_is_judged_by_its_own_envelope(notes: Vault) -> None:
    wire = notes.wire
    wire.send(request(1, "tools/list"))
    before = wire.receive_raw()
    for version in REVISIONS:
        open_with(wire, version)
        wire.send(request(1, "tools/list"))
        assert wire.receive_raw() == before
        assert wire.ask(ask(2, "tools/list"))["result"].keys() == {"tools"}
        assert wire.ask(request(3, "ping")) == error(3, -32601, "Method not found")
        assert wire.ask(ask(4, "ping"))["result"] == {}
        assert wire.ask(request(5, "initialize", opening()["params"])) == error(5, -32601, "Method not found")


@pytest.mark.parametrize("meta", [{VERSION_KEY: VERSION}, {VERSION_KEY: 5}, envelope(version="2025-11-25")])
def test_half_an_envelope_makes_no_older_request(notes: Vault, meta: Any) -> None:
    open_with(notes.wire)
    answer = notes.wire.ask(request(1, "tools/list", meta=meta))
    assert answer["error"]["code"] in (-32602, -32022)
    capable = {key: value for key, value in envelope().items() if key != VERSION_KEY}
    assert notes.wire.ask(request(2, "ping", meta=capable))["error"]["code"] == -32602


def test_what_was_declared_at_the_opening_counts_for_no_request_with_an_envelope(notes: Vault) -> None:
    wire = notes.wire
    open_with(wire)
    refused = wire.ask(modern(1, "notes_delete", notes.args(title="A"), meta=envelope({})))
    assert refused["error"]["code"] == -32021
    asked = wire.ask(modern(2, "notes_delete", notes.args(title="A")))["result"]
    assert asked["resultType"] == "input_required"
    open_with(wire, capabilities={})
    again = wire.ask(modern(3, "notes_delete", notes.args(title="A")))["result"]
    assert again["resultType"] == "input_required"
    assert line(wire.ask(delete(4, notes))).startswith(NOBODY)
    assert kept(notes)


def test_forms_of_both_kinds_are_open_side_by_side(notes: Vault) -> None:
    wire = notes.wire
    open_with(wire)
    question = wire.ask(delete(1, notes, "A"))
    asked = wire.ask(modern(2, "notes_delete", notes.args(title="B")))["result"]
    assert wire.ask(delete(1, notes, "B")) == error(None, -32600, "Invalid Request")
    answer = {"delete_choice": accept("b.md")}
    again = modern(
        3, "notes_delete", notes.args(title="B"), requestState=asked["requestState"], inputResponses=answer
    )
    assert wire.ask(again)["result"]["structuredContent"]["outcome"] == "deleted"
    assert outcome(wire.ask(reply(question, accept("a.md")))) == "deleted"


# -- forms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", REVISIONS)
@pytest.mark.parametrize("capabilities", [{"elicitation": {}}, {"elicitation": {"form": {}, "url": {}}}])
def test_a_person_is_asked_and_the_note_deleted(notes: Vault, version: str, capabilities: Any) -> None:
    wire = notes.wire
    open_with(wire, version, capabilities)
    question = wire.ask(delete(1, notes))
    params = question["params"]
    message = params.pop("message")
    assert message.startswith('Delete this note from the workspace "Notes')
    assert params.pop("mode", None) == ("form" if version == NEWEST else None)
    assert params.keys() == {"requestedSchema"}
    schema = params["requestedSchema"]
    assert (schema["type"], schema["required"]) == ("object", ["note_id", "confirm"])
    assert schema["properties"]["note_id"]["enum"] == ["a.md"]
    assert question.keys() == {"jsonrpc", "id", "method", "params"}
    assert kept(notes)
    answer = wire.ask(reply(question, accept("a.md") | {"_meta": {}}))
    assert (answer["id"], outcome(answer)) == (1, "deleted")
    trashed = answer["result"]["structuredContent"]["trashId"]
    assert notes.files() == {"b.md": "# B\n", f".trash/{trashed}/a.md": "# A\n"}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"action": "decline"}, "declined"),
        ({"action": "decline", "content": {"odd": 1}}, "declined"),
        (accept("a.md", confirm=False), "declined"),
        ({"action": "cancel"}, "cancelled"),
        ({"action": "cancel", "content": accept("a.md")["content"]}, "cancelled"),
    ],
)
def test_a_person_who_does_not_confirm_keeps_the_note(notes: Vault, answer: Any, said: str) -> None:
    wire = notes.wire
    open_with(wire)
    assert outcome(wire.ask(reply(wire.ask(delete(1, notes)), answer))) == said
    assert kept(notes)
    again = wire.ask(delete(2, notes))
    if said == "declined":
        assert outcome(again) == "declined"
    else:
        assert outcome(wire.ask(reply(again, accept("a.md")))) == "deleted"


@pytest.mark.parametrize(
    "answer",
    [
        None,
        True,
        5,
        "accept",
        [accept("a.md")],
        {},
        {"action": "ACCEPT", "content": accept("a.md")["content"]},
        {"content": accept("a.md")["content"]},
        {"action": "accept"},
        {"action": "accept", "content": None},
        {"action": "accept", "content": {"note_id": "a.md"}},
        {"action": "accept", "content": {"note_id": "a.md", "confirm": True, "more": 1}},
        accept("a.md", confirm="yes"),
        accept("a.md", confirm=1),
        accept("b.md"),
        accept("A.md"),
        accept(["a.md"]),
        accept("x" * 200_000),
        accept("x" * 2_000_000),
        {"delete_choice": accept("a.md")},
    ],
    ids=lambda answer: json.dumps(answer)[:60],
)
def test_a_malformed_answer_deletes_nothing(notes: Vault, answer: Any) -> None:
    wire = notes.wire
    open_with(wire)
    assert line(wire.ask(reply(wire.ask(delete(1, notes)), answer))) == MISFIT
    assert kept(notes)
    assert outcome(wire.ask(reply(wire.ask(delete(2, notes)), accept("a.md")))) == "deleted"


def test_an_answer_that_is_too_long_is_none(notes: Vault) -> None:
    wire = notes.wire
    open_with(wire)
    question = wire.ask(delete(1, notes))
    huge = json.dumps(reply(question, accept("x" * 9_000_000))).encode() + b"\n"
    assert wire.ask_raw(huge) == error(None, -32700, "Parse error")
    assert outcome(wire.ask(reply(question, accept("a.md")))) == "deleted"


@pytest.mark.parametrize(
    "odd",
    [
        {"error": {"code": -32601, "message": "Method not found"}},
        {"error": None},
        {"result": accept("a.md"), "error": {"code": 1, "message": "x"}},
        {"result": accept("a.md"), "jsonrpc": "1.0"},
    ],
)
def test_a_client_that_cannot_show_it_after_all_is_told_the_command(notes: Vault, odd: Frame) -> None:
    wire = notes.wire
    open_with(wire)
    question = wire.ask(delete(1, notes))
    assert line(wire.ask({"jsonrpc": "2.0", "id": question["id"], **odd})).startswith(NOBODY)
    assert kept(notes)
    log = (notes.state / "private/audit.jsonl").read_text()
    assert log.count("confirmation_unavailable") >= 1


@pytest.mark.parametrize(
    "capabilities",
    [{}, {"elicitation": None}, {"elicitation": {"url": {}}}, {"elicitation": {"form": None}}, {"form": {}}],
)
def test_a_client_that_shows_no_forms_is_told_the_command(notes: Vault, capabilities: Any) -> None:
    wire = notes.wire
    for version in REVISIONS:
        open_with(wire, version, capabilities)
        told = line(wire.ask(delete(1, notes)))
        assert told == f"{NOBODY}fsnotes delete -w {notes.folder} --state-dir {notes.state} -- A"
    assert kept(notes)


def test_a_title_that_does_not_show_is_in_no_command(notes: Vault) -> None:
    wire = notes.wire
    open_with(wire, capabilities={})
    for number, title in enumerate(("x\u202ey", "x\ty", "x\u200by")):
        notes.write(f"{number}.md", f"---\ntitle: {json.dumps(title)}\n---\n")
        assert line(wire.ask(delete(number, notes, title))) == NOBODY[:-2]
        assert line(wire.ask(delete(number, notes, f"{number}.md"))).endswith(f" -- {number}.md")
    assert {**NOTES, **notes.files()} == notes.files()


def test_nothing_is_asked_before_the_client_says_that_it_is_ready(notes: Vault) -> None:
    wire = notes.wire
    wire.ask(opening())
    assert line(wire.ask(delete(1, notes))).startswith(NOBODY)
    wire.send(note("notifications/initialized"))
    question = wire.ask(delete(2, notes))
    assert outcome(wire.ask(reply(question, {"action": "cancel"}))) == "cancelled"


def test_a_title_that_nothing_or_too_much_answers_to_needs_no_form(notes: Vault) -> None:
    wire = notes.wire
    open_with(wire, capabilities={})
    assert line(wire.ask(delete(1, notes, "nowhere"))).startswith("not_found: ")
    for number in range(26):
        notes.write(f"many {number}.md", "x\n")
    assert line(wire.ask(delete(2, notes, "many"))).startswith("too_many: ")


# -- those who mean no good ------------------------------------------------------------------------


def test_what_answers_a_form_elsewhere_is_dropped(notes: Vault) -> None:
    """An answer or a state in a call is neither judged nor used, whatever it is."""
    wire = notes.wire
    open_with(wire)
    asked = wire.ask(modern(1, "notes_delete", notes.args(title="A")))["result"]
    answer = {"delete_choice": accept("a.md")}
    for echo in (
        {"inputResponses": answer},
        {"requestState": asked["requestState"], "inputResponses": answer},
        {"requestState": "forged", "inputResponses": []},
        {"requestState": ""},
    ):
        question = wire.ask(call(2, "notes_delete", notes.args(title="A"), **echo))
        assert question["method"] == "elicitation/create"
        assert outcome(wire.ask(reply(question, {"action": "cancel"}))) == "cancelled"
        listed = wire.ask(call(3, "notes_list", notes.args(), **echo))
        assert listed["result"]["isError"] is False
    assert kept(notes)


@pytest.mark.parametrize("id_", [None, 0, 1, "1", "", "fsnotes-" + "0" * 32, True, [], {}])
def test_an_answer_to_nothing_is_ignored(notes: Vault, id_: Any) -> None:
    wire = notes.wire
    open_with(wire)
    answer = {"jsonrpc": "2.0", "id": id_, "result": accept("a.md")}
    wire.send(answer)
    question = wire.ask(delete(1, notes))
    wire.send(answer, {"jsonrpc": "2.0", "result": accept("a.md")})
    wire.assert_silent()
    assert kept(notes)
    assert outcome(wire.ask(reply(question, {"action": "cancel"}))) == "cancelled"


def test_only_the_first_answer_counts(notes: Vault) -> None:
    wire = notes.wire
    open_with(wire)
    question = wire.ask(delete(1, notes))
    wire.send(reply(question, {"action": "cancel"}), reply(question, accept("a.md")))
    assert outcome(wire.receive()) == "cancelled"
    wire.send(reply(question, accept("a.md")))
    wire.assert_silent()
    assert kept(notes)


def test_an_answer_cannot_be_replayed_to_another_form(notes: Vault) -> None:
    wire = notes.wire
    open_with(wire)
    first = wire.ask(delete(1, notes, "A"))
    second = wire.ask(delete(2, notes, "B"))
    assert first["id"] != second["id"]
    answer = wire.ask(reply(second, accept("a.md")))
    assert (answer["id"], line(answer)) == (2, MISFIT)
    assert kept(notes)
    answer = wire.ask(reply(first, accept("a.md")))
    assert (answer["id"], outcome(answer)) == (1, "deleted")
    notes.write("a.md", "# A\n")
    wire.send(reply(first, accept("a.md")))
    wire.assert_silent()
    assert notes.files()["a.md"] == "# A\n"


def test_ids_of_forms_are_never_used_again_and_never_those_of_the_client(notes: Vault) -> None:
    wire = notes.wire
    open_with(wire)
    ids = set()
    for number in range(5):
        question = wire.ask(delete(number, notes))
        assert isinstance(question["id"], str)
        # The client may call its own request so: each side has ids of its own.
        assert wire.ask(ask(question["id"], "ping"))["result"] == {}
        wire.ask(reply(question, {"action": "cancel"}))
        ids.add(question["id"])
    assert len(ids) == 5
    assert all(len(id_) > 30 for id_ in ids)


def test_a_note_that_has_changed_meanwhile_stays(notes: Vault) -> None:
    wire = notes.wire
    open_with(wire)
    question = wire.ask(delete(1, notes))
    notes.write("a.md", "# A\n\nmore\n")
    assert line(wire.ask(reply(question, accept("a.md")))).startswith("conflict: ")
    assert notes.files() == {**NOTES, "a.md": "# A\n\nmore\n"}


# -- open forms ------------------------------------------------------------------------------------


def test_only_so_many_forms_are_open_and_nothing_waits_for_them(notes: Vault) -> None:
    wire = notes.wire
    open_with(wire)
    questions = [wire.ask(delete(number, notes)) for number in range(MOST_OPEN)]
    told = line(wire.ask(delete("more", notes)))
    assert told == "limit: too many confirmations that wait for a person; wait for some to end and call again"
    made = wire.ask(call("c", "notes_create", notes.args(path="c", content="c\n")))
    assert made["result"]["isError"] is False
    assert outcome(wire.ask(reply(questions.pop(), {"action": "cancel"}))) == "cancelled"
    questions.append(wire.ask(delete("more", notes)))
    for question in questions:
        assert outcome(wire.ask(reply(question, {"action": "cancel"}))) == "cancelled"
    assert notes.files() == {**NOTES, "c.md": "c\n"}


def test_a_call_that_is_cancelled_takes_its_form_back(notes: Vault) -> None:
    wire = notes.wire
    open_with(wire)
    question = wire.ask(delete(1, notes))
    withdrawn = wire.ask(cancel(1))
    assert (withdrawn["method"], withdrawn["params"]["requestId"]) == (
        "notifications/cancelled",
        question["id"],
    )
    wire.send(reply(question, accept("a.md")))
    wire.assert_silent()
    assert kept(notes)
    assert wire.ask(ask(1, "ping"))["result"] == {}


def test_a_cancel_right_behind_the_answer_comes_in_time(notes: Vault) -> None:
    wire = notes.wire
    open_with(wire)
    question = wire.ask(delete(1, notes))
    wire.send(reply(question, accept("a.md")), cancel(1))
    wire.assert_silent()
    assert kept(notes)
    assert outcome(wire.ask(reply(wire.ask(delete(1, notes)), accept("a.md")))) == "deleted"


def test_a_form_that_nobody_answers_in_time_is_taken_back(scripted: Wire) -> None:
    open_with(scripted)
    question = scripted.ask(call(1, "notes_delete", {"workspaceUri": "w", "title": "t"}))
    withdrawn, answer = scripted.receive(), scripted.receive()
    assert withdrawn["params"]["requestId"] == question["id"]
    assert (answer["id"], line(answer)) == (1, OUTDATED)
    scripted.send(reply(question, {"action": "accept"}))
    scripted.assert_silent()


def test_what_the_person_said_is_handed_on_as_it_came(scripted: Wire, tmp_path: Path) -> None:
    open_with(scripted)
    question = scripted.ask(call(1, "notes_delete", {"workspaceUri": "w", "title": "t"}))
    odd = {"action": "odd", "content": [None, {"x": 1.5}]}
    result = scripted.ask(reply(question, odd))["result"]["structuredContent"]
    assert (result["path"], result["trashId"]) == (repr({"delete_choice": odd}), "sealed")


@pytest.mark.parametrize("end", ["input", "signal"])
def test_the_end_with_a_form_open_deletes_nothing_and_waits_for_nobody(vault: Vault, end: str) -> None:
    vault.write("a.md", "# A\n")
    wire = vault.serve("--jail", "off")
    open_with(wire)
    question = wire.ask(delete(1, vault))
    start = time.monotonic()
    if end == "input":
        wire.send(reply({"id": "x"}, {}))
        wire.end_input()
    else:
        wire.signal(signal.SIGTERM)
    assert wire.wait() == 0
    assert time.monotonic() - start < 5
    assert wire.receive()["params"]["requestId"] == question["id"]
    assert line(wire.receive()) == OUTDATED
    assert vault.files() == {"a.md": "# A\n"}


def test_forms_are_for_those_who_may_delete(notes: Vault) -> None:
    """A form that is open, and an answer, give no right: what they are for is judged before and after."""
    wire = notes.wire
    open_with(wire)
    outside = call(1, "notes_delete", {"workspaceUri": notes.folder.parent.as_uri(), "title": "A"})
    assert line(wire.ask(outside)).startswith("not_allowed: no such workspace")
    open_with(wire, capabilities=FORMS)
    question = wire.ask(delete(2, notes))
    (notes.folder / "a.md").rename(notes.folder.parent / "elsewhere.md")
    assert line(wire.ask(reply(question, accept("a.md")))).startswith("conflict: ")
    assert notes.files() == {"b.md": "# B\n"}
