"""What a search must find, said once more: character by character, from a table written by hand.

It shares nothing with the product: no folding, no tokens, no patterns, no parser. A text is made of characters of the
table only; a query is a structure, of which the text that a person would type is made.
"""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

# What a character is in a word; "" is not there.
LETTERS = {
    **{each: each for each in "abcdefghijklmnopqrstuvwxyz0123456789σ"},
    "A": "a",
    "B": "b",
    "É": "e",
    "é": "e",
    "ß": "ss",
    "ｘ": "x",
    "²": "2",
    "٠": "0",
    "İ": "i",
    "ı": "i",
    "\u0301": "",
    "\u00ad": "",
    "\u200d": "",
    "ς": "σ",
    "Σ": "σ",
    "כ": "כ",
    "\u05b8": "",
    "क": "क",
    "ि": "ि",
}
RUNS = {**{each: each for each in "漢字設かが한국ไท🎉"}, "👍": "👍", "ｶ": "カ", "カ": "カ"}
# All other characters part words.


class Word(NamedTuple):
    """A word as it is compared."""

    letters: str


class Sign(NamedTuple):
    """A character of a run without spaces, and whether the run goes on before it."""

    sign: str
    joined: bool


Unit = Word | Sign


def units(text: str) -> list[Unit]:
    """The words and signs of a text in order."""
    found: list[Unit] = []
    letters = ""
    joined = False
    for character in text:
        value = LETTERS.get(character)
        if value == "":
            continue
        if value is not None:
            letters += value
            joined = False
            continue
        if letters:
            found.append(Word(letters))
            letters = ""
        if character in RUNS:
            found.append(Sign(RUNS[character], joined))
            joined = True
        else:
            joined = False
    if letters:
        found.append(Word(letters))
    return found


class Phrase(NamedTuple):
    """Words in a row, somewhere in the note, in its title or in its path."""

    text: str
    star: bool = False
    field: str = ""


class Tag(NamedTuple):
    """A tag, or one that begins so."""

    name: str
    star: bool = False


class Prop(NamedTuple):
    """A property, perhaps with a value."""

    key: str
    value: str | None = None


class Note(NamedTuple):
    """A note as the oracle knows it: what was written into it."""

    path: str
    title: str
    headings: tuple[str, ...]
    tags: tuple[str, ...]
    properties: tuple[tuple[str, str], ...]
    body: str

    def text(self) -> str:
        """The note's text."""
        front = ""
        if self.properties or self.title:
            title = f'title: "{self.title}"\n' if self.title else ""
            front = (
                f"---\n{title}" + "".join(f'{key}: "{value}"\n' for key, value in self.properties) + "---\n"
            )
        headings = "".join(f"## {heading}\n\n" for heading in self.headings)
        tags = "".join(f"#{tag} " for tag in self.tags)
        return f"{front}{headings}{tags}\n\n{self.body}\n"

    def name(self) -> str:
        """Its title."""
        own = " ".join(self.title.split())
        return own or self.path.rpartition("/")[2].removesuffix(".md")


Asked = Phrase | Tag | Prop


class Side(NamedTuple):
    """One side of an OR."""

    must: tuple[Asked, ...]
    never: tuple[Asked, ...]


def typed(sides: tuple[Side, ...]) -> str:
    """What a person types for it."""
    return " OR ".join(
        " ".join([*(_typed(each) for each in side.must), *(f"-{_typed(each)}" for each in side.never)])
        for side in sides
    )


def _typed(asked: Asked) -> str:
    match asked:
        case Phrase(text, star, field):
            return f'{field}{":" if field else ""}"{text}"{"*" if star else ""}'
        case Tag(name, star):
            return f"tag:{name}{'*' if star else ''}"
        case Prop(key, value):
            return f"prop:{key}" if value is None else f'prop:{key}="{value}"'


def finds(sides: tuple[Side, ...], note: Note) -> bool:
    """Whether the query means the note."""
    return any(
        all(has(note, each) for each in side.must) and not any(has(note, each) for each in side.never)
        for side in sides
    )


def has(note: Note, asked: Asked) -> bool:
    """Whether the note has what is asked for."""
    match asked:
        case Phrase(text, star, "title"):
            return _stands(text, note.name(), star=star)
        case Phrase(text, star, "path"):
            return _stands(text, note.path.removesuffix(".md"), star=star)
        case Phrase(text, star, _):
            places = [note.text(), note.name(), note.path.removesuffix(".md")]
            return any(_stands(text, place, star=star) for place in places)
        case Tag(name, star):
            above = [
                "/".join(tag.split("/")[:depth])
                for tag in note.tags
                for depth in range(1, tag.count("/") + 2)
            ]
            return any(each.startswith(name) if star else each == name for each in above)
        case Prop(key, value):
            return any(key == each and value in (None, other) for each, other in note.properties)


def _stands(phrase: str, text: str, *, star: bool) -> bool:
    sought, there = units(phrase), units(text)
    return any(_stands_at(sought, there, at, star=star) for at in range(len(there) - len(sought) + 1))


def _stands_at(sought: list[Unit], there: list[Unit], at: int, *, star: bool) -> bool:
    for place, unit in enumerate(sought):
        other, last = there[at + place], place == len(sought) - 1
        match unit, other:
            case Word(letters), Word(others):
                if letters != others and not (last and star and others.startswith(letters)):
                    return False
            case Sign(sign, joined), Sign(other_sign, other_joined):
                if sign != other_sign or (place and joined != other_joined):
                    return False
            case _:
                return False
        # A run that something follows in the phrase ends there in the text, too.
        following = there[at + place + 1] if at + place + 1 < len(there) else None
        goes_on = isinstance(following, Sign) and following.joined
        wanted = not last and isinstance(sought[place + 1], Sign) and sought[place + 1].joined
        if isinstance(unit, Sign) and not last and goes_on and not wanted:
            return False
    return True


# -- texts and queries at random ---------------------------------------------------------------

_SPELLINGS = {"e": "eéÉ", "x": "xｘ", "i": "İı", "σ": "ςΣσ", "a": "aA", "b": "bB", "2": "2²", "0": "0٠"}
WORDS = ("a", "b", "ab", "abc", "bex", "x2", "iσ", "ss", "כ", "कि", "c")
STRETCHES = ("漢字設", "字", "かが", "한국", "ไท", "🎉👍", "カ", "設漢")

pieces = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(STRETCHES),
    st.text(st.sampled_from([*"abx012_ABÉéßｘ²٠İı\u0301\u00ad\u200dςΣכ\u05b8कि"]), max_size=3),
)
gaps = st.sampled_from([" ", " ", "\n", ". ", "—", "。", "", " \x00"])


def spelled(text: str, numbers: list[int]) -> str:
    """The same words in other spellings."""
    return "".join(
        _SPELLINGS[each][number % len(_SPELLINGS[each])] if each in _SPELLINGS else each
        for each, number in zip(text, [*numbers, *([0] * len(text))], strict=False)
    )


texts = st.lists(st.tuples(pieces, gaps), max_size=12).map(lambda parts: "".join(map("".join, parts)))
lines = texts.map(lambda text: " ".join(text.replace("\x00", "").split()))
names = st.sampled_from(["a", "b", "ab", "a/b", "b/c", "ab/c"])
keys = st.sampled_from(["k", "kk", "m"])
values = st.sampled_from(["one", "two", "a b"])
phrases = st.builds(
    Phrase,
    st.lists(st.sampled_from([*WORDS, *STRETCHES]), min_size=1, max_size=3).flatmap(
        lambda parts: st.lists(st.integers(0, 5), max_size=8).map(
            lambda numbers: spelled(" ".join(parts), numbers)
        )
    ),
    st.booleans(),
    st.sampled_from(["", "", "", "title", "path"]),
)
asked = st.one_of(
    phrases, phrases, phrases, st.builds(Tag, names, st.booleans()), st.builds(Prop, keys, st.none() | values)
)
sides = st.builds(
    Side, st.lists(asked, min_size=1, max_size=3).map(tuple), st.lists(asked, max_size=2).map(tuple)
)
queries = st.lists(sides, min_size=1, max_size=2).map(tuple)
folders = st.sampled_from(["", "", "a/", "ab/x2/", "漢字/"])


def notes(path: str) -> st.SearchStrategy[Note]:
    """Notes at this path."""
    return st.builds(
        Note,
        st.just(path),
        st.just("") | lines.filter(lambda line: '"' not in line and "\\" not in line),
        st.lists(lines.filter(_is_heading), max_size=2).map(tuple),
        st.lists(names, max_size=2).map(tuple),
        st.lists(st.tuples(keys, values), max_size=2, unique_by=lambda pair: pair[0]).map(tuple),
        texts,
    )


def _is_heading(line: str) -> bool:
    return bool(line) and not line.endswith("#") and line == line.strip()
