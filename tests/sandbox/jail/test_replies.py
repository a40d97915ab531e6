"""Replies: one shape of three with the right id, and everything else is refused."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.jail.channel import MAX_DEPTH, BadFrame
from sandbox.jail.replies import OUT_OF_MEMORY, Raised, read_reply

BODIES: dict[str, tuple[str, str]] = {
    "empty": ("", "JSON"),
    "no JSON": ("hello", "JSON"),
    "no UTF-8": ('{"id":\xff}', "JSON"),
    "half a character": ('{"id":7,"ok":{"a":"\\ud800"}}', "JSON"),
    "not a number": ('{"id":7,"ok":{"a":NaN}}', "JSON"),
    "an infinity": ('{"id":7,"ok":{"a":1e999}}', "JSON"),
    "an infinite id": ('{"id":1e999,"ok":{}}', "JSON"),
    "a huge id": ('{"id":' + "7" * 4_000 + ',"ok":{}}', "another request"),
    "a bomb of brackets": ("[" * 100_000, "JSON"),
    "too deep": ('{"id":7,"ok":' + '{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH + "}", "deep"),
    "a list": ("[1,2]", "no object"),
    "nothing": ("{}", "another request"),
    "no id": ('{"ok":{}}', "another request"),
    "an earlier id": ('{"id":6,"ok":{}}', "another request"),
    "the next id": ('{"id":8,"ok":{}}', "another request"),
    "an id as text": ('{"id":"7","ok":{}}', "another request"),
    "an id as fraction": ('{"id":7.0,"ok":{}}', "another request"),
    "an id as truth": ('{"id":true,"ok":{}}', "another request"),
    "nothing beside the id": ('{"id":7}', "is none"),
    "both result and error": ('{"id":7,"ok":{},"error":{"class":"E","fields":{}}}', "is none"),
    "a list as result": ('{"id":7,"ok":[]}', "is none"),
    "null as result": ('{"id":7,"ok":null}', "is none"),
    "an error without class": ('{"id":7,"error":{"fields":{}}}', "is none"),
    "an error with more": ('{"id":7,"error":{"class":"E","fields":{},"trace":""}}', "is none"),
    "an error of a strange class": ('{"id":7,"error":{"class":7,"fields":{}}}', "is none"),
    "an error of a long class": ('{"id":7,"error":{"class":"' + "E" * 300 + '","fields":{}}}', "is none"),
    "a text that is no UTF-8": ('{"id":7,"ok":{}}\0\xff', "JSON"),
    "two texts for one place": ('{"id":7,"ok":{},"text":"a"}\0a', "two texts"),
    "a text beside a text": ('{"id":7,"ok":{"text":""}}\0a', "is none"),
    "a text beside a limit": ('{"id":7,"limit":"memory"}\0a', "is none"),
    "a text beside an error": ('{"id":7,"error":{"class":"E","fields":{}}}\0a', "is none"),
    "a text beside nothing": ('{"id":7}\0a', "is none"),
    "a text beside more": ('{"id":7,"ok":{},"more":1}\0a', "is none"),
    "a number as text": ('{"id":7,"ok":{},"text":1}', "is none"),
    "null as text": ('{"id":7,"ok":{},"text":null}', "is none"),
    "another limit": ('{"id":7,"limit":"patience"}', "is none"),
}


@pytest.mark.parametrize("name", BODIES)
def test_anything_else_is_no_reply(name: str) -> None:
    body, why = BODIES[name]
    with pytest.raises(BadFrame) as caught:
        read_reply(body.encode("latin-1"), number=7)
    assert why in caught.value.fault


@pytest.mark.parametrize(
    ("body", "meaning"),
    [
        (b'{"id":7,"ok":{}}', {}),
        (b'{"ok":{"a":[1]},"id":7}', {"a": [1]}),
        (b'{"id":7,"ok":{"a":1}}\0text', {"a": 1, "text": "text"}),
        (b'{"id":7,"ok":{"text":1}}', {"text": 1}),
        (b'{"id":7,"ok":{"a":1.7e308,"b":-5e-324,"c":1e-999}}', {"a": 1.7e308, "b": -5e-324, "c": 0.0}),
        (b'{"id":7,"limit":"memory"}', OUT_OF_MEMORY),
        (b'{"id":7,"error":{"class":"m.E","fields":{"path":"a.md"}}}', Raised("m.E", {"path": "a.md"})),
    ],
)
def test_the_three_shapes_are_read(body: bytes, meaning: Any) -> None:
    assert read_reply(body, number=7) == meaning
