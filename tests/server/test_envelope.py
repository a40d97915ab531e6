"""Which revision a request names, and what it says its client can do."""

from __future__ import annotations

from typing import Any

import pytest

from fsnotes.server.envelope import Envelope, Refusal, open_envelope
from tests.server.wire import CAPABILITIES_KEY, VERSION, VERSION_KEY, envelope


def test_a_good_envelope_is_opened() -> None:
    parent = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    opened = open_envelope(
        "m", {"_meta": envelope({"elicitation": {}}, traceparent=parent, tracestate="x=1")}
    )
    assert opened == Envelope(VERSION, {"elicitation": {}}, parent, tracestate="x=1")
    assert isinstance(opened, Envelope)
    assert opened.trace_id == "a" * 32


@pytest.mark.parametrize("token", ["t", "", 7, 0, -1, "x" * 256])
def test_a_token_for_progress_is_a_text_or_a_number(token: Any) -> None:
    assert open_envelope("m", {"_meta": envelope({}, progressToken=token)}) == Envelope(
        VERSION, {}, None, token
    )


@pytest.mark.parametrize("token", [None, True, 1.5, [], {}, "x" * 257, 10**300])
def test_what_can_be_no_token_is_none(token: Any) -> None:
    assert open_envelope("m", {"_meta": envelope({}, progressToken=token)}) == Envelope(VERSION, {}, None)


@pytest.mark.parametrize("traceparent", ["", "00-xyz", 7, None, "00-" + "A" * 32 + "-" + "b" * 16 + "-01"])
def test_a_malformed_trace_is_no_trace(traceparent: Any) -> None:
    meta = envelope({}, traceparent=traceparent, tracestate="x=1")
    opened = open_envelope("m", {"_meta": meta})
    assert opened == Envelope(VERSION, {}, None)
    assert isinstance(opened, Envelope)
    assert opened.trace_id is None


@pytest.mark.parametrize("state", [7, None, "x=" + "1" * 511])
def test_a_state_of_a_trace_that_need_not_be_handed_on_is_dropped(state: Any) -> None:
    parent = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    meta = envelope({}, traceparent=parent, tracestate=state)
    assert open_envelope("m", {"_meta": meta}) == Envelope(VERSION, {}, parent)


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"_meta": None},
        {"_meta": []},
        {"_meta": {}},
        {"_meta": {CAPABILITIES_KEY: {}}},
        {"_meta": envelope(version=None)},
        {"_meta": envelope(version=20260728)},
        {"_meta": envelope(version=[VERSION])},
    ],
)
@pytest.mark.parametrize("method", ["server/discover", "no/such/method"])
def test_a_version_that_is_missing_or_no_string_is_invalid(method: str, params: Any) -> None:
    message = f"params._meta['{VERSION_KEY}'] must be a string"
    assert open_envelope(method, params) == Refusal(-32602, message)


@pytest.mark.parametrize("asked", ["2025-11-25", "2099-01-01", "", " 2026-07-28"])
@pytest.mark.parametrize("capabilities", [{}, None])
def test_another_version_is_unsupported_whatever_else_is_wrong(asked: str, capabilities: Any) -> None:
    data = {"supported": [VERSION], "requested": asked}
    refusal = Refusal(-32022, "Unsupported protocol version", data)
    assert open_envelope("m", {"_meta": envelope(capabilities, asked)}) == refusal


@pytest.mark.parametrize("capabilities", [None, [], "elicitation", 1, True])
def test_capabilities_must_be_an_object(capabilities: Any) -> None:
    message = f"params._meta['{CAPABILITIES_KEY}'] must be an object"
    assert open_envelope("m", {"_meta": envelope(capabilities)}) == Refusal(-32602, message)
    assert open_envelope("m", {"_meta": {VERSION_KEY: VERSION}}) == Refusal(-32602, message)


def test_an_older_client_is_told_what_is_supported_and_what_it_asked_for() -> None:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }
    data = {"supported": [VERSION], "requested": "2025-11-25"}
    refusal = Refusal(-32022, "Unsupported protocol version", data)
    assert open_envelope("initialize", params) == refusal
    assert open_envelope("initialize", {**params, "_meta": {"progressToken": 1}}) == refusal


@pytest.mark.parametrize("params", [None, {}, {"protocolVersion": 1}])
def test_an_older_client_that_names_no_version_is_invalid(params: Any) -> None:
    assert open_envelope("initialize", params) == Refusal(-32602, "params.protocolVersion must be a string")


def test_initialize_in_a_modern_envelope_is_judged_by_the_envelope() -> None:
    assert open_envelope("initialize", {"protocolVersion": "2025-11-25", "_meta": envelope({})}) == Envelope(
        VERSION, {}, None
    )
