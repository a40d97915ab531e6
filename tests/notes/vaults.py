"""Random vaults: ids that are easily mistaken for each other, links to them in every style, and moves of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from hypothesis import strategies as st

FOLDERS = ["", "a", "b", "a/b", "a b", "A", "\u00fc", "u\u0308", "b/a", "it's", "c.d"]
STEMS = ["n", "N", "m", "n m", "1.2", "n.md", "\u00e4", "a\u0308", "\u65e5\u672c", "100%", "50%41", "a(b", "q?", "C#",
         "x^y", "a&amp;b", 'say "hi"', "it''s", "p|q", "[t]", "\U0001f600", "st",
         "\ufb01n", "c$d", "t`k", "50%% off"]  # fmt: skip
PLAIN_STEMS = ["n", "m", "n m", "1.2", "\u00e4", "\u65e5\u672c", "it's"]
SUFFIXES = [".md", ".md", ".md", ".md", ".markdown", ".png", ".MD"]


def ids(stems: Sequence[str] = STEMS) -> st.SearchStrategy[list[str]]:
    return st.lists(
        st.builds(
            lambda folder, stem, suffix: f"{folder}/{stem}{suffix}".lstrip("/"),
            st.sampled_from(FOLDERS),
            st.sampled_from(stems),
            st.sampled_from(SUFFIXES),
        ),
        min_size=1,
        max_size=8,
        unique=True,
    )


def moves_of(paths: list[str], stems: Sequence[str] = STEMS) -> st.SearchStrategy[dict[str, str]]:
    """Moves of some of these files to free names, swaps and changes of case among them; suffixes stay."""

    def made(chosen: list[str], places: list[tuple[str, str]], swap: bool) -> dict[str, str]:
        if swap and len(chosen) > 1:
            first, second = chosen[:2]
            if first.rpartition(".")[2] == second.rpartition(".")[2]:
                return {first: second, second: first}
        moves: dict[str, str] = {}
        taken = set(paths)
        for old, (folder, stem) in zip(chosen, places, strict=False):
            suffix = old[old.rindex(".") :]
            new = f"{folder}/{stem}{suffix}".lstrip("/")
            if new not in taken:
                moves[old] = new
                taken.add(new)
        return moves

    return st.builds(
        made,
        st.lists(st.sampled_from(paths), max_size=3, unique=True),
        st.lists(st.tuples(st.sampled_from(FOLDERS), st.sampled_from(stems)), min_size=3, max_size=3),
        st.booleans(),
    )


def _way(source: str, path: str) -> str:
    here = source.split("/")[:-1]
    there = path.split("/")
    while here and len(there) > 1 and here[0] == there[0]:
        del here[0], there[0]
    return "/".join([".."] * len(here) + there)


def _spellings(source: str, path: str) -> list[str]:
    way = _way(source, path)
    parts = path.split("/")
    return [path, "/" + path, parts[-1], "/".join(parts[-2:]), way, way if way[0] == "." else "./" + way]


def _bare(path: str) -> str:
    return path.rpartition(".")[0] if path.lower().endswith((".md", ".markdown")) else path


def _wiki(path: str) -> str:
    return f"[[{path}]]"


LINKS = [
    _wiki,
    lambda path: f"![[{path}#h|x]]",
    lambda path: f"[[ {path} |y ]]",
    lambda path: f"[a]({quote(path)})",
    lambda path: f"![a]({path.replace('%', '%25').replace(' ', '%20').replace('#', '%23')}#h)",
    lambda path: f"[a](<{path.replace('#', '%23')}> 't')",
    lambda path: f"[l]\n\n[l]: {quote(path)} 't'\n\n",
    lambda path: f"\n| a | b |\n|-|-|\n| [[{path}\\|z]] | [[{path}]] |\n\n",
    lambda path: f"\n\n> - [a](\n> {quote(path)})\n\n",
    lambda path: f"[x [[{path}]] y]({quote(path)})",
]
HIDDEN = [
    lambda path: f"`[[{path}]]`",
    lambda path: f"\n\n```\n[[{path}]] [a]({quote(path)})\n```\n\n",
    lambda path: f"<!-- [[{path}]] -->",
    lambda path: f"%%[[{path}]]%%",
    lambda path: f"$$[[{path}]]$$",
    lambda path: f"\n\n    [[{path}]]\n\n",
    lambda path: f"\\[[{path}\\]]",
]
OTHER = [
    "text ",
    "\r\n",
    "\n\n# h\n\n",
    "[x](https://n.md)",
    "[[#n]]",
    "[[none]]",
    "\u00fc",
    "[y](../../../n.md)",
    "costs $5 ",
    "a ` tick ",
    "100%% ",
]
PROPERTIES = [
    lambda path: 'a: "[[' + path.replace("\\", "\\\\").replace('"', '\\"') + ']]"\n',
    lambda path: "b: '[[" + path.replace("'", "''") + "|x]]'\n",
    lambda path: f"c:\n  - see [[{path}]]\n",
    lambda path: f"d: |\n  [[{path}#h]]\n",
    lambda path: f"# [[{path}]]\n",
]


@st.composite
def note(draw: st.DrawFn, source: str, paths: Sequence[str], *, hidden: bool = True) -> str:
    """A note with links to some of *paths* in every style, some of them in code and comments."""

    def spelled() -> str:
        path = draw(st.sampled_from(_spellings(source, draw(st.sampled_from(paths)))))
        return _bare(path) if draw(st.booleans()) else path

    front = [make(spelled()) for make in draw(st.lists(st.sampled_from(PROPERTIES), max_size=2, unique=True))]
    pieces = []
    for kind in draw(st.lists(st.sampled_from("lllho"), min_size=1, max_size=5)):
        if kind == "l":
            pieces.append(draw(st.sampled_from(LINKS))(spelled()))
        elif kind == "h" and hidden:
            pieces.append(draw(st.sampled_from(HIDDEN))(spelled()))
        else:
            pieces.append(draw(st.sampled_from(OTHER)))
    return ("---\n" + "".join(front) + "---\n" if front else "") + " ".join(pieces)


@st.composite
def vault(draw: st.DrawFn, stems: Sequence[str] = STEMS) -> tuple[dict[str, str], dict[str, str]]:
    """The texts of a vault's notes by id, and a move; files that are no notes have the text ""."""
    paths = draw(ids(stems))
    texts = {path: draw(note(path, paths)) if not path.endswith(".png") else "" for path in paths}
    return texts, draw(moves_of(paths, stems))


def notes_of(texts: Mapping[str, str]) -> dict[str, str]:
    return {path: text for path, text in texts.items() if not path.endswith(".png")}
