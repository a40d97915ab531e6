"""What is the same to a search, what a word is, and that no text makes folding slow."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fsnotes.notes.index import folding
from fsnotes.notes.index.folding import code_token, folded, indexed, plain, sought, tokens
from tests.notes.proportion import hold_to_proportion

EVERY = [chr(code) for code in range(0x80, 0x110000) if not 0xD800 <= code < 0xE000]


def found(text: str) -> list[str]:
    return tokens(indexed(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Straße STRASSE ẞ", ["strasse", "strasse", "ss"]),
        ("Café Cafe\u0301 CAFÉ", ["cafe", "cafe", "cafe"]),
        ("İ I ı i", ["i", "i", "i", "i"]),
        ("ΟΔΟΣ οδός Οδοσ", ["οδοσ", "οδοσ", "οδοσ"]),
        ("Łódź Ørsted Đ Ħ Ŧ Æ œuvre", ["lodz", "orsted", "d", "h", "t", "ae", "oeuvre"]),
        ("ﬁle x² Ⅷ ① ℂ", ["file", "x2", "viii", "1", "c"]),
        ("ＡＢＣ１２３", ["abc123"]),
        ("½ 1½", ["1", "2", "1", "1", "2"]),
        ("٣٤ ३४ ๑๐", ["34", "34", "10"]),
        ("Ёлка й", ["елка", "и"]),
        ("שָׁלוֹם שלום", ["שלום", "שלום"]),
        ("أَحْمَد احمد مـحمد", ["احمد", "احمد", "محمد"]),
        ("कि की क़", ["कि", "की", "क\u093c"]),
        ("co\u00adop\u200derate \ufeffword", ["cooperate", "word"]),
        ("don't don’t re-use re‑use", ["don", "t", "don", "t", "re", "use", "re", "use"]),
        ("foo_bar v1.2.3", ["foo", "bar", "v1", "2", "3"]),
        ("«a» “b” …c—d\x00e\x1ff\u2028g\x85h", list("abcdefgh")),
        ("ﷺ", ["صلى", "الله", "عليه", "وسلم"]),
        ("Dvořák\u0301", ["dvorak"]),
    ],
)
def test_words_are_found_in_every_spelling(text: str, words: list[str]) -> None:
    assert tokens(folded(text)) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("漢字設計", ["漢字", "字設", "設計", "計"]),
        ("abc漢字def", ["abc", "漢字", "字", "def"]),
        ("3月 ３月", ["3", "月", "3", "月"]),
        ("東京・大阪", ["東京", "京", "大阪", "阪"]),
        ("한국 한국", ["한국", "국", "한국", "국"]),
        ("ㅎㅏ", ["ㅎㅏ", "ㅏ"]),
        ("がか ｶﾞ", ["がか", "か", "ガ"]),
        ("ラーメン", ["ラー", "ーメ", "メン", "ン"]),
        ("ไทย", ["ไท", "ทย", "ย"]),
        ("ភាសា", ["ភា", "ាស", "សា", "ា"]),
        ("party🎉🎉 👍🏽 ❤️", ["party", "🎉🎉", "🎉", "👍", "❤"]),
        ("👩‍👧", ["👩👧", "👧"]),
        ("━━ ██", []),
    ],
)
def test_text_without_spaces_becomes_pairs_and_a_last_character(text: str, words: list[str]) -> None:
    assert tokens(folded(text)) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("C++", ["c++"]),
        ("C++17 (C#), F#.", ["c++", "c#", "f#"]),
        ("the .NET way, (.net)", [".net"]),
        ("see .gitignore", [".gitignore"]),
        ("Ｃ＋＋", ["c++"]),
        ("a+b C+1 [[note#heading]] # heading ## x #tag", []),
        ("A+ grade", ["a+"]),
        ("end.Next a.b ...net ..net 3.14 x.", []),
        ("使用.NET", [".net"]),
        (f"{'a' * 40}++ .{'a' * 40}", []),
    ],
)
def test_code_words_have_a_token_of_their_own(text: str, words: list[str]) -> None:
    expected = {code_token(word) for word in words}
    assert None not in expected
    assert set(folding.code_tokens(plain(text))) == expected
    assert set(folding.code_tokens(folded(text))) == expected
    assert {each for each in found(text) if each not in tokens(folded(text))} == expected


@pytest.mark.parametrize(
    "word", ["c", "a.b", "foo_bar", "c++17", ".", "++", "#tag", "..net", "x." + "y" * 40, "c++."]
)
def test_other_words_have_no_token_of_their_own(word: str) -> None:
    assert code_token(word) is None


@pytest.mark.parametrize(
    ("text", "row", "beginning"),
    [
        ("foo", ["foo"], False),
        ("foo bar", ["foo", "bar"], False),
        ("設", ["設"], True),
        ("設計", ["設計"], False),
        ("漢字設計", ["漢字", "字設", "設計"], False),
        ("3月", ["3", "月"], True),
        ("東京 tower", ["東京", "京", "tower"], False),
        ("東京 都庁", ["東京", "京", "都庁"], False),
        ("", [], False),
        ("!?", [], False),
    ],
)
def test_what_is_sought_of_a_phrase_stands_in_every_text_that_has_it(
    text: str, row: list[str], beginning: bool
) -> None:
    assert sought(plain(text)) == (row, beginning)


@given(st.text(), st.text(st.sampled_from("漢字設計建国한국ไทย🎉"), min_size=1), st.text())
def test_a_run_is_found_wherever_it_stands(before: str, run: str, after: str) -> None:
    row, beginning = sought(plain(run))
    there = tokens(folded(f"{before}\n{run}{after}"))
    assert any(
        there[at : at + len(row) - 1] == row[:-1]
        and at + len(row) <= len(there)
        and (
            there[at + len(row) - 1].startswith(row[-1]) if beginning else there[at + len(row) - 1] == row[-1]
        )
        for at in range(len(there))
    )


# An iota written below its letter (U+0345) and one beside it are still told apart by Unicode form: see the limits.
@given(st.text().filter(lambda text: "\u0345" not in unicodedata.normalize("NFD", text)))
@example("\u1100\u1161\u11a8")
@example("A\u0345\u0301")
def test_folding_knows_no_case_and_no_unicode_form(text: str) -> None:
    for form in ("NFC", "NFD"):
        assert tokens(folded(unicodedata.normalize(form, text))) == tokens(folded(text))
    assert tokens(folded(text.swapcase().casefold())) == tokens(folded(text.casefold()))


@given(st.text())
def test_folding_keeps_the_lines_and_parts_words_where_plain_text_does(text: str) -> None:
    assert plain(text).count("\n") == folded(text).count("\n") == text.count("\n")
    assert [part for part in tokens(folded(text)) if not folding.unspaced_runs().match(part)] == [
        part for part in tokens(plain(text)) if not folding.unspaced_runs().match(part)
    ]


def test_no_character_gives_a_mark_that_only_tokens_of_code_words_have() -> None:
    made = set(folded("\n".join(each for each in EVERY if unicodedata.category(each) != "Cn")))
    assert [each for each in made if unicodedata.category(each) in ("Co", "Cs", "Cn", "Cc")] == ["\n"]


def test_lone_surrogates_part_words() -> None:
    assert tokens(folded("a\ud800b")) == ["a", "b"]


def test_a_long_run_is_cut_only_where_nothing_changes_in_company() -> None:
    """Every character that is sorted or composed with those before it is known as a follower."""
    seconds = {
        chr(int(unicodedata.decomposition(each).split()[-1], 16))
        for each in EVERY
        if len(unicodedata.decomposition(each).split()) == 2 and unicodedata.decomposition(each)[0] != "<"
    }
    changing = [each for each in EVERY if unicodedata.combining(each) or each in seconds]
    assert len(changing) > 900
    assert [
        each
        for each in changing
        if folding._stretches().fullmatch("漢" * 96 + each) is None and each > "\x7f"
    ] == []


def test_long_runs_fold_like_short_ones() -> None:
    text = "각漢がé" * 300
    assert tokens(folded(unicodedata.normalize("NFD", text))) == tokens(folded(text))
    assert len(tokens(folded("漢" * 1000))) == 1000


@pytest.mark.parametrize(
    "unit",
    [
        "\u0301\u0323",
        "\u0e38\u0e48",
        "漢",
        "é",
        "a+",
        "a++",
        "+",
        "#",
        "a#",
        ".",
        ".a",
        "a.",
        "\U00011046\U00011070",
    ],
)
def test_folding_takes_time_in_proportion(unit: str) -> None:
    def case(size: int) -> Callable[[], object]:
        text = unit * size
        return lambda: indexed(text)

    hold_to_proportion(case, 20_000, patience=(3, 7))


@given(
    st.lists(
        st.sampled_from(["c++", "c#", "+", "#", "a", "z9", " ", "é", "国", ".", "\n", "x" * 31, "x" * 33]),
        max_size=40,
    )
)
def test_words_before_signs_are_the_same_however_many_signs_there_are(pieces: list[str]) -> None:
    text = folded("".join(pieces))
    assert set(folding._among_signs(text)) == set(folding._before_each_sign(text))
