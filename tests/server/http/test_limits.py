"""What one caller may have under way, and how often it may call: more is its own trouble."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from fsnotes.access import Principal
from fsnotes.server.http.bodies import NoRoom, Room
from fsnotes.server.http.limits import MOST_TALLIES, Bucket, Limits
from tests.server.http.conftest import Served, serve, stop
from tests.server.http.raw import Answer, ping, posted
from tests.server.wire import call, request

Start = Callable[..., Served]
ALICE, BOB = Principal("token:alice"), Principal("token:bob")
URI = "file:///x"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def limits(**how: Any) -> Limits:
    return Limits(**{"requests": 8, "calls": 2, "rate": None, "burst": 3, "clock": Clock(), **how})


def test_a_bucket_gives_its_burst_and_then_its_rate() -> None:
    bucket = Bucket(10, 3, 0.0)
    assert [bucket.take(0.0) for _ in range(4)] == [True, True, True, False]
    assert [bucket.take(0.05), bucket.take(0.11), bucket.take(0.11)] == [False, True, False]
    assert [bucket.take(1000.0) for _ in range(4)] == [True, True, True, False]


@pytest.mark.parametrize("now", [-1e9, float("-inf"), float("nan")])
def test_a_clock_that_goes_back_gives_nothing(now: float) -> None:
    bucket = Bucket(10, 1, 0.0)
    assert bucket.take(0.0)
    assert not bucket.take(now)


def test_requests_in_all_are_bounded_and_one_principal_has_no_more_than_it_leaves() -> None:
    some = limits()
    assert [some.enter(ALICE) for _ in range(6)] == [True] * 4 + [False] * 2
    assert [some.enter(BOB) for _ in range(3)] == [True, True, False]
    some.leave(ALICE)
    assert (some.enter(BOB), some.enter(ALICE)) == (True, False)


@pytest.mark.parametrize("most", [1, 2, 3, 8, 128])
def test_however_many_take_what_they_get_a_newcomer_finds_a_place_until_all_are_taken(most: int) -> None:
    some = limits(requests=most)
    newcomers = 0
    while some.enter(Principal(f"token:{newcomers}")):
        while some.enter(Principal(f"token:{newcomers}")):
            pass
        newcomers += 1
    assert some.requests == most
    assert newcomers >= most.bit_length()


def test_calls_of_a_principal_are_bounded_and_a_refused_one_is_not_counted() -> None:
    some = limits()
    for principal in (ALICE, BOB):
        assert some.enter(principal)
    assert [some.begin(ALICE) is None for _ in range(4)] == [True, True, False, False]
    assert some.begin(BOB) is None
    some.end(ALICE)
    assert [some.begin(ALICE) is None for _ in range(2)] == [True, False]


def test_a_principal_that_comes_back_finds_its_bucket_as_it_left_it() -> None:
    some = limits(rate=1.0, burst=1)
    assert some.enter(ALICE)
    assert some.spend(ALICE) == 0
    some.leave(ALICE)
    assert some.enter(ALICE)
    assert some.spend(ALICE) == 1


def test_who_comes_too_often_is_told_when_there_is_a_token() -> None:
    clock = Clock()
    some = limits(rate=0.1, burst=1, clock=clock)
    assert some.enter(ALICE)
    assert [some.spend(ALICE), some.spend(ALICE)] == [0, 10]
    clock.now += 5
    assert some.spend(ALICE) == 5
    clock.now += 5.001
    assert some.spend(ALICE) == 0


def test_principals_that_have_nothing_under_way_and_nothing_spent_are_forgotten() -> None:
    some = limits(rate=1.0)
    for principal in (ALICE, BOB):
        assert some.enter(principal)
    assert some.spend(BOB) == 0
    some.leave(BOB)
    for number in range(3 * MOST_TALLIES):
        assert some.enter(Principal(f"token:{number}"))
        some.leave(Principal(f"token:{number}"))
    assert len(some._tallies) <= MOST_TALLIES + 1
    assert {ALICE.name, BOB.name} <= some._tallies.keys()


def test_bodies_take_up_room_until_they_are_left_and_one_principal_has_no_more_than_it_leaves() -> None:
    room = Room(100)
    with room.place(ALICE) as first, room.place(ALICE) as second, room.place(BOB) as other:
        first.take(40)
        second.take(10)
        with pytest.raises(NoRoom):
            second.take(1)
        with room.place(ALICE) as third, pytest.raises(NoRoom):
            third.take(1)
        other.take(25)
        with room.place(BOB) as another, pytest.raises(NoRoom):
            another.take(1)
        with room.place(Principal("token:carol")) as late:
            late.take(12)
    with room.place(BOB) as all_of_it:
        all_of_it.take(100)


def test_a_body_that_is_a_principal_s_only_one_may_take_all_that_is_left_however_it_is_cut() -> None:
    room = Room(100)
    with room.place(ALICE) as theirs, room.place(BOB) as own:
        theirs.take(50)
        for _ in range(5):
            own.take(10)
        for place in (theirs, own, room.place(Principal("token:carol"))):
            with pytest.raises(NoRoom):
                place.take(1)


def test_a_body_that_was_begun_beside_another_is_none_s_only_one_when_that_is_left() -> None:
    """Else whoever ends and begins bodies in turn would have more and more of them pass."""
    room = Room(100)
    with room.place(ALICE) as second:
        with room.place(ALICE) as first:
            first.take(10)
            second.take(10)
        second.take(40)
        with pytest.raises(NoRoom):
            second.take(1)
    with room.place(ALICE) as only:
        only.take(10)
        only.take(90)


def test_bodies_that_are_being_read_leave_room_for_another_s(serving: Start) -> None:
    served = serving(auth="issued", max_message_bytes=4096)
    held = [served.connect() for _ in range(4)]
    beyond = (8 * 4096 - 2 * 4 * 4095) // 2 + 1  # of eight messages, more than is left free
    try:
        for raw in held:
            raw.send(posted(b"x" * 4095, {"Content-Length": "4096"}, port=served.port, bearer="alice-token"))
        with served.connect() as raw:
            answer = raw.post(b"x" * beyond, bearer="alice-token")
            while answer.status == 400:  # not all of it has been read yet
                with served.connect() as again:
                    answer = again.post(b"x" * beyond, bearer="alice-token")
            assert answer.status == 503
        with served.connect() as raw:
            assert raw.post(ping(), bearer="bob-token").status == 200
        held[0].send(b"x")
        assert held[0].read().status == 400
        with served.connect() as raw:
            assert raw.post(ping(), bearer="alice-token").status == 200
    finally:
        for raw in held:
            raw.socket.close()


def line_of(answer: Answer) -> str:
    result = answer.message["result"]
    assert (answer.status, result["isError"]) == (200, True)
    return str(result["content"][0]["text"])


def test_a_call_too_many_under_way_is_answered_with_limit_and_does_nothing(serving: Start) -> None:
    served = serving(auth="issued", http={"max_calls_per_principal": 1})
    with served.connect() as first, served.connect() as second:
        waiting = call(1, "notes_read", {"workspaceUri": URI, "path": "wait/first"})
        first.send(posted(waiting, port=served.port, bearer="alice-token"))
        served.await_file("first.begun")
        create = call(2, "notes_create", {"workspaceUri": URI, "path": "made.md", "content": "x"})
        assert line_of(second.post(create, bearer="alice-token")).startswith("limit: ")
        assert not (served.folder / "made.md").exists()
        for body in (ping(), request(1, "tools/list")):
            assert second.post(body, bearer="alice-token").code is None
        assert second.post(create, bearer="bob-token").message["result"]["isError"] is False
        (served.folder / "first.go").touch()
        assert first.read().status == 200
        assert second.post(create, bearer="alice-token").message["result"]["isError"] is False


def test_requests_too_often_are_refused_for_that_principal_alone(serving: Start) -> None:
    served = serving(auth="issued", http={"calls_per_second": 0.001, "call_burst": 2})
    body = call(1, "notes_read", {"workspaceUri": URI, "path": "a"})
    with served.connect() as raw:
        alice = [raw.post(body, bearer="alice-token").message["result"]["isError"] for _ in range(4)]
        assert alice == [False, False, True, True]
        assert line_of(raw.post(body, bearer="alice-token")).startswith("limit: ")
        assert raw.post(body, bearer="bob-token").message["result"]["isError"] is False
        create = call(2, "notes_create", {"workspaceUri": URI, "path": "often.md", "content": "x"})
        assert line_of(raw.post(create, bearer="alice-token")).startswith("limit: ")
        assert not (served.folder / "often.md").exists()


NOTIFICATION: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/x"}


@pytest.mark.parametrize(
    ("body", "fields", "good"),
    [
        (ping(), {}, 200),
        (request(1, "tools/list"), {}, 200),
        (request(1, "nothing"), {}, 404),
        (NOTIFICATION, {}, 202),
        (NOTIFICATION, {"Mcp-Method": "tools/call"}, 202),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, {}, 400),
        (b"{", {}, 400),
        (b"{", {"Mcp-Method": "tools/call"}, 400),
        (call(1, "notes_read", {"path": "x" * 65_536}), {}, 200),
    ],
    ids=lambda value: str(value)[:40],
)
def test_every_request_is_counted_whatever_it_is(
    strict: Served, body: dict[str, Any] | bytes, fields: dict[str, str | None], good: int
) -> None:
    """What is no call of a tool, or a long one, is refused by its status."""
    alice, bob = (f"{who}{next(NUMBERS)}-token" for who in ("alice", "bob"))
    for status, least in ((good, 0), (429, 900)):
        with strict.connect() as raw:
            answer = raw.post(body, fields, bearer=alice)
            assert (answer.status, int(answer.field("retry-after") or 0) >= least) == (status, True)
    with strict.connect() as raw:
        assert raw.post(body, fields, bearer=bob).status == good


NUMBERS = count()


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of which each principal may ask one thing."""
    served = serve(
        tmp_path_factory.mktemp("strict"),
        auth="issued",
        max_message_bytes=1_048_576,
        http={"calls_per_second": 0.001, "call_burst": 1},
    )
    yield served
    stop(served)


def test_without_authentication_calls_come_as_often_as_they_come(plain: Served) -> None:
    body = call(1, "notes_read", {"workspaceUri": URI, "path": "a"})
    with plain.connect() as raw:
        results = [raw.post(body).message["result"]["isError"] for _ in range(300)]
    assert results == [False] * 300


def test_changes_that_come_too_often_are_in_the_log_once_a_second(serving: Start, tmp_path: Path) -> None:
    notes = tmp_path / "Notes"
    notes.mkdir()
    (notes / "a.md").write_text("text")
    config = tmp_path / "fsnotes.toml"
    config.write_text(
        f'[[workspace]]\nname = "notes"\npath = "{notes}"\n'
        '[[grant]]\nprincipal = "token:alice"\nworkspace = "notes"\nallow = ["read", "write"]\n'
    )
    http = {"calls_per_second": 0.001, "call_burst": 1}
    served = serving(auth="plain", config=str(config), http=http)
    uri = notes.as_uri()
    with served.connect() as raw:
        answers = [
            raw.post(call(id_, tool, {"workspaceUri": uri, "path": path, **more}), bearer="alice-token")
            for id_, (tool, path, more) in enumerate(
                [
                    *[("notes_create", f"n{number}", {"content": "x"}) for number in range(20)],
                    ("notes_append", "a", {"text": "y"}),
                    ("notes_read", "a", {}),
                ]
            )
        ]
    errors = [answer.message["result"]["isError"] for answer in answers]
    assert errors == [False, *[True] * 21]
    assert sorted(file.name for file in notes.glob("*.md")) == ["a.md", "n0.md"]
    log = (tmp_path / "state/private/audit.jsonl").read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    found = [(line["principal"], line["tool"], line["workspace"], line["outcome"]) for line in lines]
    assert found[0] == ("token:alice", "notes_create", "notes", "created")
    assert found[1] == ("token:alice", "notes_create", uri, "limit")
    assert found[-1] == ("token:alice", "notes_append", uri, "limit")
    assert len(found) < 8  # on a host so slow that the twenty take some seconds, there are some more
    assert {line[1] for line in found} == {"notes_create", "notes_append"}
