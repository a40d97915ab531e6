"""Notes of every shape, for properties: with and without a mark, a block, line ends of each kind, a last line end."""

from __future__ import annotations

from hypothesis import strategies as st

BOM = b"\xef\xbb\xbf"

LINE_ENDS = [b"\n", b"\r\n", b"\r"]

_LINES = [
    "", "", "", " ", "\t", "text", "more text", "# One", "## Two", "### Three", "# One #", "Setext", "===", "---",
    "- item", "  - inner", "1. first", "> quote", "```", "````", "~~~", "    code", "    # no heading", "<div>",
    "</div>", "Cafe\u0301", "Caf\u00e9", "日本語", "\U0001f469\u200d\U0001f4bb", "$& \\1 $$ ${x}", "a" * 30, "aaaa",
    "ab ab ab", "\ufeff", "\x0b\x0c", "\u2028", "\x85", "[a](/u)", "**b** [[link]] #tag",
]  # fmt: skip
_BLOCKS = ["", "---\nkey: value\n---", "---\n---", "---\nunclosed: yes", "---\na: 1\n..."]

lines = st.sampled_from(_LINES)


def _note(block: str, body: list[str], ends: list[bytes], *, bom: bytes, last: bytes) -> bytes:
    pieces = [*block.split("\n"), *body] if block else body
    made = bom
    for number, piece in enumerate(pieces):
        made += piece.encode() + (ends[number % len(ends)] if number < len(pieces) - 1 else last)
    return made


notes = st.builds(
    _note,
    st.sampled_from(_BLOCKS),
    st.lists(lines, max_size=14),
    st.sampled_from([[end] for end in LINE_ENDS])
    | st.lists(st.sampled_from(LINE_ENDS), min_size=2, max_size=5),
    bom=st.sampled_from([b"", BOM]),
    last=st.sampled_from([b"", *LINE_ENDS]),
)
"""Bytes that are UTF-8 text."""

texts = st.lists(lines, min_size=1, max_size=5).flatmap(
    lambda pieces: st.sampled_from(["\n", "\r\n", "\r"]).map(lambda end: end.join(pieces))
)
"""What a caller may write, with or without a line end at its end."""


def lf(data: bytes) -> bytes:
    """Every line end as LF, the slow way."""
    made = bytearray()
    position = 0
    while position < len(data):
        if data[position : position + 2] == b"\r\n":
            position += 1
        made += b"\n" if data[position] in b"\r\n" else data[position : position + 1]
        position += 1
    return bytes(made)


def offsets(data: bytes) -> list[int]:
    """Where each byte of `lf(data)` begins in *data*, and where that ends."""
    found = []
    position = 0
    while position < len(data):
        found.append(position)
        position += 2 if data[position : position + 2] == b"\r\n" else 1
    return [*found, position]
