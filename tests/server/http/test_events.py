"""What is told before an answer, and what becomes of a call when nobody waits for it any more."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.server.http.conftest import Served
from tests.server.http.raw import Raw, posted
from tests.server.wire import call, envelope

URI = "file:///x"


def read(path: str, token: str | int | None = None, id_: Any = 1) -> dict[str, Any]:
    meta = envelope() if token is None else envelope(progressToken=token)
    return call(id_, "notes_read", {"workspaceUri": URI, "path": path}, meta=meta)


def test_what_a_call_reports_makes_its_answer_a_stream_that_ends_with_the_result(raw: Raw) -> None:
    answer = raw.post(read("report/3", "t"))
    assert (answer.status, answer.field("x-accel-buffering"), answer.field("cache-control")) == (
        200,
        "no",
        "no-store",
    )
    *told, last = answer.events
    assert [event["params"] for event in told] == [
        {"progressToken": "t", "progress": done, "total": 10, "message": "of it"} for done in range(3)
    ]
    assert {event["method"] for event in told} == {"notifications/progress"}
    assert (last["id"], last["result"]["isError"]) == (1, False)
    plain = raw.post(read("report/0", "t")).message
    assert last["result"].keys() == plain["result"].keys()


def test_events_are_sent_as_they_come(plain: Served, raw: Raw) -> None:
    raw.send(posted(read("report/3", 5), port=raw.port))
    status, fields = raw.head()
    assert (status, ("content-type", "text/event-stream") in fields) == (200, True)
    first = json.loads(raw.chunk().partition(b"data: ")[2])
    assert first["params"]["progress"] == 0
    while data := raw.chunk():
        last = data
    assert json.loads(last.partition(b"data: ")[2])["id"] == 1
    assert raw.post(read("a")).status == 200


@pytest.mark.parametrize(
    ("path", "token", "accept"),
    [
        ("report/0", "t", "application/json, text/event-stream"),
        ("report/2", None, "application/json, text/event-stream"),
        ("report/2", "t", "application/json"),
        ("report/2", "t", "application/json, text/event-stream;q=0"),
        ("report/2", "t", None),
    ],
)
def test_without_anything_to_tell_or_anybody_to_tell_it_the_answer_is_one_object(
    raw: Raw, path: str, token: str | None, accept: str | None
) -> None:
    answer = raw.post(read(path, token), {"Accept": accept})
    assert answer.message["result"]["isError"] is False


def test_what_is_told_after_the_answer_is_not_sent(plain: Served, raw: Raw) -> None:
    answer = raw.post(read("report late/told", "t"))
    assert answer.message["id"] == 1
    (plain.folder / "told.go").touch()
    plain.await_file("told.done")
    assert raw.post(read("a", id_=2)).message["id"] == 2


@pytest.mark.parametrize("token", [None, "t"])
def test_who_hangs_up_cancels_the_call_and_nobody_else_s(plain: Served, raw: Raw, token: str | None) -> None:
    name = f"left-{token}"
    with plain.connect() as leaving:
        leaving.send(posted(read(f"wait/{name}", token), port=plain.port))
        raw.send(posted(read(f"wait/kept-{token}"), port=plain.port))
        plain.await_file(f"{name}.begun")
        plain.await_file(f"kept-{token}.begun")
    time.sleep(0.1)
    for which in (name, f"kept-{token}"):
        (plain.folder / f"{which}.go").touch()
    assert raw.read().message["id"] == 1
    plain.await_file(f"{name}.abandoned")
    assert not (plain.folder / f"kept-{token}.abandoned").exists()


def test_who_hangs_up_in_the_middle_of_a_stream_cancels_the_call(plain: Served) -> None:
    with plain.connect() as leaving:
        leaving.send(posted(read("report and wait/streamed", "t"), port=plain.port))
        assert leaving.head()[0] == 200
        leaving.chunk()
        plain.await_file("streamed.begun")
    time.sleep(0.1)
    (plain.folder / "streamed.go").touch()
    plain.await_file("streamed.abandoned")
    with plain.connect() as raw:
        assert raw.post(read("a")).status == 200


def test_who_reads_on_after_the_first_event_cancels_nothing(plain: Served, raw: Raw) -> None:
    raw.send(posted(read("report and wait/read", "t"), port=plain.port))
    assert raw.head()[0] == 200
    raw.chunk()
    plain.await_file("read.begun")
    (plain.folder / "read.go").touch()
    plain.await_file("read.done")
    assert not (plain.folder / "read.abandoned").exists()


def test_a_change_that_has_begun_is_finished_though_nobody_waits(plain: Served) -> None:
    with plain.connect() as leaving:
        arguments = {"workspaceUri": URI, "path": "begun.md", "content": "wait"}
        leaving.send(posted(call(1, "notes_create", arguments), port=plain.port))
        plain.await_file("begun.md.begun")
    (plain.folder / "begun.md.go").touch()
    plain.await_file("begun.md")


def delete(plain: Served, name: str) -> bytes:
    body = call(
        1,
        "notes_delete",
        {"workspaceUri": URI, "title": "a"},
        requestState=str(plain.folder / name),
        inputResponses={"delete_choice": {"action": "cancel"}},
    )
    return posted(body, port=plain.port)


def test_a_deletion_is_noted_as_answered_once_its_answer_has_been_sent(plain: Served, raw: Raw) -> None:
    raw.send(delete(plain, "answered"))
    assert raw.read().message["id"] == 1
    plain.await_file("answered")


def test_a_deletion_whose_caller_has_gone_is_not_noted_as_answered(serving: Any) -> None:
    """A retry is then told what became of it, not that it is a replay."""
    served = serving(http={"max_calls_per_principal": 100})
    # Both of the threads that are eager are at work, so the deletion begins only after its caller has gone.
    with served.connect() as first, served.connect() as second, served.connect() as last:
        for number, raw in enumerate((first, second)):
            raw.send(posted(read(f"wait/busy{number}"), port=served.port))
            served.await_file(f"busy{number}.begun")
        with served.connect() as leaving:
            leaving.send(delete(served, "unanswered"))
        time.sleep(0.05)
        for number in range(2):
            (served.folder / f"busy{number}.go").touch()
        assert last.post(read("a")).status == 200
        first.read()
        second.read()
    time.sleep(0.2)
    assert not (served.folder / "unanswered").exists()


def test_the_same_id_may_be_under_way_on_two_connections(plain: Served, raw: Raw) -> None:
    """Each answer goes where its request came from, so ids need not differ between clients."""
    with plain.connect() as other:
        raw.send(posted(read("wait/twin"), port=plain.port))
        plain.await_file("twin.begun")
        assert other.post(read("x/other")).message["result"]["content"][1]["text"] == "other"
        (plain.folder / "twin.go").touch()
        assert raw.read().message["result"]["content"][1]["text"] == "twin"
