"""What the lesson expects at its checkpoints, and what the designer of forms rejects: one test for each line."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest

import fsnotes
from tests.server.conftest import Vault
from tests.server.wire import FORMS, SERVER_KEY, VERSION, Wire, accept, call, envelope, error, request

SERVER = {"name": "fsnotes", "title": "fsnotes", "version": fsnotes.__version__}
FORM_REQUIRED: dict[str, Any] = {"requiredCapabilities": {"elicitation": {"form": {}}}}
INVALID_STATE = {"code": -32602, "message": "Invalid or expired requestState"}
TITLE = "TPS report"
NOTES = {
    "2024/TPS report.md": "# TPS report\n\nfirst\n",
    "2025/TPS report.md": "# TPS report\n\nsecond\n",
    "reports.md": "---\ntitle: TPS report\n---\nthird\n",
    "other.md": "# Other\n",
}
CHOSEN = "2025/TPS report.md"


def filled(vault: Vault) -> Vault:
    for path, text in NOTES.items():
        vault.write(path, text)
    return vault


@pytest.fixture
def notes(shared_vault: Vault) -> Vault:
    return filled(shared_vault)


@pytest.fixture
def own_notes(vault: Vault) -> Vault:
    return filled(vault)


def first_round(wire: Wire, vault: Vault, title: str = TITLE) -> str:
    result = wire.result("notes_delete", vault.args(title=title))
    assert result["resultType"] == "input_required"
    state: str = result["requestState"]
    return state


def second_round(wire: Wire, vault: Vault, state: str, answers: Any, title: str = TITLE) -> dict[str, Any]:
    return wire.call("notes_delete", vault.args(title=title), requestState=state, inputResponses=answers)


def outcome(answer: dict[str, Any]) -> Any:
    return answer["result"]["structuredContent"]["outcome"]


# -- expected checkpoints --------------------------------------------------------------------------


def test_discovery_advertises_tools_without_roots(notes: Vault) -> None:
    result = notes.wire.ask(request(1, "server/discover"))["result"]
    instructions = result.pop("instructions")
    assert result == {
        "supportedVersions": [VERSION],
        "capabilities": {
            "completions": {},
            "prompts": {},
            "resources": {"listChanged": True, "subscribe": True},
            "tools": {},
        },
        "resultType": "complete",
        "ttlMs": 3_600_000,
        "cacheScope": "public",
        "_meta": {SERVER_KEY: SERVER},
    }
    assert "roots" not in instructions.lower()
    assert str(notes.folder) not in json.dumps(result) + instructions


def test_tool_discovery_returns_notes_delete_with_result_type_identity_and_cache_hints(notes: Vault) -> None:
    result = notes.wire.ask(request(1, "tools/list"))["result"]
    tools = result.pop("tools")
    assert result == {
        "resultType": "complete",
        "ttlMs": 3_600_000,
        "cacheScope": "public",
        "_meta": {SERVER_KEY: SERVER},
    }
    schema = next(tool["inputSchema"] for tool in tools if tool["name"] == "notes_delete")
    assert {name: rule["type"] for name, rule in schema["properties"].items()} == {
        "workspaceUri": "string",
        "title": "string",
    }
    assert (schema["type"], schema["required"]) == ("object", ["workspaceUri", "title"])
    assert schema["additionalProperties"] is False


def test_request_1_returns_the_form_in_input_requests_delete_choice(notes: Vault) -> None:
    result = notes.wire.ask(call(1, "notes_delete", notes.args(title=TITLE)))["result"]
    message = result["inputRequests"]["delete_choice"]["params"].pop("message")
    properties = result["inputRequests"]["delete_choice"]["params"]["requestedSchema"].pop("properties")
    assert isinstance(result.pop("requestState"), str)
    assert result == {
        "resultType": "input_required",
        "inputRequests": {
            "delete_choice": {
                "method": "elicitation/create",
                "params": {
                    "mode": "form",
                    "requestedSchema": {"type": "object", "required": ["note_id", "confirm"]},
                },
            }
        },
        "_meta": {SERVER_KEY: SERVER},
    }
    offered = ["2024/TPS report.md", "2025/TPS report.md", "reports.md"]
    assert {name: (rule["type"], rule.get("enum")) for name, rule in properties.items()} == {
        "note_id": ("string", offered),
        "confirm": ("boolean", None),
    }
    assert properties["confirm"].get("default", False) is False
    assert all(path in message for path in offered)
    assert "other.md" not in message


def test_request_2_echoes_the_state_and_completes_the_deletion(notes: Vault) -> None:
    wire = notes.wire
    state = first_round(wire, notes)
    answer = second_round(wire, notes, state, accept(CHOSEN))
    document = answer["result"]["structuredContent"]
    assert (answer["result"]["resultType"], answer["result"]["isError"]) == ("complete", False)
    assert document == {"outcome": "deleted", "path": CHOSEN, "trashId": document["trashId"]}
    kept = {path: text for path, text in NOTES.items() if path != CHOSEN}
    assert notes.files() == {**kept, f".trash/{document['trashId']}/{CHOSEN}": NOTES[CHOSEN]}


@pytest.mark.parametrize(
    "suffix", ["-evil", "/%2e%2e/Notes-evil", "/../Notes-evil", "%2fsecret", "/%2E./Notes-evil", "//"]
)
@pytest.mark.parametrize("tool", ["notes_delete", "notes_list"])
def test_a_prefix_path_and_an_encoded_traversal_path_both_fail_containment(
    notes: Vault, suffix: str, tool: str
) -> None:
    """A twin of the folder's name stands beside it, so that a comparison of prefixes would find something."""
    twin = notes.folder.parent / "Notes-evil"
    twin.mkdir()
    (twin / "secret.md").write_text(f"# {TITLE}\n")
    wire = notes.wire
    arguments = {"workspaceUri": notes.uri + suffix} | ({"title": TITLE} if tool == "notes_delete" else {})
    result = wire.result(tool, arguments)
    unknown = wire.result(tool, {**arguments, "workspaceUri": "file:///no/such/folder"})
    assert result == unknown
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("not_allowed: ")
    for path in ("../Notes-evil/secret", "%2e%2e/Notes-evil/secret.md", str(twin / "secret.md")):
        assert wire.result("notes_read", notes.args(path=path))["isError"] is True
    assert (twin / "secret.md").exists()
    assert notes.files() == NOTES


def test_a_changed_title_cannot_reuse_the_original_confirmation_state(notes: Vault) -> None:
    wire = notes.wire
    state = first_round(wire, notes)
    answer = second_round(wire, notes, state, accept("other.md"), title="Other")
    assert answer["error"] == INVALID_STATE
    assert second_round(wire, notes, state, accept(CHOSEN), title="tps report")["error"] == INVALID_STATE
    assert notes.files() == NOTES
    assert outcome(second_round(wire, notes, state, accept(CHOSEN))) == "deleted"


def test_a_decline_leaves_the_note_unchanged(notes: Vault) -> None:
    wire = notes.wire
    state = first_round(wire, notes)
    answer = second_round(wire, notes, state, {"delete_choice": {"action": "decline"}})
    assert answer["result"] == {
        "content": [{"type": "text", "text": '{"outcome":"declined"}'}],
        "structuredContent": {"outcome": "declined"},
        "isError": False,
        "resultType": "complete",
        "_meta": {SERVER_KEY: SERVER},
    }
    assert second_round(wire, notes, state, accept(CHOSEN))["error"] == INVALID_STATE
    assert notes.files() == NOTES


def test_two_servers_sharing_notes_and_replay_state_cannot_both_execute_one_confirmation(
    own_notes: Vault,
) -> None:
    first, second = own_notes.serve(), own_notes.serve()
    state = first_round(first, own_notes)
    arguments = own_notes.args(title=TITLE)
    frame = call(2, "notes_delete", arguments, requestState=state, inputResponses=accept(CHOSEN))
    for wire in (first, second):
        wire.send(frame)
    answers = [first.receive(), second.receive()]
    deleted = [answer for answer in answers if "result" in answer]
    assert len(deleted) == 1
    assert outcome(deleted[0]) == "deleted"
    assert [answer["error"] for answer in answers if "error" in answer] == [INVALID_STATE]
    assert len([path for path in own_notes.files() if path.startswith(".trash/")]) == 1


def test_a_state_from_one_server_is_good_for_another_that_shares_its_folder(own_notes: Vault) -> None:
    first, second = own_notes.serve(), own_notes.serve()
    assert (
        outcome(second_round(second, own_notes, first_round(first, own_notes), accept(CHOSEN))) == "deleted"
    )


@pytest.mark.parametrize("elicitation", [{}, {"form": {}}, {"form": {}, "url": {}}])
def test_empty_and_explicit_form_declarations_work(notes: Vault, elicitation: Any) -> None:
    meta = envelope({"elicitation": elicitation})
    result = notes.wire.result("notes_delete", notes.args(title=TITLE), meta=meta)
    assert result["resultType"] == "input_required"


@pytest.mark.parametrize(
    "capabilities",
    [
        {"elicitation": {"url": {}}},
        {},
        {"elicitation": None},
        {"elicitation": {"form": None}},
        {"sampling": {}},
    ],
)
def test_url_only_support_returns_exact_form_requirements(notes: Vault, capabilities: Any) -> None:
    wire = notes.wire
    frame = call(3, "notes_delete", notes.args(title=TITLE), meta=envelope(capabilities))
    assert wire.ask(frame) == error(3, -32021, "This call needs form elicitation", FORM_REQUIRED)


@pytest.mark.parametrize("asked", ["2025-11-25", "2099-01-01", ""])
@pytest.mark.parametrize("method", ["server/discover", "tools/list", "tools/call", "no/such/method"])
def test_unsupported_version_failures_use_the_exact_data_shape(notes: Vault, asked: str, method: str) -> None:
    data = {"supported": [VERSION], "requested": asked}
    frame = request(4, method, meta=envelope(version=asked))
    assert notes.wire.ask(frame) == error(4, -32022, "Unsupported protocol version", data)


def test_an_id_less_notification_produces_no_response(notes: Vault) -> None:
    wire = notes.wire
    state = first_round(wire, notes)
    arguments = notes.args(title=TITLE)
    frame = call(2, "notes_delete", arguments, requestState=state, inputResponses=accept(CHOSEN))
    wire.send({key: value for key, value in frame.items() if key != "id"})
    wire.send({"jsonrpc": "2.0", "method": "notifications/whatever"})
    wire.assert_silent()
    assert notes.files() == NOTES
    assert outcome(second_round(wire, notes, state, accept(CHOSEN))) == "deleted"


# -- hard rejects ----------------------------------------------------------------------------------


def test_roots_authorize_nothing(notes: Vault) -> None:
    """A client that declares and answers roots gains no folder by it."""
    secret = notes.folder.parent / "Elsewhere"
    secret.mkdir()
    (secret / "a.md").write_text("# A\n")
    wire = notes.wire
    meta = envelope({"elicitation": {}, "roots": {}})
    answers = {"roots": {"roots": [{"uri": secret.as_uri()}]}}
    result = wire.result("notes_list", {"workspaceUri": secret.as_uri()}, meta=meta, inputResponses=answers)
    assert result["content"][0]["text"].startswith("not_allowed: ")


def test_neither_roots_list_nor_its_notification_has_a_part(notes: Vault) -> None:
    wire = notes.wire
    assert wire.ask(request(1, "roots/list")) == error(1, -32601, "Method not found")
    wire.send({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
    wire.assert_silent()


def test_no_request_is_ever_sent_to_the_client(own_notes: Vault) -> None:
    """Everything that comes is an answer: it has a result or an error, and no method."""
    wire = own_notes.serve()
    frames = [wire.ask(request(1, method)) for method in ("server/discover", "tools/list")]
    state = first_round(wire, own_notes)
    frames.append(wire.call("notes_delete", own_notes.args(title=TITLE)))
    frames.append(second_round(wire, own_notes, state, accept(CHOSEN)))
    wire.end_input()
    assert wire.receive_raw() == b""
    assert all("method" not in frame and ("result" in frame) for frame in frames)


def test_the_form_asks_for_no_secret(notes: Vault) -> None:
    result = notes.wire.result("notes_delete", notes.args(title=TITLE))
    form = result["inputRequests"]["delete_choice"]["params"]
    assert form["requestedSchema"]["properties"].keys() == {"note_id", "confirm"}
    asked = json.dumps(form).lower()
    assert not re.search(r"password|api.?key|access.?token|credential|card", asked)


def test_no_mode_is_sent_that_this_very_request_does_not_declare(notes: Vault) -> None:
    """An earlier request that declared it does not help."""
    wire = notes.wire
    state = first_round(wire, notes)
    silent = envelope({})
    assert wire.refusal("notes_delete", notes.args(title=TITLE), meta=silent)["data"] == FORM_REQUIRED
    again = {"requestState": state, "inputResponses": {}}
    assert (
        wire.refusal("notes_delete", notes.args(title=TITLE), meta=silent, **again)["data"] == FORM_REQUIRED
    )
    answers = {"requestState": state, "inputResponses": accept(CHOSEN)}
    result = wire.result("notes_delete", notes.args(title=TITLE), meta=silent, **answers)
    assert result["structuredContent"]["outcome"] == "deleted"


def test_client_info_is_no_identity(notes: Vault) -> None:
    """Who the client says it is changes no byte of an answer, and does not bind a state."""
    wire = notes.wire
    key = "io.modelcontextprotocol/clientInfo"
    admin = envelope(**{key: {"name": "admin", "version": "1"}})
    arguments = {"workspaceUri": notes.folder.parent.as_uri()}
    plain = wire.result("notes_list", arguments)
    assert wire.result("notes_list", arguments, meta=admin) == plain
    assert plain["isError"] is True
    state = first_round(wire, notes)
    answers = {"requestState": state, "inputResponses": accept(CHOSEN)}
    result = wire.result("notes_delete", notes.args(title=TITLE), meta=admin, **answers)
    assert result["structuredContent"]["outcome"] == "deleted"


@pytest.mark.parametrize(
    "answers",
    [
        accept("other.md"),
        accept("nowhere.md"),
        accept(CHOSEN, confirm="yes"),
        accept(CHOSEN, confirm=1),
        accept(CHOSEN, confirm=None),
        accept(7),
        {"delete_choice": {"action": "accept"}},
        {"delete_choice": {"action": "accept", "content": None}},
        {"delete_choice": {"action": "accept", "content": {"note_id": CHOSEN}}},
        {"delete_choice": {"action": "accept", "content": {"note_id": CHOSEN, "confirm": True, "more": 1}}},
        {"delete_choice": {"action": "ACCEPT", "content": {"note_id": CHOSEN, "confirm": True}}},
        {"delete_choice": {"content": {"note_id": CHOSEN, "confirm": True}}},
        {"delete_choice": {"roots": []}},
        {"delete_choice": [accept(CHOSEN)["delete_choice"]]},
        {"delete_choice": True},
    ],
    ids=json.dumps,
)
def test_nothing_is_deleted_before_a_valid_acceptance(notes: Vault, answers: Any) -> None:
    wire = notes.wire
    state = first_round(wire, notes)
    refused = {"code": -32602, "message": "Invalid inputResponses"}
    assert second_round(wire, notes, state, answers)["error"] == refused
    assert notes.files() == NOTES
    assert outcome(second_round(wire, notes, state, accept(CHOSEN))) == "deleted"


@pytest.mark.parametrize("answers", [None, {}, {"delete_choice": None}, {"other": {"odd": [1]}}])
def test_a_missing_answer_is_asked_for_again(notes: Vault, answers: Any) -> None:
    wire = notes.wire
    state = first_round(wire, notes)
    again = second_round(wire, notes, state, answers)["result"]
    assert again["resultType"] == "input_required"
    odd = {**accept(CHOSEN), "other": {"odd": [1]}, "more": None}
    assert outcome(second_round(wire, notes, again["requestState"], odd)) == "deleted"


def test_a_first_call_that_already_carries_an_answer_is_asked(notes: Vault) -> None:
    wire = notes.wire
    result = wire.result("notes_delete", notes.args(title=TITLE), inputResponses=accept(CHOSEN))
    assert result["resultType"] == "input_required"
    assert notes.files() == NOTES


def test_authorization_and_the_note_are_checked_again_before_the_deletion(notes: Vault) -> None:
    wire = notes.wire
    state = first_round(wire, notes)
    notes.write(CHOSEN, "# TPS report\n\nchanged\n")
    result = second_round(wire, notes, state, accept(CHOSEN))["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("conflict: ")
    assert notes.files() == {**NOTES, CHOSEN: "# TPS report\n\nchanged\n"}


def test_an_unsigned_or_changed_state_is_refused(notes: Vault) -> None:
    wire = notes.wire
    state = first_round(wire, notes)
    forged = base64.urlsafe_b64encode(json.dumps({"allowed": [CHOSEN]}).encode()).decode()
    changed = state[:-2] + ("A" if state[-2] != "A" else "B") + state[-1]
    odd: list[Any] = [5, ["x"], {}]
    for bad in (forged, f"v1.{forged}", changed, state[:-1], state + "=", state.upper(), "", " ", *odd):
        answer = second_round(wire, notes, bad, accept(CHOSEN))
        assert answer["error"] == INVALID_STATE, bad
    assert notes.files() == NOTES


def test_the_state_tells_nothing(notes: Vault) -> None:
    state = first_round(notes.wire, notes)
    held = base64.urlsafe_b64decode(state.removeprefix("v1.") + "==")
    assert all(word.encode() not in held for word in ("TPS", "reports.md", "local:", "notes_delete"))


def test_a_declined_person_is_not_asked_again(notes: Vault) -> None:
    wire = notes.wire
    state = first_round(wire, notes)
    second_round(wire, notes, state, accept(CHOSEN, confirm=False))
    result = wire.result("notes_delete", notes.args(title=TITLE))
    assert (result["resultType"], result["structuredContent"]) == ("complete", {"outcome": "declined"})


def test_a_cancelled_form_can_still_be_answered(notes: Vault) -> None:
    wire = notes.wire
    state = first_round(wire, notes)
    cancel = {"delete_choice": {"action": "cancel", "content": {"odd": 1}}}
    result = second_round(wire, notes, state, cancel)["result"]
    assert (result["isError"], result["structuredContent"]) == (False, {"outcome": "cancelled"})
    assert notes.files() == NOTES
    assert outcome(second_round(wire, notes, state, accept(CHOSEN))) == "deleted"


def test_a_session_id_and_initialize_change_nothing(notes: Vault) -> None:
    wire = notes.wire
    before = wire.ask(request(1, "tools/list"))
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": dict(FORMS),
        "clientInfo": {"name": "c", "version": "1"},
    }
    opened = wire.ask({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    assert opened["result"]["protocolVersion"] == "2025-11-25"
    wire.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert wire.ask(request(1, "tools/list")) == before
    # What was declared there is no part of a request that comes with its own envelope.
    assert wire.refusal("notes_delete", notes.args(title=TITLE), meta=envelope({}))["code"] == -32021
    meta = envelope(**{"Mcp-Session-Id": "s"})
    assert wire.result("notes_list", notes.args(), meta=meta)["isError"] is False
