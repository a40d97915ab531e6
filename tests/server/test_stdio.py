"""The edges of the wire: broken frames, ids in flight, cancelling, limits, slow readers and the end.

The service behind it does what a note's path says (`scripted.py`), so that calls wait, fail and crash on
demand; everything else is the real server in a process of its own.
"""

from __future__ import annotations

import json
import os
import pty
import queue
import signal
import socket
import subprocess
import sys
import time
import tty
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import fsnotes
from tests.server.wire import (
    SECONDS,
    SERVER_KEY,
    VERSION,
    Wire,
    call,
    envelope,
    error,
    failed,
    request,
)

SERVER = {"name": "fsnotes", "title": "fsnotes", "version": fsnotes.__version__}
SCRIPT = str(Path(__file__).parent / "scripted.py")
MAX_BYTES = 65_536
PARSE_ERROR = error(None, -32700, "Parse error")
LIMIT = "limit: too many calls in flight; wait for some to end and call again"
GOOD = request(7, "server/discover")

Start = Callable[..., Wire]


def scripted(folder: Path, *, max_calls: int = 8, stdin: int = subprocess.PIPE) -> Wire:
    return Wire([sys.executable, SCRIPT, str(folder), str(max_calls)], home=folder, stdin=stdin)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start servers of the test's own; all are ended with it."""
    started: list[Wire] = []

    def start_one(**how: Any) -> Wire:
        started.append(scripted(tmp_path, **how))
        return started[-1]

    yield start_one
    for wire in started:
        wire.__exit__(None, None, None)


@pytest.fixture
def own(start: Start) -> Wire:
    """A server that the test may end."""
    wire = start()
    wire.read()
    return wire


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with scripted(tmp_path_factory.mktemp("shared")) as wire:
        yield wire


@pytest.fixture
def wire(shared: Wire) -> Iterator[Wire]:
    """A server that lives on: what a test leaves behind fails it."""
    yield shared
    shared.assert_silent()


def read(id_: Any, path: str) -> dict[str, Any]:
    return call(id_, "notes_read", {"workspaceUri": "file:///w", "path": path})


def wait(id_: Any, path: Path) -> dict[str, Any]:
    """A call that begins and waits until it is let go; its text is *path*."""
    return read(id_, f"wait/{path}")


def begun(path: Path) -> None:
    wait_for(Path(f"{path}.begun"))


def let_go(path: Path) -> None:
    Path(f"{path}.go").touch()


def text_of(frame: dict[str, Any]) -> str:
    text: str = frame["result"]["content"][1]["text"]
    return text


def wait_for(path: Path) -> None:
    end = time.monotonic() + SECONDS
    while not path.exists():
        assert time.monotonic() < end, f"{path.name} never came"
        time.sleep(0.002)


# -- frames ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b'{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}',
        b'{"jsonrpc":"2.0","id":1,"method":"caf\xe9"}',
        b'{"jsonrpc":"2.0","id":1,"method":"\\udcff"}',
        b'{"jsonrpc":"2.0","id":1,"method":NaN}',
        b'{"a":' * 65 + b"1" + b"}" * 65,
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"m"}',
        b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"m"}',
        b" " * (MAX_BYTES + 1),
    ],
    ids=lambda line: repr(line[:50]),
)
def test_a_frame_that_is_not_strict_json_is_refused_without_id_and_the_server_lives_on(
    wire: Wire, line: bytes
) -> None:
    assert wire.ask_raw(line + b"\n") == PARSE_ERROR
    assert wire.ask(GOOD)["id"] == 7


def test_an_endless_line_is_refused_once_and_forgotten_up_to_its_end(own: Wire) -> None:
    own.ask(GOOD)
    before = psutil.Process(own.process.pid).memory_info().rss
    assert own.ask_raw(b"[" * (MAX_BYTES + 1)) == PARSE_ERROR
    for _ in range(200):
        own.send_raw(b"[" * 1_000_000)
    own.send_raw(b"\n")
    assert own.ask(GOOD)["id"] == 7
    assert psutil.Process(own.process.pid).memory_info().rss < before + 60 * 1_048_576


def test_a_frame_of_just_the_largest_size_is_read(wire: Wire) -> None:
    frame = json.dumps(GOOD).encode()
    assert wire.ask_raw(frame + b" " * (MAX_BYTES - len(frame)) + b"\n")["id"] == 7
    assert wire.ask_raw(frame + b" " * (MAX_BYTES - len(frame) + 1) + b"\n") == PARSE_ERROR


@pytest.mark.parametrize(
    ("line", "id_"),
    [
        (b"[]", None),
        (json.dumps([GOOD]).encode(), None),
        (b"17", None),
        (b"{}", None),
        (b'{"jsonrpc":"1.0","id":"a","method":"m"}', "a"),
        (b'{"jsonrpc":"2.0","id":5,"method":"m","params":[]}', 5),
        (b'{"jsonrpc":"2.0","id":5}', 5),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', None),
        (b'{"jsonrpc":"2.0","id":true,"method":"m"}', None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"m"}', None),
    ],
)
def test_json_that_is_no_request_is_refused_and_the_server_lives_on(
    wire: Wire, line: bytes, id_: Any
) -> None:
    assert wire.ask_raw(line + b"\n") == error(id_, -32600, "Invalid Request")
    assert wire.ask(GOOD)["id"] == 7


def test_empty_lines_and_answers_to_nothing_are_ignored(wire: Wire) -> None:
    wire.send_raw(b"\n\r\n  \t\n")
    wire.send({"jsonrpc": "2.0", "id": 1, "result": {}})
    wire.send({"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}})
    wire.assert_silent()


def test_frames_are_taken_one_a_line_however_they_arrive(wire: Wire) -> None:
    frames = [json.dumps(request(id_, "server/discover")).encode() + b"\r\n" for id_ in range(3)]
    wire.send_raw(b"".join(frames))
    assert wire.receive_all(3).keys() == {0, 1, 2}
    for byte in frames[0]:
        wire.send_raw(bytes([byte]))
    assert wire.receive()["id"] == 0


# -- ids -------------------------------------------------------------------------------------------


def test_an_id_in_flight_is_refused_without_id_and_the_first_call_is_unaffected(
    wire: Wire, tmp_path: Path
) -> None:
    wire.send(wait(1, tmp_path / "a"))
    begun(tmp_path / "a")
    assert wire.ask(read(1, "text/twin")) == error(None, -32600, "Invalid Request")
    assert text_of(wire.ask(read("1", "text/other"))) == "other"
    let_go(tmp_path / "a")
    assert text_of(wire.receive()) == str(tmp_path / "a")
    assert text_of(wire.ask(read(1, "text/again"))) == "again"


@pytest.mark.parametrize("id_", [0, -1, 2**70, "", "a b", "\u00e9\U0001f600", 'x"\\\n'])
def test_an_id_comes_back_as_it_was(wire: Wire, id_: Any) -> None:
    assert wire.ask(read(id_, "text/x"))["id"] == id_


@pytest.mark.parametrize(
    "frame",
    [
        {"method": "notifications/whatever"},
        {"method": "server/discover", "params": {"_meta": envelope()}},
        {"method": "server/discover", "params": {"_meta": envelope(version="2099-01-01")}},
        {"method": "no/such/method"},
        {"method": "initialize"},
        {"method": "tools/call", "params": []},
        {"method": "notifications/cancelled"},
        {"method": "notifications/cancelled", "params": {"requestId": {}}},
        {"method": "notifications/cancelled", "params": {"requestId": True}},
        {"method": "notifications/cancelled", "params": {"requestId": "nobody's"}},
    ],
    ids=json.dumps,
)
def test_a_message_without_id_is_never_answered(wire: Wire, frame: dict[str, Any]) -> None:
    wire.send({"jsonrpc": "2.0", **frame})
    wire.assert_silent()


def test_a_call_without_id_changes_nothing(wire: Wire, tmp_path: Path) -> None:
    arguments = {"workspaceUri": "file:///w", "path": str(tmp_path / "made"), "content": "x"}
    frame = call(1, "notes_create", arguments)
    wire.send({key: value for key, value in frame.items() if key != "id"})
    wire.assert_silent()
    assert not (tmp_path / "made").exists()
    assert wire.ask(frame)["result"]["isError"] is False
    assert (tmp_path / "made").read_text() == "x"


# -- calls at work ---------------------------------------------------------------------------------


def test_a_slow_call_holds_up_nothing_else(wire: Wire, tmp_path: Path) -> None:
    wire.send(wait(1, tmp_path / "a"))
    begun(tmp_path / "a")
    assert text_of(wire.ask(read(2, "text/b"))) == "b"
    assert wire.ask(GOOD)["id"] == 7
    let_go(tmp_path / "a")
    assert wire.receive()["id"] == 1


def test_one_call_too_many_is_refused_and_room_is_made_when_one_ends(start: Start, tmp_path: Path) -> None:
    wire = start(max_calls=2)
    wire.read()
    wire.send(wait(1, tmp_path / "a"), wait(2, tmp_path / "b"))
    begun(tmp_path / "a")
    begun(tmp_path / "b")
    assert wire.ask(read(3, "text/c")) == failed(3, LIMIT, SERVER)
    assert wire.ask(GOOD)["id"] == 7
    assert wire.ask(request(4, "tools/list"))["id"] == 4
    let_go(tmp_path / "a")
    assert wire.receive()["id"] == 1
    assert text_of(wire.ask(read(5, "text/c"))) == "c"


def test_changes_that_wait_leave_places_to_who_only_looks(start: Start, tmp_path: Path) -> None:
    def create(id_: int, path: str, content: str = "wait") -> dict[str, Any]:
        return call(id_, "notes_create", {"workspaceUri": "file:///w", "path": path, "content": content})

    wire = start(max_calls=4)
    wire.read()
    wire.send(*(create(number, str(number)) for number in range(3)))
    for number in range(3):
        begun(tmp_path / str(number))
    assert wire.ask(create(3, "3", "x")) == failed(3, LIMIT, SERVER)
    assert not (tmp_path / "3").exists()
    assert text_of(wire.ask(read(4, "text/a"))) == "a"
    for number in range(3):
        let_go(tmp_path / str(number))
    assert sorted(wire.receive_all(3)) == [0, 1, 2]
    assert wire.ask(create(5, "5", "x"))["result"]["structuredContent"]["path"] == "5"


def test_a_cancelled_call_goes_unanswered_and_is_told(wire: Wire, tmp_path: Path) -> None:
    wire.send(wait(1, tmp_path / "a"), wait("1", tmp_path / "b"))
    begun(tmp_path / "a")
    begun(tmp_path / "b")
    wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    wire.assert_silent()
    let_go(tmp_path / "a")
    wait_for(tmp_path / "a.done")
    assert (tmp_path / "a.abandoned").exists()
    wire.assert_silent()
    let_go(tmp_path / "b")
    assert text_of(wire.receive()) == str(tmp_path / "b")
    assert not (tmp_path / "b.abandoned").exists()
    assert text_of(wire.ask(read(1, "text/again"))) == "again"


@pytest.mark.kind("stdout")
@pytest.mark.parametrize("path", ["crash/x", "exit/x", "interrupt/x", "recursion/x"])
def test_a_crash_is_a_fixed_text_and_the_server_lives_on(wire: Wire, tmp_path: Path, path: str) -> None:
    wire.send_raw(json.dumps(read(1, path)).encode() + b"\n")
    line = wire.receive_raw()
    assert json.loads(line) == error(1, -32603, "Internal error")
    assert text_of(wire.ask(read(2, "text/x"))) == "x"


@pytest.mark.kind("stdout")
@pytest.mark.parametrize("way", ["print", "descriptor", "former", "child"])
def test_nothing_else_in_the_process_can_touch_the_wire(own: Wire, way: str) -> None:
    assert text_of(own.ask(read(1, f"print/{way}"))) == "00"
    own.assert_silent()
    own.end_input()
    assert own.receive_raw() == b""
    assert own.wait() == 0
    assert own.log() == b"this must not reach the client\n"


def test_a_name_that_is_no_unicode_does_not_end_the_server(wire: Wire) -> None:
    assert text_of(wire.ask(read(1, "surrogate/x"))) == "caf\udce9.md"
    assert wire.ask(GOOD)["id"] == 7


def test_a_result_longer_than_a_page_is_an_error_of_the_tool(wire: Wire) -> None:
    result = wire.ask(read(1, "long/40000"))["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("too_large: ")
    assert len(text_of(wire.ask(read(2, "long/39000")))) == 39_000


def test_the_service_is_told_who_calls_and_under_which_request(wire: Wire) -> None:
    meta = envelope(traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01")
    arguments = {"workspaceUri": "file:///w", "path": "call/x"}
    answer = wire.ask(call("r1", "notes_read", arguments, meta=meta))
    assert text_of(answer) == f"local:scripted r1 {'a' * 32}"


def test_answers_reach_the_service_as_they_came_and_it_learns_that_its_own_has_left(
    wire: Wire, tmp_path: Path
) -> None:
    arguments = {"workspaceUri": "file:///w", "title": "t"}
    state = str(tmp_path / "answered")
    answers = {"delete_choice": {"action": "accept", "content": {"confirm": 1, "x": [None]}}, "odd": 7}
    answer = wire.ask(call(1, "notes_delete", arguments, requestState=state, inputResponses=answers))
    assert answer["result"]["structuredContent"] == {
        "outcome": "deleted",
        "path": repr(answers),
        "trashId": state,
    }
    wait_for(tmp_path / "answered")


# -- readers that do not read ----------------------------------------------------------------------


def test_a_client_that_does_not_read_makes_the_server_stop_reading(start: Start) -> None:
    wire = start()
    data = b"".join(json.dumps(request(id_, "tools/list")).encode() + b"\n" for id_ in range(20_000))
    assert wire.process.stdin is not None
    os.set_blocking(wire.process.stdin.fileno(), False)
    sent, end = 0, time.monotonic() + SECONDS
    idle_since = time.monotonic()
    while time.monotonic() < end and time.monotonic() - idle_since < 1.0:
        try:
            sent += os.write(wire.process.stdin.fileno(), data[sent : sent + 65_536])
            idle_since = time.monotonic()
        except BlockingIOError:
            time.sleep(0.01)
    assert sent < len(data), "it never stopped reading"
    assert psutil.Process(wire.process.pid).memory_info().rss < 200 * 1_048_576
    wire.read()
    for _ in range(data.count(b"\n", 0, sent)):
        assert "result" in wire.receive()


def test_a_client_that_goes_away_ends_the_server(start: Start) -> None:
    wire = start()
    assert wire.process.stdout is not None
    wire.process.stdout.close()
    wire.send(GOOD)
    code, seconds = wire.timed_wait()
    assert code == 0
    assert seconds < 5


# -- the end ---------------------------------------------------------------------------------------


def test_at_the_end_of_input_calls_in_flight_are_answered_first(own: Wire, tmp_path: Path) -> None:
    own.ask(read(0, "text/loaded"))
    own.send(wait(1, tmp_path / "a"))
    begun(tmp_path / "a")
    own.end_input()
    let_go(tmp_path / "a")
    assert text_of(own.receive()) == str(tmp_path / "a")
    assert own.receive_raw() == b""
    assert own.wait() == 0


def test_calls_that_come_with_the_end_of_input_are_answered(own: Wire) -> None:
    """Also when the kernel is not loaded yet, as in `printf ... | fsnotes serve`."""
    own.send(read(1, "text/a"), read(2, "text/b"))
    own.end_input()
    answers = own.receive_all(2)
    assert {id_: text_of(answer) for id_, answer in answers.items()} == {1: "a", 2: "b"}
    assert own.receive_raw() == b""
    assert own.wait() == 0


def test_more_calls_than_can_run_are_each_answered_once(own: Wire) -> None:
    own.send(*[read(id_, "text/x") for id_ in range(300)])
    answers = own.receive_all(300)
    refused = [answer for answer in answers.values() if answer["result"]["isError"]]
    assert {answer["result"]["content"][0]["text"] for answer in refused} <= {LIMIT}
    assert text_of(own.ask(read(1, "text/again"))) == "again"


def test_a_call_that_is_cancelled_before_it_begins_never_does(own: Wire, tmp_path: Path) -> None:
    arguments = {"workspaceUri": "file:///w", "path": str(tmp_path / "made"), "content": "x"}
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    own.send(call(1, "notes_create", arguments), cancel)
    assert text_of(own.ask(read(2, "text/after"))) == "after"
    assert not (tmp_path / "made").exists()


def test_a_last_frame_without_a_line_end_is_answered(own: Wire) -> None:
    own.ask(read(0, "text/loaded"))
    own.send_raw(json.dumps(read(1, "text/last")).encode())
    own.end_input()
    assert text_of(own.receive()) == "last"
    assert own.wait() == 0


@pytest.mark.parametrize(
    ("number", "code"), [(None, 0), (signal.SIGTERM, 0), (signal.SIGINT, 130)], ids=["end", "term", "int"]
)
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_the_server_ends_within_a_second(
    start: Start, tmp_path: Path, number: signal.Signals | None, code: int, busy: bool
) -> None:
    """One of a few must do it: on a machine with other work each could be kept from it."""
    took = []
    for attempt in range(4):
        own = start()
        own.read()
        own.ask(read(0, "text/loaded"))
        if busy:
            own.send(wait(1, tmp_path / str(attempt)))
            begun(tmp_path / str(attempt))
        if number is None:
            own.end_input()
        else:
            own.signal(number)
        ended, seconds = own.timed_wait()
        assert ended == code
        assert own.receive_raw() == b""
        took.append(seconds)
        if seconds < 1:
            break
    assert min(took) < 1, took


def test_a_second_signal_does_not_wait(own: Wire, tmp_path: Path) -> None:
    own.send(wait(1, tmp_path / "a"))
    begun(tmp_path / "a")
    own.signal(signal.SIGINT)
    with pytest.raises(queue.Empty):
        own.receive_raw(0.2)
    own.signal(signal.SIGINT)
    ended, seconds = own.timed_wait()
    assert ended == 130
    assert seconds < 0.4


def test_the_end_of_input_ends_a_server_whose_client_does_not_read(start: Start) -> None:
    wire = start()
    wire.send(*[request(id_, "tools/list") for id_ in range(40)])
    wire.end_input()
    assert wire.wait() == 0


# -- other kinds of stdin --------------------------------------------------------------------------

FRAMES = b"".join(json.dumps(request(id_, "server/discover")).encode() + b"\n" for id_ in range(3))


def test_a_regular_file_can_be_stdin(start: Start, tmp_path: Path) -> None:
    (tmp_path / "frames").write_bytes(FRAMES)
    with open(tmp_path / "frames", "rb") as frames:
        wire = start(stdin=frames.fileno())
    wire.read()
    assert wire.receive_all(3).keys() == {0, 1, 2}
    assert wire.wait() == 0


def test_the_null_device_as_stdin_is_the_end(start: Start) -> None:
    wire = start(stdin=subprocess.DEVNULL)
    wire.read()
    assert wire.receive_raw() == b""
    assert wire.wait() == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_server_without_stdin_or_stdout_ends_at_once(tmp_path: Path, closed: str) -> None:
    command = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, SCRIPT, str(tmp_path), "8"]
    with Wire(command, home=tmp_path) as wire:
        assert wire.wait() == 0
        assert wire.log() == b""


def test_a_terminal_can_be_stdin_and_its_flags_are_left_alone(start: Start) -> None:
    master, slave = pty.openpty()
    try:
        tty.setraw(slave)
        wire = start(stdin=slave)
        wire.read()
        os.write(master, FRAMES)
        assert wire.receive_all(3).keys() == {0, 1, 2}
        assert os.get_blocking(slave)
        wire.signal(signal.SIGTERM)
        assert wire.wait() == 0
    finally:
        os.close(master)
        os.close(slave)


def test_a_socket_can_be_stdin(start: Start) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire = start(stdin=theirs.fileno())
        theirs.close()
        wire.read()
        ours.sendall(FRAMES)
        assert wire.receive_all(3).keys() == {0, 1, 2}
        ours.shutdown(socket.SHUT_WR)
        assert wire.wait() == 0


# -- revisions, methods and tools ------------------------------------------------------------------


def test_discover_tells_what_is_true_and_nothing_else(wire: Wire) -> None:
    result = wire.ask(request(1, "server/discover"))["result"]
    assert isinstance(result.pop("instructions"), str)
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


def test_the_kernel_answers_what_is_fixed_with_the_same_bytes(wire: Wire) -> None:
    """A progress token is something that only the kernel judges, so it answers the second of each pair."""
    for method in ("server/discover", "tools/list", "prompts/list"):
        wire.send(request(1, method))
        fixed = wire.receive_raw()
        wire.send(request(1, method, meta=envelope(progressToken=1)))
        assert wire.receive_raw() == fixed


@pytest.mark.parametrize(
    "capabilities",
    [{}, {"elicitation": {}}, {"elicitation": {"url": {}}}, {"roots": {}, "sampling": {"tools": {}}}],
)
@pytest.mark.parametrize("client", [{}, {"clientInfo": {"name": "c", "version": "1"}}])
def test_the_list_of_tools_is_the_same_bytes_for_every_caller(
    wire: Wire, capabilities: dict[str, Any], client: dict[str, Any]
) -> None:
    wire.send(request(1, "tools/list"))
    expected = wire.receive_raw()
    more = {f"io.modelcontextprotocol/{key}": value for key, value in client.items()}
    wire.send(request(1, "tools/list", meta=envelope(capabilities, **more)))
    assert wire.receive_raw() == expected


@pytest.mark.parametrize(
    "meta",
    [
        envelope({"elicitation": 5}),
        envelope({"elicitation": {"form": True}}),
        envelope({"sampling": []}),
        envelope({}, **{"io.modelcontextprotocol/clientInfo": "me"}),
        envelope({}, **{"io.modelcontextprotocol/clientInfo": {"name": "c"}}),
        envelope({}, progressToken={}),
    ],
    ids=json.dumps,
)
@pytest.mark.parametrize("method", ["server/discover", "tools/list"])
def test_a_malformed_envelope_is_invalid(wire: Wire, method: str, meta: dict[str, Any]) -> None:
    assert wire.ask(request(1, method, meta=meta)) == error(1, -32602, "Invalid request parameters")


@pytest.mark.parametrize("first", ["tools/list", "initialize", "server/discover"])
def test_no_first_frame_locks_the_connection(wire: Wire, first: str) -> None:
    assert wire.ask({"jsonrpc": "2.0", "id": 1, "method": first})["error"]["code"] == -32602
    assert wire.ask(GOOD)["result"]["resultType"] == "complete"


def test_an_older_client_is_told_the_versions(wire: Wire) -> None:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }
    frame = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    data = {"supported": [VERSION], "requested": "2025-11-25"}
    assert wire.ask(frame) == error(1, -32022, "Unsupported protocol version", data)
    assert wire.ask(request(2, "initialize", params)) == error(2, -32601, "Method not found")


@pytest.mark.parametrize(
    "method",
    [
        "no/such/method",
        "",
        "ping",
        "roots/list",
        "resources/subscribe",
        "logging/setLevel",
    ],
)
def test_an_unknown_method_is_not_found(wire: Wire, method: str) -> None:
    assert wire.ask(request(1, method)) == error(1, -32601, "Method not found")


@pytest.mark.parametrize("name", ["notes_Read", "", "notes_find", "x" * 10_000])
def test_an_unknown_tool_is_invalid(wire: Wire, name: str) -> None:
    assert wire.ask(call(1, name)) == error(1, -32602, "Unknown tool")


@pytest.mark.parametrize("params", [{}, {"name": 5}, {"name": "notes_read", "arguments": []}])
def test_a_call_that_is_no_call_is_invalid(wire: Wire, params: dict[str, Any]) -> None:
    assert wire.ask(request(1, "tools/call", params)) == error(1, -32602, "Invalid request parameters")


@pytest.mark.parametrize("cursor", ["", "next"])
def test_a_cursor_that_was_never_given_out_is_invalid(wire: Wire, cursor: str) -> None:
    assert wire.ask(request(1, "tools/list", {"cursor": cursor})) == error(1, -32602, "Invalid cursor")


def test_arguments_that_do_not_fit_are_an_error_of_the_tool(wire: Wire) -> None:
    line = "invalid_argument: path: required; correct it and call again"
    assert wire.ask(call(1, "notes_read", {"workspaceUri": "file:///w"})) == failed(1, line, SERVER)


@pytest.mark.parametrize("name", ["notes_workspaces", "notes_read", "notes_create", "notes_restore"])
@pytest.mark.parametrize("state", ["v1.forged", "", 5])
def test_a_state_sent_to_a_tool_that_never_asks_is_invalid(wire: Wire, name: str, state: Any) -> None:
    answer = wire.ask(call(1, name, requestState=state))
    assert answer == error(1, -32602, "Invalid or expired requestState")


def test_answers_sent_to_a_tool_that_never_asks_are_ignored(wire: Wire) -> None:
    arguments = {"workspaceUri": "file:///w", "path": "text/x"}
    answers = {"delete_choice": {"action": "accept"}, "odd": None}
    assert text_of(wire.ask(call(1, "notes_read", arguments, inputResponses=answers))) == "x"


@pytest.mark.parametrize("answers", [[], "yes", 1, True])
def test_answers_that_are_no_map_are_invalid(wire: Wire, answers: Any) -> None:
    arguments = {"workspaceUri": "file:///w", "title": "t"}
    answer = wire.ask(call(1, "notes_delete", arguments, inputResponses=answers))
    assert answer == error(1, -32602, "Invalid inputResponses")


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < end
        time.sleep(0.002)


# -- progress --------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["mine", 17])
def test_who_asks_is_told_how_far_a_call_is_before_its_answer(shared: Wire, token: Any) -> None:
    shared.send(
        call("p", "notes_read", {"workspaceUri": "w", "path": "report/3"}, meta=envelope(progressToken=token))
    )
    told = [shared.receive() for _ in range(3)]
    assert told == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": token, "progress": done, "total": 10, "message": "of it"},
        }
        for done in range(3)
    ]
    assert shared.receive()["id"] == "p"
    shared.assert_silent()


@pytest.mark.parametrize("meta", [envelope(), envelope(progressToken=None), envelope(progressToken=[1])])
def test_who_does_not_ask_is_told_of_no_progress(shared: Wire, meta: Any) -> None:
    shared.send(call("q", "notes_read", {"workspaceUri": "w", "path": "report/2"}, meta=meta))
    assert shared.receive()["id"] == "q"
    shared.assert_silent()


@pytest.mark.parametrize("cancelled", [False, True])
def test_nothing_is_told_of_a_call_that_was_answered_or_cancelled(
    own: Wire, tmp_path: Path, cancelled: bool
) -> None:
    name = "late"
    kind = "wait" if cancelled else "report late"
    meta = envelope(progressToken="t")
    own.send(call("r", "notes_read", {"workspaceUri": "w", "path": f"{kind}/{name}"}, meta=meta))
    if cancelled:
        until(lambda: (tmp_path / f"{name}.begun").exists())
        own.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "r"}})
    else:
        assert own.receive()["id"] == "r"
    (tmp_path / f"{name}.go").touch()
    until(lambda: (tmp_path / f"{name}.done").exists())
    assert own.ask(GOOD)["id"] == 7
    own.assert_silent()
