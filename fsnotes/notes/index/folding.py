"""What a word is, and when two texts are the same to a search: one function folds notes, queries and snippets.

- Case, accents and compatibility forms make no difference: `Straße`, `STRASSE`; `Café`, `cafe`; full-width letters;
  `ﬁ`; `x²`, `x2`; all four Turkish i; a final sigma; `ł`, `ø`, `đ`, `ħ`, `ŧ`, `æ`, `œ` without their strokes and
  ligatures; Hebrew points, Arabic vowel signs, hamzas and tatweel; digits of every script. The vowel signs of Indic
  scripts and the sound marks of kana make another letter, and stay. Invisible characters (joiners, soft hyphens,
  direction marks, variation selectors) and skin tones of emoji are not there.
- A word is a run of letters and digits. Everything else parts words, `_`, `'` and `-` too.
- Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese are written without spaces, or with other ones than a search
  would need, and emoji stand everywhere: of these, every run of one or more characters is found wherever it stands.
- `C++`, `C#`, `.NET` and what is built like them, of letters and digits of ASCII, have a token of their own beside
  their word, since `c` is no substitute. All other code words are their parts, one behind the other, and looked up in
  the text.

A *plain* text is folded and still has its punctuation. A *folded* one is ready for FTS5's tokenizer `ascii`, to which
all that is not ASCII is part of a token: of a run without spaces it has every pair of neighbours, and the last
character alone. So a phrase of pairs is a stretch of the run, and one character is the beginning of a token.

All of it takes time in proportion to the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Final

VERSION: Final = f"1 {unicodedata.unidata_version}"
"""Of the rules: what was folded under others cannot be compared."""

LETTER: Final = r"[^\x00-/:-`{-\x7f]"
"""A character of a word, or of a run without spaces, in a plain or folded text."""
TOKEN: Final = re.compile(rf"{LETTER}++")

_MAX_MEMO: Final = 20_000
_MAX_MEMO_RUN: Final = 64

# What may change in company: characters that are sorted or composed with those before them. Wider than need be, since
# it only says where a run is not cut; that it is wide enough is tested.
_FOLLOWERS: Final = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u0670\u06d6-\u074a\u07eb-\u082d\u0859-\u085b"
    "\u0898-\u089f\u08ca-\u08ff\u093c-\u0954\u09bc-\u09fe\u0a3c-\u0a4d\u0abc-\u0acd\u0b3c-\u0b57\u0bbe-\u0bd7"
    "\u0c3c-\u0c56\u0cbc-\u0cd6\u0d3b-\u0d57\u0dca-\u0ddf\u0e38-\u0e4b\u0eb8-\u0ecb\u0f18-\u0f39\u0f71-\u0f87"
    "\u0fb5-\u0fc6\u102e-\u103a\u108d\u1160-\u11ff\u135d-\u135f\u1714-\u1734\u17d2-\u17dd\u18a9\u1939-\u193b"
    "\u1a17-\u1a18\u1a60-\u1a7f\u1ab0-\u1ace\u1b34-\u1b73\u1baa-\u1bab\u1be6-\u1bf3\u1c37\u1cd0-\u1cf9\u1dc0-\u1dff"
    "\u20d0-\u20f0\u2cef-\u2cf1\u2d7f\u2de0-\u2dff\u302a-\u302f\u3099-\u309a\ua66f-\ua69f\ua6f0-\ua6f1"
    "\ua806-\ua82c\ua8c4-\ua8f1\ua92b-\ua953\ua9b3-\ua9c0\uaab0-\uaac1\uaaf6\uabed\ufb1e\ufe20-\ufe2f\uff9e-\uff9f"
    "\U00010000-\U0001ffff"
)
_RUN: Final = re.compile(r"[^\x00-\x7f]++")
_MAX_STRETCH: Final = 96

# Characters of scripts without spaces. What unifies with one of these by compatibility has become it by then.
_UNSPACED_LETTERS: Final = (
    "\u0e01-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf"  # Thai, Lao
    "\u1000-\u109d\ua9e0-\ua9fe\uaa60-\uaa7f\u1780-\u17dd"  # Burmese, Khmer
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb"  # hangul
    "\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufad9"
    "\u3041-\u30ff\u31f0-\u31ff\u3105-\u312f\u31a0-\u31bf\ua000-\ua48c"  # kana, bopomofo, Yi
    "\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
# Symbols, those aside that lines are drawn with.
_SYMBOLS: Final = (
    "\u2100-\u2138\u213a-\u214f\u2190-\u23ff\u2460-\u24ff\u25a0-\u27ff\u2900-\u2bff\u3200-\u33ff\U0001d000-\U0001d1ff"
    "\U0001f000-\U0001fbff"
)
_REMOVED: Final = (
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f"
    "\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u0898-\u089f\u08ca-\u08e1"
    "\u08e3-\u08ff\u180b-\u180f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f"
    "\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef]"
)


# Classes of so many characters take milliseconds to compile, and a vault in plain English needs none of them.


@cache
def unspaced_runs() -> re.Pattern[str]:
    """Return what matches a run without spaces in a plain text."""
    return re.compile(f"[{_UNSPACED_LETTERS}{_SYMBOLS}]++")


@cache
def _words_and_runs() -> re.Pattern[str]:
    return re.compile(rf"({unspaced_runs().pattern})|(?:(?!{unspaced_runs().pattern}){LETTER}|(?!))++")


@cache
def _stretches() -> re.Pattern[str]:
    # Sorting accents takes time that grows as the square of their number, so a long run is composed in stretches.
    return re.compile(rf"[^\x00-\x7f]{{1,{_MAX_STRETCH}}}+[{_FOLLOWERS}]{{0,128}}+")


@cache
def _removed() -> re.Pattern[str]:
    return re.compile(_REMOVED)


_ALIKE: Final = str.maketrans(
    {"ı": "i", "ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "\u02bc": "'"}
)
_PUNCTUATION: Final = {
    **dict.fromkeys("‘’‚‛′", "'"),
    **dict.fromkeys("“”„‟″", '"'),
    **dict.fromkeys("−⁃", "-"),
    **dict.fromkeys("⁄∕", "/"),
    "…": "...",
}


def plain(text: str) -> str:
    """Return *text* folded, its words and ASCII punctuation in place; runs without spaces have some around them.

    As many line feeds are in it as in *text*.
    """
    lowered = text.lower()
    return lowered if lowered.isascii() else _RUN.sub(_plain_run, lowered)


def folded(text: str) -> str:
    """Return *text* as FTS5's tokenizer gets it, line by line."""
    lowered = text.lower()
    return lowered if lowered.isascii() else _RUN.sub(_folded_run, lowered)


def tokens(text: str) -> list[str]:
    """Return the tokens of a folded text, as FTS5 finds them."""
    return TOKEN.findall(text)


def sought(text: str) -> tuple[list[str], bool]:
    """Return the tokens that a phrase of these plain words has in a row, and whether the last is only a beginning."""
    if text.isascii():
        return TOKEN.findall(text), False
    parts = [(found.group(), found.group(1) is not None) for found in _words_and_runs().finditer(text)]
    found: list[str] = []
    for part, unspaced in parts[:-1]:
        found += _pairs(part) if unspaced else (part,)
    if not parts:
        return found, False
    last, unspaced = parts[-1]
    if unspaced and len(last) > 1:
        return [*found, *_pairs(last)[:-1]], False
    return [*found, last], unspaced


# -- code words that are more than their letters -----------------------------------------------

_MARKS: Final = str.maketrans({mark: chr(0xF0000 + ord(mark)) for mark in "+#."})
"""How the marks of such a word are written in its token: as characters that no folded text has."""
_LONGEST_CODE_WORD: Final = 32
_SIGNS: Final = re.compile(r"[+#]++")
_SIGNED: Final = re.compile(r"(?<![a-z0-9])([a-z0-9]++)[+#]++")
_MANY_SIGNS: Final = 1_000
"""From so many signs on, all words of a text are looked at, and not each sign by itself."""
_ALNUM: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_LAST_WORD: Final = re.compile(r"[a-z0-9]++\Z")
_BEFORE: Final = re.compile(rf"\.(?=[a-z0-9])(?<!{LETTER}\.)(?<!\.\.)[a-z0-9]++(?!{LETTER})")
_CODE_WORD: Final = re.compile(r"[a-z0-9]++[+#]++|\.[a-z0-9]++")


def code_tokens(text: str) -> list[str]:
    """Return the tokens of the words like `C++`, `C#` and `.NET` in a plain or folded text, each once."""
    many = text.count("+") + text.count("#") > _MANY_SIGNS
    found = dict.fromkeys((_among_signs if many else _before_each_sign)(text))
    if "." in text:
        for word in _BEFORE.finditer(text):
            if word.end() - word.start() <= _LONGEST_CODE_WORD:
                found[word.group()] = None
    return [word.translate(_MARKS) for word in found]


def _among_signs(text: str) -> Iterator[str]:
    """Yield the words that end in signs, where there are very many signs."""
    for word in _SIGNED.finditer(text):
        # Two pluses end a word whatever follows, as in `C++17`; else it is a sum, or a link to a heading.
        if word.end() - word.start() <= _LONGEST_CODE_WORD and (
            text.startswith("++", word.end(1)) or TOKEN.match(text, word.end()) is None
        ):
            yield word.group()


def _before_each_sign(text: str) -> Iterator[str]:
    """Yield the same, where there are few, without a look at what stands between them."""
    for sign in "+#":
        start = text.find(sign)
        while start >= 0:
            end = _end_of_signs(text, start)
            if (
                start
                and text[start - 1] in _ALNUM
                and (text.startswith("++", start) or TOKEN.match(text, end) is None)
            ):
                word = _LAST_WORD.search(text, max(0, start - _LONGEST_CODE_WORD), start)
                if word is not None and end - word.start() <= _LONGEST_CODE_WORD:
                    yield word.group() + text[start:end]
            start = text.find(sign, end)


def _end_of_signs(text: str, start: int) -> int:
    signs = _SIGNS.match(text, start)
    return start if signs is None else signs.end()


def code_token(word: str) -> str | None:
    """Return the token that a plain *word* has beside its letters if it is built like `C++` or `.NET`, and no more."""
    if len(word) > _LONGEST_CODE_WORD or _CODE_WORD.fullmatch(word) is None:
        return None
    return word.translate(_MARKS)


def indexed(text: str) -> str:
    """Return *text* folded, with the tokens of its code words at its end."""
    found = folded(text)
    extra = code_tokens(found)
    return f"{found}\n{' '.join(extra)}" if extra else found


# -- runs of characters that are not ASCII -------------------------------------------------------


class _Letters(dict[int, str]):
    """What each character becomes alone, made when it is first met."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _MAX_MEMO:
            self.clear()
        made = self[code] = _letter(chr(code))
        return made


_letters: Final = _Letters()
_plain_runs: Final[dict[str, str]] = {}
_folded_runs: Final[dict[str, str]] = {}


def _plain_run(found: re.Match[str]) -> str:
    run = found.group()
    made = _plain_runs.get(run)
    if made is None:
        made = unspaced_runs().sub(_spaced, _composed(run))
        _remember(_plain_runs, run, made)
    return made


def _folded_run(found: re.Match[str]) -> str:
    run = found.group()
    made = _folded_runs.get(run)
    if made is None:
        made = unspaced_runs().sub(_paired, _composed(run))
        _remember(_folded_runs, run, made)
    return made


def _remember(memo: dict[str, str], run: str, made: str) -> None:
    if len(run) <= _MAX_MEMO_RUN:
        if len(memo) >= _MAX_MEMO:
            memo.clear()
        memo[run] = made


def _composed(run: str) -> str:
    if len(run) > _MAX_STRETCH:
        return _stretches().sub(_stretch, run)
    return unicodedata.normalize("NFC", run.translate(_letters))


def _stretch(found: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", found.group().translate(_letters))


def _spaced(found: re.Match[str]) -> str:
    return f" {found.group()} "


def _paired(found: re.Match[str]) -> str:
    return f" {' '.join(_pairs(found.group()))} "


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run))]


def _letter(character: str) -> str:
    """Return what one character that is not ASCII becomes."""
    kind = unicodedata.category(character)
    if kind == "Cf" or _removed().match(character):
        return ""
    if kind[0] in "PZCS":
        return _sign(character, kind)
    if kind == "Nd":
        return str(unicodedata.decimal(character))
    if "\u3131" <= character <= "\u318e":
        return character  # jamo that stand alone: decomposed, they would be composed with their neighbours
    made = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    made = unicodedata.normalize("NFC", _removed().sub("", made).translate(_ALIKE))
    if all(_is_letter(each) for each in made):
        return made
    # A fraction, or a phrase in one character: its parts are words.
    return f" {''.join(each if _is_letter(each) else ' ' for each in made)} "


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"


def _sign(character: str, kind: str) -> str:
    """Return what a character becomes that belongs to no word."""
    known = _PUNCTUATION.get(character)
    if known is not None:
        return known
    if kind == "Pd":
        return "-"
    if "\uff01" <= character <= "\uff5e":
        return chr(ord(character) - 0xFEE0)
    if kind == "So":
        made = unicodedata.normalize("NFC", character)
        return made if unspaced_runs().fullmatch(made) else " "
    return " "
