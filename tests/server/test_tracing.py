"""Spans: one for each call of a tool, beneath the one that the request names, and none that tells of notes."""

from __future__ import annotations

import asyncio
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from fsnotes.access import Principal
from fsnotes.server.calling import Asked, Caller
from fsnotes.server.envelope import Envelope
from fsnotes.server.flights import Flight
from fsnotes.server.frames import Request
from fsnotes.server.front import Front
from fsnotes.server.kernel import Kernel
from fsnotes.server.tool import Echo
from fsnotes.server.tracing import Tracing, tracing_from
from tests.server.http.conftest import Served, serving  # noqa: F401 - a fixture
from tests.server.http.raw import posted
from tests.server.scripted import ScriptedService
from tests.server.wire import FORMS, ROOT, Wire, call, envelope

TRACE, PARENT = "a" * 32, "b" * 16
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
CANARY = "CANARY-5b1f"


class Named(ScriptedService):
    """A scripted service of which one workspace is known."""

    def name_of(self, call: Any, workspace_uri: str) -> str | None:
        return "notes" if workspace_uri == "file:///x" else None


async def traced(
    folder: Path, tool: str, arguments: dict[str, Any], *, refused: bool = False, **meta: Any
) -> tuple[ReadableSpan, Flight]:
    """Call *tool* with the front and everything behind it, and return the one span."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    service = cast("Any", Named(folder))
    caller = Caller(service, read_only=False, max_calls=4, tracing=Tracing(provider))
    front = Front(caller, partial(Kernel, caller), read_only=False)
    flight = Flight(Principal(f"token:{CANARY}"))
    if refused:
        from fsnotes.errors import LimitReached

        flight.refusal = LimitReached("calls per second")
    params = call(1, tool, arguments, meta=envelope(**meta))["params"]
    await front.answer(Request(1, "tools/call", params), flight)
    front.close()
    (span,) = exporter.get_finished_spans()
    return span, flight


# The second one has a member that the SDK judges, so it takes the other way to the same tool.
WAYS = pytest.mark.parametrize("more", [{}, {"x-other": 1}], ids=["plain", "kernel"])


@WAYS
def test_a_call_is_one_span_beneath_the_one_that_the_request_names(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    arguments = {"workspaceUri": "file:///x", "path": f"{CANARY}/{CANARY}"}
    span, flight = asyncio.run(
        traced(tmp_path, "notes_read", arguments, traceparent=TRACEPARENT, tracestate="x=1", **more)
    )
    assert span.parent is not None
    assert (f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, PARENT)
    assert span.context.trace_state.to_header() == "x=1"
    assert (span.name, span.kind, span.status.status_code) == (
        "tools/call notes_read",
        SpanKind.SERVER,
        StatusCode.UNSET,
    )
    assert span.attributes == {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2026-07-28",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "notes_read",
        "fsnotes.workspace": "notes",
        "fsnotes.outcome": "complete",
    }
    assert CANARY not in span.to_json()
    assert (flight.tool, flight.outcome, flight.trace_id) == ("notes_read", "complete", TRACE)


@WAYS
@pytest.mark.parametrize(
    ("tool", "arguments", "capabilities", "outcome"),
    [
        ("notes_read", {"workspaceUri": "file:///x", "path": f"forbidden/{CANARY}"}, FORMS, "not_allowed"),
        ("notes_read", {"workspaceUri": "file:///x", "path": f"crash/{CANARY}"}, FORMS, "crash"),
        ("notes_read", {"workspaceUri": "file:///x", CANARY: CANARY}, FORMS, "invalid_argument"),
        ("notes_delete", {"workspaceUri": "file:///x", "title": CANARY}, {}, "-32021"),
    ],
)
def test_what_fails_is_a_span_with_the_slug_or_the_code_and_nothing_else(
    tmp_path: Path,
    tool: str,
    arguments: dict[str, Any],
    capabilities: Any,
    outcome: str,
    more: dict[str, Any],
) -> None:
    span, flight = asyncio.run(traced(tmp_path, tool, arguments, capabilities=capabilities, **more))
    assert span.attributes is not None
    assert span.attributes["fsnotes.outcome"] == span.attributes["error.type"] == flight.outcome == outcome
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
    assert (span.parent, list(span.events)) == (None, [])
    assert CANARY not in span.to_json()


def test_a_second_call_of_one_flight_has_an_outcome_of_its_own(tmp_path: Path) -> None:
    """As where an older client is asked in between."""
    caller = Caller(cast("Any", Named(tmp_path)), read_only=False, max_calls=4)
    flight = Flight(Principal("p"))

    async def both() -> list[str | None]:
        outcomes = []
        for path in ("forbidden/a", "a/b"):
            asked = Asked(1, Envelope("2026-07-28", {}, None), Echo(), flight)
            await caller.call("notes_read", {"workspaceUri": "file:///x", "path": path}, asked)
            outcomes.append(flight.outcome)
        return outcomes

    assert asyncio.run(both()) == ["not_allowed", "complete"]
    caller.close()


def test_a_form_is_no_failure_and_a_call_too_many_is_one(tmp_path: Path) -> None:
    arguments = {"workspaceUri": "file:///y", "title": "a"}
    span, _ = asyncio.run(traced(tmp_path, "notes_delete", arguments))
    assert span.attributes is not None
    assert span.attributes["fsnotes.outcome"] == "input_required"
    assert (span.status.status_code, "fsnotes.workspace" in span.attributes) == (StatusCode.UNSET, False)
    span, _ = asyncio.run(traced(tmp_path, "notes_delete", arguments, refused=True))
    assert span.attributes is not None
    assert span.attributes["fsnotes.outcome"] == "limit"


class Collector(http.server.BaseHTTPRequestHandler):
    """Keeps what is sent to it."""

    bodies: list[bytes]

    def do_POST(self) -> None:
        self.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def collecting() -> Iterator[tuple[str, list[bytes]]]:
    """A collector on loopback: its address, and what it is sent."""
    kind = type("Keeping", (Collector,), {"bodies": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", kind.bodies
        server.shutdown()
        thread.join()


def spans_of(bodies: list[bytes]) -> list[Any]:
    """The spans that a collector was sent."""
    resources = [ExportTraceServiceRequest.FromString(body).resource_spans for body in bodies]
    return [span for each in resources for one in each for scope in one.scope_spans for span in scope.spans]


def outcomes_of(bodies: list[bytes]) -> list[str]:
    """What came out of the calls of which a collector was told."""
    told = [{key.key: key.value.string_value for key in span.attributes} for span in spans_of(bodies)]
    return [each["fsnotes.outcome"] for each in told]


def serve(home: Path, **environ: str) -> tuple[bytes, bytes]:
    """Serve a folder on stdio for two calls, and return both streams."""
    notes = home / "Notes"
    notes.mkdir(exist_ok=True)
    (notes / f"{CANARY}.md").write_text(f"# {CANARY}\n")
    arguments = {"workspaceUri": notes.as_uri(), "path": CANARY}
    frames = [
        call(1, "notes_read", arguments, meta=envelope(traceparent=TRACEPARENT)),
        call(2, "notes_read", {**arguments, "path": f"{CANARY}-none"}),
    ]

    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "fsnotes", "serve", str(notes), "--jail", "off"],
        input=b"".join(json.dumps(frame).encode() + b"\n" for frame in frames),
        capture_output=True,
        env={"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environ},
        timeout=30,
        check=True,
    )
    assert len(done.stdout.splitlines()) == 2
    return done.stdout, done.stderr


def test_nothing_of_it_is_loaded_where_nothing_is_configured(tmp_path: Path) -> None:
    for environ in (
        {},
        {"OTEL_SERVICE_NAME": "x"},
        {"OTEL_SDK_DISABLED": "true", **at("http://127.0.0.1:9")},
    ):
        _, log = serve(tmp_path, **environ)
        assert b"fsnotes.server.tracing" in log
        assert b"opentelemetry" not in log


def at(address: str) -> dict[str, str]:
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": address}


def test_a_collector_that_the_environment_names_is_sent_the_spans_before_the_end(tmp_path: Path) -> None:
    with collecting() as (address, bodies):
        serve(tmp_path, **at(address))
        assert bodies != []
    assert all(CANARY.encode() not in body and str(tmp_path).encode() not in body for body in bodies)
    resources = [ExportTraceServiceRequest.FromString(body).resource_spans for body in bodies]
    spans = spans_of(bodies)
    told = {key.key: key.value.string_value for each in resources for key in each[0].resource.attributes}
    assert told["service.name"] == "fsnotes"
    assert sorted(outcomes_of(bodies)) == ["complete", "not_found"]
    assert [span.parent_span_id.hex() for span in spans if span.trace_id.hex() == TRACE] == [PARENT]


@pytest.mark.parametrize("signals", [1, 2], ids=["in time", "at once"])
def test_the_spans_of_an_end_that_waits_for_nobody_are_sent_and_those_of_calls_left_behind_are_among_them(
    serving: Callable[..., Served],  # noqa: F811 - a fixture
    signals: int,
) -> None:
    with collecting() as (address, bodies):
        served = serving(environ=at(address), http={"drain_seconds": 0.3 if signals == 1 else 60})
        with served.connect() as raw, served.connect() as stuck:
            read = {"workspaceUri": "file:///x", "path": "a"}
            assert raw.call("notes_read", read).status == 200
            stuck.send(posted(call(1, "notes_read", {**read, "path": "wait/stuck"}), port=served.port))
            served.await_file("stuck.begun")
            for _ in range(signals):
                served.process.terminate()
                time.sleep(0.1)
            assert served.end()[0] == 0
    assert sorted(outcomes_of(bodies)) == ["cancelled", "complete"]


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "no address"])
def test_a_collector_that_is_not_there_costs_a_moment_at_the_end_and_no_answer(
    tmp_path: Path, address: str
) -> None:
    answers, _ = serve(tmp_path, **at(address))
    assert answers.count(b'"result"') == 2


@pytest.mark.parametrize(
    "more", [{"OTEL_TRACES_EXPORTER": "zipkin"}, {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}]
)
def test_another_way_to_send_is_named_and_not_tried(
    more: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    assert tracing_from({**at("http://127.0.0.1:9"), **more}) is None
    assert [record.getMessage() for record in caplog.records] == [
        "nothing is traced: only OTLP by http/protobuf is there"
    ]


@pytest.mark.parametrize("environ", [{}, {"OTEL_TRACES_EXPORTER": "none", **at("http://127.0.0.1:9")}])
def test_who_asks_for_nothing_gets_nothing(environ: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    assert (tracing_from(environ), caplog.records) == (None, [])


def test_without_the_extra_one_line_says_so_and_notes_are_served(tmp_path: Path) -> None:
    packages = tmp_path / "first"
    (packages / "opentelemetry").mkdir(parents=True)
    (packages / "opentelemetry/__init__.py").write_text("raise ImportError('none', name='opentelemetry')")
    environ = {**at("http://127.0.0.1:9"), "PYTHONPATH": os.pathsep.join((str(packages), str(ROOT)))}
    answers, log = serve(tmp_path, **environ)
    assert answers.count(b'"result"') == 2
    assert re.findall(rb"fsnotes: WARNING \S+ (nothing is traced: .*)", log) == [
        b"nothing is traced: opentelemetry is not installed (pip install 'fsnotes[otel]')"
    ]


def test_a_provider_that_a_program_has_set_is_used(tmp_path: Path) -> None:
    """As with `opentelemetry-instrument`, which sets one before the server's first line."""
    (tmp_path / "set_first.py").write_text(
        "import sys\n"
        "from opentelemetry import trace\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor\n"
        "provider = TracerProvider()\n"
        "provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=sys.stderr)))\n"
        "trace.set_tracer_provider(provider)\n"
        "from fsnotes.cli import main\n"
        "sys.exit(main(['serve', *sys.argv[1:]]))\n"
    )
    (tmp_path / "Notes").mkdir()
    with Wire(
        [sys.executable, str(tmp_path / "set_first.py"), str(tmp_path / "Notes"), "--jail", "off"],
        home=tmp_path,
    ) as wire:
        assert wire.result("notes_workspaces")["isError"] is False
        wire.end_input()
        assert wire.wait() == 0
        assert b'"name": "tools/call notes_workspaces"' in wire.log()
