"""Decides whether calls of tools are traced, and what a span tells: never a path, a text, or whose call it was.

Nothing of OpenTelemetry is loaded unless its own environment asks for it, or a program that runs this server has set
a provider before.
Sources: OpenTelemetry's "Environment Variable Specification" and "OTLP Exporter Configuration"; its semantic
conventions for MCP, for the names.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import fsnotes
from fsnotes.server.envelope import Envelope

if TYPE_CHECKING:
    from opentelemetry.trace import Span as ApiSpan
    from opentelemetry.trace import TracerProvider

logger = logging.getLogger(__name__)

CRASHED: Final = "crash"
"""The outcome of a call that met a fault of ours."""

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
PROTOCOL: Final = "http/protobuf"
EXPORTERS: Final = ("", "otlp")

FLUSH_SECONDS: Final = 0.4
"""How long the end waits for spans to be sent: a server on stdio has half a second for all of it."""

_GOOD: Final = ("complete", "input_required")


class Span:
    """The span of one call under way."""

    __slots__ = ("_open", "_span")

    def __init__(self, span: ApiSpan, open_: set[Span]) -> None:
        self._span = span
        self._open = open_
        open_.add(self)

    def end(self, outcome: str | None) -> None:
        """End it with the *outcome* of the call: a type of result, a slug or a code; None where it was cut short.

        A second time does nothing.
        """
        if self not in self._open:
            return
        self._open.discard(self)
        from opentelemetry.trace import StatusCode

        told = outcome or "cancelled"
        self._span.set_attribute("fsnotes.outcome", told)
        if told not in _GOOD:
            self._span.set_attribute("error.type", told)
            self._span.set_status(StatusCode.ERROR)
        self._span.end()


class Tracing:
    """Makes a span for each call of a tool, with the parent that the request names. For the event loop alone."""

    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer("fsnotes", fsnotes.__version__)
        self._propagator = TraceContextTextMapPropagator()
        self._open: set[Span] = set()

    def begin(self, tool: str, workspace: str | None, envelope: Envelope) -> Span:
        """Begin the span of a call of *tool*."""
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind

        carried = {"traceparent": envelope.traceparent, "tracestate": envelope.tracestate}
        given = {name: value for name, value in carried.items() if value is not None}
        attributes = {
            "mcp.method.name": "tools/call",
            "mcp.protocol.version": envelope.version,
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
        }
        if workspace is not None:
            attributes["fsnotes.workspace"] = workspace
        parent = self._propagator.extract(given, Context())
        return Span(
            self._tracer.start_span(
                f"tools/call {tool}", context=parent, kind=SpanKind.SERVER, attributes=attributes
            ),
            self._open,
        )

    def close(self) -> None:
        """End the spans of calls that are left behind, have all sent, and wait for it, for FLUSH_SECONDS at most.

        A collector that is gone holds nothing up.
        """
        for span in tuple(self._open):
            span.end(None)
        flush: Callable[[], Any] | None = getattr(self._provider, "force_flush", None)
        if flush is not None:
            sending = threading.Thread(target=flush, name="fsnotes-spans", daemon=True)
            try:
                sending.start()
            except RuntimeError:
                return  # the host has no thread to give
            sending.join(FLUSH_SECONDS)


def tracing_from(environ: Mapping[str, str]) -> Tracing | None:
    """Return what traces calls, None where nobody asks for it: no provider is set, and *environ* names no endpoint.

    What is asked for and cannot be had is told in the log, and nothing is traced: notes are served all the same.
    """
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    provider = _provider_that_is_set()
    if provider is None and any(environ.get(name) for name in ENDPOINTS):
        provider = _exporting(environ)
    return None if provider is None else Tracing(provider)


def _provider_that_is_set() -> TracerProvider | None:
    """Return the provider that was set in this process; None where there can be none, as nobody has loaded the API."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry import trace

    provider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider) else provider


def _exporting(environ: Mapping[str, str]) -> TracerProvider | None:
    """Return a provider that sends spans as *environ* says, None where it says not to, or to do so in another way."""
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip()
    protocol = next((environ[name].strip() for name in PROTOCOLS if environ.get(name)), PROTOCOL)
    if exporter == "none":
        return None
    if exporter not in EXPORTERS or protocol != PROTOCOL:
        logger.warning("nothing is traced: only OTLP by %s is there", PROTOCOL)
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider as Provider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        resource = Resource.create()
        if str(resource.attributes.get("service.name", "")).startswith("unknown_service"):
            named = {"service.name": "fsnotes", "service.version": fsnotes.__version__}
            resource = resource.merge(Resource(named))
        provider = Provider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    except ImportError as error:
        logger.warning("nothing is traced: %s is not installed (pip install 'fsnotes[otel]')", error.name)
        return None
    except Exception as error:  # noqa: BLE001 - whatever its environment says wrong, notes are served
        logger.warning("nothing is traced: %s", type(error).__name__)
        return None
    return provider
