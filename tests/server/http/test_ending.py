"""How the server ends: what is under way is answered, what comes later is told to go elsewhere."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest

from tests.server.http.conftest import Served
from tests.server.http.raw import ping, posted
from tests.server.wire import call

Start = Callable[..., Served]
LATE = 5.0


def wait_call(name: str) -> dict[str, object]:
    return call(1, "notes_read", {"workspaceUri": "file:///x", "path": f"wait/{name}"})


def asked(served: Served, path: str) -> int:
    with served.connect() as raw:
        return raw.get(path).status


def await_draining(served: Served) -> None:
    end = time.monotonic() + LATE
    while asked(served, "/readyz") != 503:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize(("signalled", "code"), [("SIGTERM", 0), ("SIGINT", 130)])
def test_a_server_on_which_nothing_is_under_way_ends_at_once(
    serving: Start, signalled: str, code: int
) -> None:
    served = serving()
    with served.connect() as idle:
        assert idle.post(ping()).status == 200
        begun = time.monotonic()
        served.process.send_signal(signal.Signals[signalled])
        assert idle.is_closed()
    assert served.end() == (code, b"")
    assert time.monotonic() - begun < LATE


def test_what_is_under_way_is_answered_and_what_comes_later_is_refused(serving: Start) -> None:
    served = serving()
    with served.connect() as working, served.connect() as other:
        working.send(posted(wait_call("last"), port=served.port))
        served.await_file("last.begun")
        served.process.terminate()
        await_draining(served)
        assert asked(served, "/healthz") == 200
        answer = other.post(ping())
        assert (answer.status, answer.field("retry-after")) == (503, "1")
        with served.connect() as new:
            create = call(1, "notes_create", {"workspaceUri": "file:///x", "path": "late.md", "content": "x"})
            assert new.post(create).status == 503
        (served.folder / "last.go").touch()
        assert working.read().message["result"]["isError"] is False
    assert served.end() == (0, b"")
    assert not (served.folder / "late.md").exists()
    with pytest.raises(ConnectionRefusedError):
        served.connect()


def test_what_does_not_end_in_time_is_left_behind(serving: Start) -> None:
    served = serving(http={"drain_seconds": 0.3})
    with served.connect() as working:
        working.send(posted(wait_call("stuck"), port=served.port))
        served.await_file("stuck.begun")
        begun = time.monotonic()
        served.process.terminate()
        code, _ = served.end()
        assert (code, time.monotonic() - begun < LATE) == (0, True)
        with pytest.raises((EOFError, ConnectionResetError)):
            working.read()


def test_a_second_signal_ends_it_at_once(serving: Start) -> None:
    served = serving(http={"drain_seconds": 60})
    with served.connect() as working:
        working.send(posted(wait_call("stuck"), port=served.port))
        served.await_file("stuck.begun")
        served.process.terminate()
        await_draining(served)
        served.process.terminate()
        assert served.end() == (0, b"")
