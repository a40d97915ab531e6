"""What another parser finds, in the same words as ours, and the texts that both are asked about.

The other parser is markdown-it-py. Its faults and its extensions are kept out of what is compared: each is a
named test beside the comparison.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from hypothesis import reject
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from fsnotes.notes.markdown.blocks import Blocks, Kind
from fsnotes.notes.markdown.decoding import unescaped
from fsnotes.notes.markdown.inlines import inlines
from fsnotes.notes.markdown.links import Form, Link
from fsnotes.notes.markdown.walk import blocks

_KINDS = {"fence": Kind.FENCED, "code_block": Kind.INDENTED, "html_block": Kind.HTML}


class Found(NamedTuple):
    """The headings (level, line, text, nested), the verbatim blocks (line, kind) and the labels of a text."""

    headings: list[tuple[int, int, str, bool]]
    verbatim: list[tuple[int, Kind]]
    labels: set[str]


class Destination(NamedTuple):
    """Where a link or an image leads, in the order of the text."""

    url: str
    image: bool = False


def _parser(*extensions: str) -> MarkdownIt:
    # The commonmark preset gives up at 20 levels.
    made = MarkdownIt("commonmark", {"maxNesting": 1000}).enable(list(extensions))
    made.normalizeLink = lambda url: url  # type: ignore[method-assign]
    made.validateLink = lambda _: True  # type: ignore[method-assign]
    return made


_COMMONMARK = _parser()
_WITH_TABLES = _parser("table")


def _parsed(text: str, env: dict[str, dict[str, object]], *, tables: bool = False) -> list[Token]:
    try:
        return (_WITH_TABLES if tables else _COMMONMARK).parse(text, env)
    except IndexError:
        # It has its own troubles with HTML at the end of a text.
        reject()


def oracle_blocks(text: str) -> Found:
    """Return what the other parser finds."""
    env: dict[str, dict[str, object]] = {}
    tokens = _parsed(text, env)
    headings = [
        (int(token.tag[1]), (token.map or [0])[0] + 1, " ".join(after.content.split()), token.level > 0)
        for token, after in pairwise(tokens)
        if token.type == "heading_open"
    ]
    verbatim = [((token.map or [0])[0] + 1, _KINDS[token.type]) for token in tokens if token.type in _KINDS]
    labels = {" ".join(label.split()).casefold() for label in env.get("references", {})}
    return Found(headings, verbatim, labels)


def our_blocks(text: str) -> Found:
    """Return what we find."""
    found = blocks(text, start=0)
    return Found(
        [(each.level, each.line, each.text, each.nested) for each in found.headings],
        sorted(
            ((text.count("\n", 0, each.start) + 1, each.kind) for each in found.verbatim),
            key=lambda place: place[0],
        ),
        {each.label for each in found.definitions},
    )


def oracle_links(text: str, *, tables: bool = False) -> list[Destination]:
    """Return where the links, images and autolinks lead that the other parser finds."""
    found: list[Destination] = []

    def walk(tokens: list[Token]) -> None:
        for token in tokens:
            if token.type == "link_open":
                found.append(Destination(str(token.attrs["href"]).removeprefix("mailto:")))
            elif token.type == "image":
                found.append(Destination(str(token.attrs["src"]), image=True))
            walk(token.children or [])

    walk(_parsed(text, {}, tables=tables))
    return found


def our_links(text: str) -> list[Destination]:
    """Return where those lead that we find."""
    found = blocks(text, start=0)
    links = inlines(found).links
    defined: dict[str | None, Link] = {}
    for link in links:
        if link.form is Form.DEFINITION:
            defined.setdefault(link.label, link)
    return [
        Destination(written(found, defined.get(link.label, link)), image=link.embed)
        for link in links
        if link.form is not Form.DEFINITION
    ]


def written(found: Blocks, link: Link) -> str:
    """Return the whole destination of a link with its escapes resolved."""
    if link.path is None:
        raise ValueError("a reference has no destination of its own")
    end = link.path[1] if link.fragment_span is None else link.fragment_span[1]
    raw = found.text[link.path[0] : end]
    return raw if link.form is Form.AUTOLINK else unescaped(raw)


_BLOCK_PIECES = [
    "# ", "## ", "#", "a", "b c", "- ", "-", "--", "---", "1. ", "2. ", "1.", "> ", ">", "    ", "  ", " ", "\t", "```",
    "~~~", "````", "``` x", "<div>", "<!--", "-->", "<a>", "</a>", "<pre>", "</pre>", "===", "=", "* ", "***", "+ ",
    "_", "\\#", "<?", "?>", "# x #", "<!A", "\u00e4", "[a]: /u", "[b]: <v> 't'", "[d", "10) ", "<![CDATA[", "]]>",
]  # fmt: skip
block_texts = st.lists(st.lists(st.sampled_from(_BLOCK_PIECES), max_size=6).map("".join), max_size=10).map(
    "\n".join
)
"""Texts of lines that open, continue and end blocks of every kind."""

_INLINE_PIECES = [
    "[", "]", "(", ")", "![", "<", ">", "`", "``", "\\", "a", "b c", "\n", " ", '"', "'", "/u", "](", "][", "[]",
    "[a]", "[b]", "(/x)", "(</y z>)", "( /u 't')", "<a>", '<b c="', "<!--", "-->", "<http://x>", "<q@r.s>", "</a>",
    "*", "_", "#", "&amp;", "&#35;", "!", "<?", "?>", "<![CDATA[", "]]>", "%20", "\u00e4", "\n> ", "\n- ",
]  # fmt: skip
inline_texts = st.tuples(
    st.lists(st.sampled_from(_INLINE_PIECES), max_size=16).map("".join),
    st.sampled_from(["", "\n\n[a]: /ref\n[b]: <r s>\n"]),
).map("".join)
"""Texts of brackets and what stands in them and in their way."""
