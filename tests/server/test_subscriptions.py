"""`subscriptions/listen` on both transports: acknowledged first, told in time, answered at its end."""

from __future__ import annotations

import asyncio
import json
import queue
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from fsnotes.access import Principal
from fsnotes.server.flights import Flight
from fsnotes.server.listening import MOST_OF_ONE, MOST_URIS, PAUSE_SECONDS, _Stream, is_plain_listen
from tests.server.conftest import Vault
from tests.server.http.conftest import Served, serving  # noqa: F401 - a fixture
from tests.server.http.raw import SECONDS, Raw, posted
from tests.server.test_resources import CONFIG, SIGNED
from tests.server.wire import VERSION, Frame, Wire, envelope, request

ID_KEY = "io.modelcontextprotocol/subscriptionId"
ODD = {"org.example/odd": 1}


def listen(id_: Any, *uris: str, lists: bool = False, meta: Any = None, **more: Any) -> Frame:
    wanted: dict[str, Any] = {"resourceSubscriptions": list(uris), **more}
    if lists:
        wanted["resourcesListChanged"] = True
    return request(id_, "subscriptions/listen", {"notifications": wanted}, meta=meta)


def notification(id_: Any, name: str, **params: Any) -> Frame:
    return {"jsonrpc": "2.0", "method": f"notifications/{name}", "params": {"_meta": {ID_KEY: id_}, **params}}


def acknowledged(id_: Any, *uris: str, lists: bool = False) -> Frame:
    honored: dict[str, Any] = {"resourcesListChanged": True} if lists else {}
    if uris:
        honored["resourceSubscriptions"] = list(uris)
    return notification(id_, "subscriptions/acknowledged", notifications=honored)


def updated(id_: Any, uri: str) -> Frame:
    return notification(id_, "resources/updated", uri=uri)


def completed(id_: Any) -> Frame:
    return {
        "jsonrpc": "2.0",
        "id": id_,
        "result": {"_meta": {ID_KEY: id_, **SIGNED}, "resultType": "complete"},
    }


def received(wire: Wire, seconds: float) -> list[Frame]:
    """The frames that come until nothing does for so long."""
    frames: list[Frame] = []
    with suppress(queue.Empty):
        while line := wire.receive_raw(seconds):
            frames.append(json.loads(line))
    return frames


def cancel(wire: Wire, *ids: Any) -> None:
    for id_ in ids:
        wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}})
    wire.assert_silent()


@pytest.mark.parametrize("meta", [None, {**envelope(), **ODD}], ids=["plainly", "by the SDK"])
def test_a_stream_is_acknowledged_told_and_ended_with_its_answer(vault: Vault, meta: Any) -> None:
    vault.write("a.md", "text")
    wire = vault.serve("--jail", "off")
    uri, later = f"{vault.uri}/a.md", f"{vault.uri}/later.md"
    asked = listen("s", uri, later, "file:///etc/passwd.md", lists=True, meta=meta, promptsListChanged=True)
    assert wire.ask(asked) == acknowledged("s", uri, later, lists=True)
    vault.write("a.md", "changed")
    assert [wire.receive(), wire.receive()] == [
        updated("s", uri),
        notification("s", "resources/list_changed"),
    ]
    changed = wire.call("notes_create", vault.args(path="later.md", content="x"))
    frames = [changed, wire.receive(), wire.receive()]
    told = [frame for frame in frames if "method" in frame]
    assert updated("s", later) in told
    wire.end_input()
    *_, last = [json.loads(line) for line in iter(wire.receive_raw, b"")]
    assert last == completed("s")
    assert wire.wait() == 0


@pytest.mark.parametrize("signalled", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_end_completes_every_stream(vault: Vault, signalled: signal.Signals) -> None:
    wire = vault.serve("--jail", "off")
    for id_ in (1, "two"):
        assert wire.ask(listen(id_, f"{vault.uri}/a.md")) == acknowledged(id_, f"{vault.uri}/a.md")
    begun = time.monotonic()
    wire.signal(signalled)
    frames = [json.loads(line) for line in iter(wire.receive_raw, b"")]
    assert sorted(frames, key=repr) == sorted([completed(1), completed("two")], key=repr)
    assert wire.wait() == (0 if signalled is signal.SIGTERM else 130)
    assert time.monotonic() - begun < 3


def test_a_stream_that_is_cancelled_is_told_nothing_more_and_never_answered(running: Vault) -> None:
    vault, wire = running, running.wire
    uri = f"{vault.uri}/a.md"
    for id_ in (1, 2):
        assert wire.ask(listen(id_, uri)) == acknowledged(id_, uri)
    cancel(wire, 1)
    vault.write("a.md", "text")
    assert wire.receive() == updated(2, uri)
    assert received(wire, PAUSE_SECONDS) == []
    assert wire.ask(listen(1, uri)) == acknowledged(1, uri)
    cancel(wire, 1, 2)


def test_what_changes_all_the_time_is_told_twice_a_second_and_last_of_all_at_its_end(running: Vault) -> None:
    vault, wire = running, running.wire
    uri = f"{vault.uri}/a.md"
    assert wire.ask(listen(1, uri)) == acknowledged(1, uri)
    begun = time.monotonic()
    for number in range(1_000):
        (vault.folder / "a.md").write_text(str(number))
    took = time.monotonic() - begun
    frames = received(wire, 2 * PAUSE_SECONDS)
    assert frames == [updated(1, uri)] * len(frames)
    assert 1 <= len(frames) <= 3 + took / PAUSE_SECONDS
    cancel(wire, 1)


def test_nothing_is_acknowledged_that_is_not_told_and_then_the_stream_ends(running: Vault) -> None:
    vault, wire = running, running.wire
    assert wire.ask(listen(1, "file:///elsewhere/a.md", toolsListChanged=True)) == acknowledged(1)
    assert wire.receive() == completed(1)
    many = [f"{vault.uri}/{number}.md" for number in range(MOST_URIS + 1)]
    answer = wire.ask(listen(2, *many, *many))
    assert answer["params"]["notifications"] == {"resourceSubscriptions": many[:MOST_URIS]}
    cancel(wire, 2)


def test_a_principal_has_so_many_streams_and_gets_a_place_back(running: Vault) -> None:
    vault, wire = running, running.wire
    uri = f"{vault.uri}/a.md"
    for id_ in range(MOST_OF_ONE):
        assert wire.ask(listen(id_, uri)) == acknowledged(id_, uri)
    refused = wire.ask(listen("more", uri))["error"]
    assert (refused["code"], refused["message"].partition(":")[0]) == (-32603, "limit")
    cancel(wire, 3)
    assert wire.ask(listen("more", uri)) == acknowledged("more", uri)
    cancel(wire, "more", *range(MOST_OF_ONE))


@pytest.mark.slow
def test_a_reader_that_is_behind_slows_nobody_and_loses_nothing(vault: Vault) -> None:
    """While the client reads nothing more is told than there is room for, and each change arrives at last."""
    wire = Wire.serve(vault.folder, state=vault.state, options=("--jail", "off"))
    vault.own.append(wire)
    names = ["\u65e5" * 80 + f"{number}.md" for number in range(MOST_URIS)]
    uris = [(vault.folder / name).as_uri() for name in names]
    streams = range(12)
    for id_ in streams:
        wire.send(listen(id_, *uris))
    for turn in range(5):
        for name in names:
            (vault.folder / name).write_text(str(turn))
        time.sleep(2 * PAUSE_SECONDS)
    assert memory_of(wire) < 120_000_000
    wire.read()
    last = time.monotonic()
    for name in names:
        (vault.folder / name).write_text("last")
    wanted, read = {(id_, uri) for id_ in streams for uri in uris}, 0
    counts: dict[tuple[Any, str], int] = {}
    while time.monotonic() - last < SECONDS and (frames := received(wire, 3 * PAUSE_SECONDS)):
        for frame in frames:
            read += len(json.dumps(frame))
            if frame["method"] == "notifications/resources/updated":
                told = frame["params"]["_meta"][ID_KEY], frame["params"]["uri"]
                counts[told] = counts.get(told, 0) + 1
    assert counts.keys() == wanted
    assert max(counts.values()) <= 7
    assert wire.process.poll() is None


def memory_of(wire: Wire) -> int:
    """How many bytes of memory the server holds."""
    return 1024 * int(Path(f"/proc/{wire.process.pid}/status").read_text().partition("VmRSS:")[2].split()[0])


@pytest.mark.parametrize(
    "notifications",
    [None, [], {"resourceSubscriptions": "x"}, {"resourceSubscriptions": [5]}, {"toolsListChanged": {}}],
    ids=str,
)
def test_a_filter_that_is_none_is_refused(running: Vault, notifications: Any) -> None:
    frame = request(1, "subscriptions/listen", {"notifications": notifications})
    assert not is_plain_listen(frame["params"])
    assert running.wire.ask(frame)["error"]["code"] == -32602


# -- over HTTP -----------------------------------------------------------------------------------------


def configured(folder: Path, config: Path) -> dict[str, Any]:
    for path in ("private.md", "shared/a.md"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)
    config.write_text(CONFIG.format(folder=folder))
    return {"config": str(config), "auth": "issued"}


def begin(raw: Raw, frame: Frame | bytes, bearer: str, **fields: str | None) -> None:
    raw.send(posted(frame, {**fields}, port=raw.port, bearer=f"{bearer}-token"))
    status, heads = raw.head()
    assert (status, ("content-type", "text/event-stream") in heads) == (200, True)


def event(raw: Raw) -> Frame:
    found: Frame = json.loads(raw.chunk().partition(b"data: ")[2])
    return found


def test_two_principals_over_http_hear_of_what_each_may_read(
    serving: Callable[..., Served],  # noqa: F811 - a fixture
    tmp_path: Path,
) -> None:
    folder = tmp_path / "Notes"
    served = serving(**configured(folder, tmp_path / "config.toml"))
    private, shared = f"{folder.as_uri()}/private.md", f"{folder.as_uri()}/shared/a.md"
    with served.connect() as alice, served.connect() as bob:
        begin(alice, listen(1, private, shared), "alice")
        begin(bob, listen(1, private, shared, lists=True), "bob")
        assert event(alice) == acknowledged(1, private, shared)
        assert event(bob) == acknowledged(1, shared, lists=True)
        for turn in range(2):
            (folder / "private.md").write_text(f"changed {turn}")
            assert event(alice) == updated(1, private)
            (folder / "shared/a.md").write_text(f"changed {turn}")
            assert event(alice) == updated(1, shared)
            assert [event(bob), event(bob)] == [updated(1, shared), notification(1, "resources/list_changed")]
            time.sleep(PAUSE_SECONDS)
        served.process.terminate()
        for raw in (alice, bob):
            assert event(raw) == completed(1)
            assert raw.chunk() == b""
        assert served.end()[0] == 0


def test_who_hangs_up_or_is_known_no_more_ends_the_stream(
    serving: Callable[..., Served],  # noqa: F811 - a fixture
    tmp_path: Path,
) -> None:
    folder = tmp_path / "Notes"
    served = serving(**configured(folder, tmp_path / "config.toml"), http={"max_calls_per_principal": 1})
    shared = f"{folder.as_uri()}/shared/a.md"
    for turn in range(MOST_OF_ONE + 4):
        with served.connect() as raw:
            begin(raw, listen(turn, shared), "bob")
            assert event(raw) == acknowledged(turn, shared)
        # It takes a moment until a server that has much to do sees that somebody has gone.
        time.sleep(0.1)
    with served.connect() as raw:
        begin(raw, listen(1, shared), "bob")
        assert event(raw) == acknowledged(1, shared)
        (tmp_path / "revoked").touch()
        (folder / "shared/a.md").write_text("changed")
        assert event(raw) == completed(1)


def test_a_stream_needs_a_client_that_takes_events(
    serving: Callable[..., Served],  # noqa: F811 - a fixture
    tmp_path: Path,
) -> None:
    served = serving(**configured(tmp_path / "Notes", tmp_path / "config.toml"))
    with served.connect() as raw:
        raw.send(posted(listen(1), {"Accept": "application/json"}, port=raw.port, bearer="bob-token"))
        assert raw.read().status == 406
    with served.connect() as raw:
        begin(raw, listen(1, "file:///elsewhere/a.md"), "bob")
        assert [event(raw), event(raw), raw.chunk()] == [acknowledged(1), completed(1), b""]


def test_streams_take_up_no_place_of_a_request_nor_room_for_a_body(
    serving: Callable[..., Served],  # noqa: F811 - a fixture
    tmp_path: Path,
) -> None:
    folder = tmp_path / "Notes"
    served = serving(**configured(folder, tmp_path / "config.toml"), http={"max_requests": 4})
    shared = f"{folder.as_uri()}/shared/a.md"
    with ExitStack() as streams:
        for turn in range(6):
            raw = streams.enter_context(served.connect())
            padded = json.dumps(listen(turn, shared)).encode() + b" " * 30_000
            begin(
                raw, padded, "bob", **{"Mcp-Method": "subscriptions/listen", "MCP-Protocol-Version": VERSION}
            )
            assert event(raw) == acknowledged(turn, shared)
        for caller in ("alice", "bob"):
            with served.connect() as other:
                other.send(posted(request(1, "resources/list"), port=served.port, bearer=f"{caller}-token"))
                assert other.read().status == 200
        served.process.terminate()
        assert served.end()[0] == 0


def test_a_stream_that_was_given_up_before_it_began_is_over() -> None:
    async def begun() -> bool:
        flight = Flight(Principal("local:me"))
        flight.abandoned = True
        return _Stream(flight, 1)._over.is_set()

    assert asyncio.run(begun())
