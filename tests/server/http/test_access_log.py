"""What the log tells of requests: one line each, useful, and nothing in it that was sent but the request's id."""

from __future__ import annotations

import io
import json
import logging
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fsnotes.access import Principal
from fsnotes.cli.logs import start_logging
from fsnotes.server.flights import Flight
from fsnotes.server.http.access_log import Entry
from fsnotes.server.listening import LISTEN, MOST_OF_ONE
from tests.cli.conftest import Shell
from tests.cli.test_serving_http import HTTP, LISTENING, SECONDS, serving
from tests.server.http.raw import Raw, ping, posted
from tests.server.test_subscriptions import acknowledged, completed, event, listen
from tests.server.wire import accept, call, envelope

CANARY = "CANARY-91ce"
TRACE = "c" * 32


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A person with an empty vault and nothing configured."""
    made = Shell(tmp_path / "home")
    made.vault.mkdir(parents=True)
    return made


def logged(shell: Shell, level: str) -> tuple[list[dict[str, Any]], str, int]:
    """Have a server asked all kinds of things; return what it logged of requests, all it logged, how many were sent."""
    shell.write("plan.md", f"# Plan\n\n{CANARY} in a note\n")
    shell.configure(
        '[http]\nauth = "token"\n'
        f'[[workspace]]\nname = "notes"\npath = "{shell.vault}"\n'
        '[[grant]]\nprincipal = "token:ci"\nworkspace = "notes"\nallow = ["read", "write", "delete"]\n'
    )
    bearer = shell.call("token", "new", "ci").out.strip()
    uri = shell.vault.as_uri()
    options = (*HTTP, "--port", "0", "--log-level", level, "--log-format", "json", "--jail", "off")
    with serving(shell, *options) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        port = int(json.loads(first)["message"].rpartition(":")[2].partition("/")[0])
        sent = 0

        def send(body: Any, fields: Any = None, **how: Any) -> Any:
            nonlocal sent
            sent += 1
            with Raw(port) as raw:
                return raw.post(body, fields, **{"bearer": bearer, **how})

        traced = envelope(traceparent=f"00-{TRACE}-{'d' * 16}-01")
        send(call(7, "notes_read", {"workspaceUri": uri, "path": "plan"}, meta=traced))
        send(call("a b", "notes_read", {"workspaceUri": uri, "path": f"{CANARY}/none"}))
        send(call(9, "notes_create", {"workspaceUri": uri, "path": "new", "content": f"{CANARY}\n"}))
        form = send(call(10, "notes_delete", {"workspaceUri": uri, "title": "plan"})).message["result"]
        state = form["requestState"]
        again = {"requestState": state, "inputResponses": accept("plan.md")}
        send(call(11, "notes_delete", {"workspaceUri": uri, "title": "plan"}, **again))
        send(ping(12))
        send({**ping(13), "method": CANARY})
        send(call(14, CANARY))
        send(ping(15), {"Mcp-Method": CANARY})
        send(b'{"' + CANARY.encode())
        send(ping(16), bearer=f"{CANARY}.{bearer[:20]}")
        send(ping(17), path=f"/mcp?access_token={bearer}")
        send(ping(18), {"Host": f"{CANARY}.example"})
        send(ping(19), path=f"/{CANARY}?token={bearer}")
        with Raw(port) as raw:
            raw.get("/healthz")
        process.terminate()
        rest = process.stderr.read().decode()
        assert process.wait(SECONDS) == 0
    assert bearer not in rest
    assert bearer[:16] not in rest
    assert state[:24] not in rest
    records = [json.loads(line) for line in rest.splitlines()]
    return [record for record in records if record["logger"].endswith("access_log")], rest, sent


def test_a_stream_has_the_outcome_of_its_answer_and_who_left_before_it_has_no_status(shell: Shell) -> None:
    uri = f"{shell.vault.as_uri()}/a.md"
    options = ("Notes", *HTTP, "--port", "0", "--log-level", "info", "--log-format", "json", "--jail", "off")
    with serving(shell, *options) as process:
        assert process.stderr is not None
        port = int(json.loads(process.stderr.readline())["message"].rpartition(":")[2].partition("/")[0])
        with ExitStack() as streams:
            kept = [streams.enter_context(Raw(port)) for _ in range(MOST_OF_ONE)]
            for id_, raw in enumerate(kept):
                raw.send(posted(listen(id_, uri), port=port))
                assert raw.head()[0] == 200
                assert event(raw) == acknowledged(id_, uri)
            with Raw(port) as more:
                assert more.post(listen("many", uri)).code == -32603
            kept[0].socket.close()
            left = json.loads(process.stderr.readline()), json.loads(process.stderr.readline())
            process.terminate()
            assert event(kept[1]) == completed(1)
            rest = process.stderr.read().decode()
        assert process.wait(SECONDS) == 0
    told = {
        line["requestId"]: tuple(line[name] for name in ("method", "tool", "status", "outcome"))
        for line in (*left, *map(json.loads, rest.splitlines()))
    }
    assert told == {
        "many": (LISTEN, None, 200, "-32603"),
        "0": (LISTEN, None, None, "abandoned"),
        **{str(id_): (LISTEN, None, 200, "complete") for id_ in range(1, MOST_OF_ONE)},
    }


@pytest.mark.parametrize("level", ["info", "debug"])
def test_each_request_is_one_line_and_tells_nothing_of_what_is_in_it(shell: Shell, level: str) -> None:
    lines, everything, sent = logged(shell, level)
    assert CANARY not in everything
    lines.sort(
        key=lambda line: line["requestId"] is None
    )  # a deletion's is written once its answer is known to be out
    told = [
        tuple(line[name] for name in ("requestId", "method", "tool", "status", "outcome")) for line in lines
    ]
    beside = [(None, "elsewhere", None, 404, None), (None, "/healthz", None, 200, None)]
    (unknown,) = [line for line in lines if line["status"] == 401]
    assert set(told) == {
        ("7", "tools/call", "notes_read", 200, "complete"),
        ("a b", "tools/call", "notes_read", 200, "not_found"),
        ("9", "tools/call", "notes_create", 200, "complete"),
        ("10", "tools/call", "notes_delete", 200, "input_required"),
        ("11", "tools/call", "notes_delete", 200, "complete"),
        ("12", "server/discover", None, 200, "complete"),
        ("13", "other", None, 404, "-32601"),
        ("14", "tools/call", None, 400, "-32602"),
        ("15", "server/discover", None, 400, "-32020"),
        ("17", "server/discover", None, 200, "complete"),
        (None, None, None, 400, "-32700"),
        (None, None, None, 401, unknown["outcome"]),
        (None, None, None, 421, None),
        *(beside if level == "debug" else []),
    }
    assert len(lines) == len(told) == len(set(told)) == (sent + 1 if level == "debug" else sent - 1)
    named = [line["principal"] for line in lines if line["requestId"]]
    assert named == ["token:ci"] * 10
    assert unknown["principal"] is None
    assert {line["level"] for line in lines if line["method"] not in ("elsewhere", "/healthz")} == {"info"}
    assert [line["traceId"] for line in lines if line["traceId"]] == [TRACE]
    assert all(0 <= line["milliseconds"] < 60_000 for line in lines)
    assert lines[0]["message"].startswith("request requestId=7 principal=token:ci method=tools/call ")


def test_at_the_usual_level_no_request_is_a_line(shell: Shell) -> None:
    with serving(shell, "Notes", *HTTP, "--port", "0", "--jail", "off", "--log-level", "info") as process:
        assert process.stderr is not None
        match = LISTENING.search(process.stderr.readline())
        assert match is not None
        with Raw(int(match[1])) as raw:
            raw.post(ping())
        process.terminate()
        assert process.stderr.read().count(b"access_log") == 1
    with serving(shell, "Notes", *HTTP, "--port", match[1].decode(), "--jail", "off") as process:
        for _ in range(400):
            try:
                with Raw(int(match[1])) as raw:
                    raw.post(ping())
                break
            except ConnectionRefusedError:
                time.sleep(0.02)
        process.terminate()
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_an_id_forges_neither_a_line_nor_a_field(monkeypatch: pytest.MonkeyPatch) -> None:
    log = logging.getLogger()
    monkeypatch.setattr(log, "handlers", log.handlers[:])
    level, stream = log.level, io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    try:
        start_logging("info", "text")
        entry = Entry()
        entry.asked('1" status=200\nfsnotes: INFO forged' + "x" * 200, "tools/call", Flight(Principal("p")))
        entry.log(400)
    finally:
        log.setLevel(level)
    (line,) = stream.getvalue().splitlines()
    assert " requestId=1%22%20status%3D200%0Afsnotes:%20INFO%20forgedx" in line
    assert line.split(" ")[5:7] == ["method=tools/call", "status=400"]
    assert len(line) < 400


def test_who_left_before_the_answer_is_told_as_such(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    Entry().log(None)
    assert caplog.records[0].fields["outcome"] == "abandoned"  # type: ignore[attr-defined]
