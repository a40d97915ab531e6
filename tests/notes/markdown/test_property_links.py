"""Wikilinks in frontmatter, with the YAML parser as the oracle."""

from __future__ import annotations

import re
import time

import pytest
import ruamel.yaml
from hypothesis import assume, example, given, reject, settings
from hypothesis import strategies as st

from fsnotes.notes.markdown.links import Form
from fsnotes.notes.markdown.property_links import property_links


def found(block: str) -> list[tuple[str, str, str]]:
    """Return for each link what it is as a whole, what it leads to, and the quotation mark around it."""
    links = property_links(block, offset=5)
    for link in links:
        assert (link.form, link.external, link.label) == (Form.PROPERTY, False, None)
        assert link.path is not None
        assert block[link.path[0] - 5 : link.path[1] - 5] == link.raw
    return [(block[link.start - 5 : link.end - 5], link.target, link.quote) for link in links]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ('a: "[[b]]"\n', [("[[b]]", "b", '"')]),
        ("a: '[[b|c]]'", [("[[b|c]]", "b", "'")]),
        ('a: "![[b.png]] and [[c#d]]"', [("![[b.png]]", "b.png", '"'), ("[[c#d]]", "c", '"')]),
        ('a:\n  - "[[b]]"\n  - \'[[c]]\' # "[[n]]"\n', [("[[b]]", "b", '"'), ("[[c]]", "c", "'")]),
        (
            'a: ["[[b]]", \'[[c]]\', [["[[d]]"]]]',
            [("[[b]]", "b", '"'), ("[[c]]", "c", "'"), ("[[d]]", "d", '"')],
        ),
        ('a: {b: "[[c]]"}', [("[[c]]", "c", '"')]),
        ("a  : '[[b]]'", [("[[b]]", "b", "'")]),
        ("a: see [[b]] and [[c]]", [("[[b]]", "b", ""), ("[[c]]", "c", "")]),
        ("a: see\n  [[b]]\n\n  [[c]] # [[n]]\nd: e", [("[[b]]", "b", ""), ("[[c]]", "c", "")]),
        (
            "a: |\n  [[b]] # [[c]]\n\n  d: [[e]]\nf: [[n]]",
            [("[[b]]", "b", ""), ("[[c]]", "c", ""), ("[[e]]", "e", "")],
        ),
        ("a: >-\n\n   [[b]]\n  # [[n]]\n", [("[[b]]", "b", "")]),
        ("- a: |\n    [[b]]\n  c: '[[d]]'", [("[[b]]", "b", ""), ("[[d]]", "d", "'")]),
        ('a: "[[b\\"c]] [[d\\u00e4]]"', [('[[b\\"c]]', 'b"c', '"'), ("[[d\\u00e4]]", "d\u00e4", '"')]),
        ("a: '[[b''c]]'", [("[[b''c]]", "b'c", "'")]),
        ('a: &x "[[b]]"\nc: !!str "[[d]]"', [("[[b]]", "b", '"'), ("[[d]]", "d", '"')]),
        ('a: "x\n  [[b]]"\r\nc: "[[d]]"\r\n', [("[[b]]", "b", '"'), ("[[d]]", "d", '"')]),
        ("a: x#[[b]]", [("[[b]]", "b", "")]),
        ('a:\n  "[[b]]"\nc:\n  x [[d]]', [("[[b]]", "b", '"'), ("[[d]]", "d", "")]),
        ('# a\n\na: "[[b]]"', [("[[b]]", "b", '"')]),
    ],
)
def test_links_are_found_in_the_texts_of_properties(block: str, expected: list[tuple[str, str, str]]) -> None:
    assert found(block) == expected


@pytest.mark.parametrize(
    "block",
    [
        "a: [[b]]",
        "a:\n- [[b]]",
        "a: [[[b]]]",
        "a: {b: [[c]]}",
        '# "[[a]]"',
        "a: b # [[c]]",
        "a: '' # '[[b]]'",
        "a:\n  # [[b]]\n  c",
        '"[[a]]": b',
        "x [[a]]: b",
        "'[[a]]' : b",
        'a: {"[[b]]": c}',
        'a: "[[]]"',
        'a: "[[b]"',
        'a: "[b]"',
        "a: [\n  # '[[b]]'\n]",
        'a: "[[b',
        "",
        "a: b",
        '? "[[a]]"\n: b',
    ],
)
def test_this_holds_no_link_in_a_property(block: str) -> None:
    assert found(block) == []


_PIECES = [
    "k: ",
    "k2: ",
    "a",
    "[[x]]",
    "[[y|z]]",
    '"',
    "'",
    '"[[q]]"',
    "'[[s]]'",
    "- ",
    "\n",
    "\n",
    "\n  ",
    "\n    ",
    "\n- ",
    " # ",
    "#",
    "[",
    "]",
    "{k: ",
    "}",
    ", ",
    ": ",
    ":",
    "|\n  ",
    ">\n  ",
    "|-\n    ",
    "|2\n    ",
    "|1-\n  \n  ",
    ">+2\n      ",
    "&a ",
    "!t ",
    '\\"',
    "''",
    " ",
    "text [[w]] t",
    "b",
    '"k": ',
    "\n\n",
    "%",
]
_WIKILINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")


def _oracle(block: str) -> list[str]:
    yaml = ruamel.yaml.YAML(typ="base", pure=True)
    yaml.composer.warn_double_anchors = False
    try:
        root = yaml.compose(block)
    except Exception:  # noqa: BLE001 - whatever the parser trips over is no YAML
        reject()
    assume(isinstance(root, ruamel.yaml.nodes.MappingNode))
    texts: list[tuple[int, str]] = []

    def walk(node: ruamel.yaml.nodes.Node) -> None:
        match node:
            case ruamel.yaml.nodes.ScalarNode():
                texts.append((node.start_mark.index, node.value))
            case ruamel.yaml.nodes.SequenceNode():
                for item in node.value:
                    walk(item)
            case _:
                for key, value in node.value:
                    if not isinstance(key, ruamel.yaml.nodes.ScalarNode):
                        walk(key)
                    walk(value)

    walk(root)
    return [link[1] for _, text in sorted(texts) for link in _WIKILINK.finditer(text)]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from(_PIECES), min_size=1, max_size=13).map(lambda pieces: "k0: " + "".join(pieces))
)
@example("k0: \n\n- b|-\n    |-\n    [[x]]")
@example("k0: a\nb:\n\n&a k: |\n  [text [[w]] t\n  '")
@example("k0: |-\n    \n\n # #:{- [[w]]")
@example("k0: |2\n    deep\n  [[n]]")
@example("k0: |2\n    \n  [[n]]")
@example("k0:\n  k: >1-\n    deep\n   [[n]]")
@example("k0:\n- |2\n    deep\n  [[n]]")
@example("k0:\n- k: |2\n      deep\n    [[n]]")
def test_links_are_those_in_what_the_parser_reads(block: str) -> None:
    """Left out: a mapping in brackets with a key and no value, where ours is a value."""
    assume(not re.search(r"\{k: [^:]*, *[\"'\[]|\?(?:\s|\Z)", block))
    expected = _oracle(block)
    assert [
        link.target + ("" if link.alias is None else "|" + block[slice(*link.alias)])
        for link in property_links(block)
    ] == expected


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([*_PIECES, "? ", "\r\n", "\t", "*a"]), max_size=20).map("".join))
def test_any_block_is_read_to_its_end(block: str) -> None:
    for link in property_links(block):
        assert block[link.start : link.end].endswith("]]")


@pytest.mark.parametrize(
    "unit",
    [
        "[[a]] ",
        "'[[a]]' ",
        '"',
        "[",
        "{",
        "- ",
        "a: ",
        "a: |\n [[a]]\n",
        "- '[[a]]'\n",
        "[[",
        "#",
        " #",
        ":",
        " :",
        "&a ",
        "|",
        "\n",
        " ",
        "''",
        '\\"',
    ],
)
def test_a_block_takes_linear_time(unit: str) -> None:
    def seconds(size: int) -> float:
        block = "a: x [[a]] " + unit * (size // len(unit))
        best = 60.0
        for _ in range(3):
            started = time.process_time()
            property_links(block)
            best = min(best, time.process_time() - started)
        return best

    small, large = seconds(16_000), seconds(64_000)
    assert large < 0.005 or large / small < 9
