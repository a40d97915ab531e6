"""Which texts are paths, which new names are acceptable, and how hostile names are shown."""

from __future__ import annotations

import os
import posixpath
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sandbox.errors import InvalidPath, Traversal, UnacceptableName
from sandbox.names import (
    MAX_DEPTH,
    MAX_NAME_BYTES,
    MAX_PATH_BYTES,
    OWN_PREFIX,
    ROOT,
    TRASH_FOLDER,
    RelPath,
    check_new_name,
    component_of,
    display,
    is_deceptive,
    is_entry_name,
    is_hidden,
    shows,
    unseen,
)

TRAVERSALS = [
    "/", "/etc/passwd", "//a", "..", ".", "../a", "a/..", "a/../b", "a/./b", "./a", "a/.", "../../../x",
    "a\\b", "..\\a", "\\", "\\\\host\\share", "C:\\x", "a/..\\b", "a//../b", "a\0/../b",
]  # fmt: skip
MALFORMED = [
    "", "a//b", "a/", "a//", "a\0b", "a.md\0", "caf\udce9", "\ud800", "a/\udfff", "x" * 256, "é" * 128,
    "/".join(["d"] * (MAX_DEPTH + 1)), "/".join(["n" * 255] * 17),
]  # fmt: skip
ACCEPTED = [
    "a", "a.md", "a/b.md", "...", "..a", "a..", ".git/config", ".. /x", "a b", " a", "a ", "%2e%2e/x",
    "a%2fb", "C:x", "CON", "a\nb", "a\u202eb", "e\u0301.md", "é.md", "～", "\uff0e\uff0e/x", "\u2215etc",
    "-rf", "*?", "x" * 255, "é" * 127, "/".join(["d"] * MAX_DEPTH), "/".join(["n" * 254] * 16),
]  # fmt: skip


@pytest.mark.parametrize("text", TRAVERSALS)
def test_path_that_asks_for_something_outside_is_a_traversal(text: str) -> None:
    with pytest.raises(Traversal):
        RelPath.parse(text)


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_path_is_refused_and_is_no_traversal(text: str) -> None:
    with pytest.raises(InvalidPath) as caught:
        RelPath.parse(text)
    assert type(caught.value) is InvalidPath


@pytest.mark.parametrize("text", ACCEPTED)
def test_nearest_existing_name_is_accepted_as_it_is(text: str) -> None:
    path = RelPath.parse(text)
    assert (str(path), path.parts, path.encoded()) == (text, tuple(text.split("/")), text.encode())


def test_the_bounds_and_our_own_names_are_those_that_others_rely_on() -> None:
    """Those of Linux's limits.h for names and paths; entries of the trash and temporaries outlive the process."""
    assert (MAX_DEPTH, MAX_NAME_BYTES, MAX_PATH_BYTES) == (64, 255, 4095)
    assert (OWN_PREFIX, TRASH_FOLDER) == (".~fsn-", ".trash")


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("20260131T235959Z-" + "0123456789abcdef" * 2, True),
        ("20260131T235959Z-" + "0123456789ABCDEF" * 2, False),
        ("20260131T235959Z-" + "0" * 31, False),
        ("20260131T235959Z-" + "0" * 33, False),
        ("2026013T1235959Z-" + "0" * 32, False),
        ("٢٠٢٦0131T235959Z-" + "0" * 32, False),
        (" 20260131T235959Z-" + "0" * 32, False),
        ("20260131T235959Z-" + "0" * 32 + "\n", False),
        ("", False),
    ],
)
def test_an_entry_of_the_trash_has_a_name_of_one_form(name: str, is_one: bool) -> None:
    assert is_entry_name(name) is is_one


@pytest.mark.parametrize(
    ("name", "component"),
    [
        (b"a", "a"),
        (b"caf\xc3\xa9", "café"),
        (b"caf\xe9", None),
        (b"..", None),
        (b"a\\b", None),
        (b"", None),
        ("é".encode() * 127, "é" * 127),
        ("é".encode() * 128, None),
    ],
)
def test_a_name_on_the_disk_is_a_component_or_none(name: bytes, component: str | None) -> None:
    assert component_of(name) == component


def test_longest_path_is_accepted_and_one_byte_more_is_refused() -> None:
    longest = "/".join(["é" * 127] * 16)  # 16 * 254 bytes and 15 slashes
    assert len(longest.encode()) == 4079
    exact = longest + "/" + "x" * (MAX_PATH_BYTES - 4080)
    assert len(RelPath.parse(exact).encoded()) == MAX_PATH_BYTES
    with pytest.raises(InvalidPath):
        RelPath.parse(exact + "x")


def test_a_text_of_the_longest_path_is_parsed_and_one_character_more_is_not() -> None:
    longest = "/".join(["n" * 255] * 15 + ["n" * 127, "n" * 127])
    assert len(longest) == MAX_PATH_BYTES
    assert str(RelPath.parse(longest)) == longest
    with pytest.raises(InvalidPath):
        RelPath.parse(longest + "n")


def test_a_folder_that_is_all_of_the_disk_is_a_traversal() -> None:
    with pytest.raises(Traversal):
        RelPath.parse_folder("/")


@pytest.mark.parametrize(
    ("text", "parts"), [("", ()), ("a", ("a",)), ("a/", ("a",)), ("a/b/", ("a", "b")), ("a/b", ("a", "b"))]
)
def test_folder_may_be_the_root_and_end_with_one_slash(text: str, parts: tuple[str, ...]) -> None:
    assert RelPath.parse_folder(text) == RelPath(parts)


@pytest.mark.parametrize(
    "text", ["/", "//", "/a", "..", "../", "a/../", ".", "./", "a\\", "a//", "a//b", "a\0/"]
)
def test_folder_is_judged_like_any_other_path(text: str) -> None:
    with pytest.raises(InvalidPath):
        RelPath.parse_folder(text)


@pytest.mark.parametrize("part", ["", ".", "..", "a/b", "/", "a\\b", "a\0b", "\udce9", "x" * 256])
def test_neither_the_constructor_nor_child_takes_what_is_not_one_component(part: str) -> None:
    with pytest.raises(InvalidPath):
        RelPath((part,))
    with pytest.raises(InvalidPath):
        RelPath(("a",)).child(part)


def test_child_keeps_the_bounds_of_the_whole() -> None:
    deepest = RelPath(("d",) * MAX_DEPTH)
    with pytest.raises(InvalidPath):
        deepest.child("e")
    with pytest.raises(InvalidPath):
        RelPath(("n" * 255,) * 15).child("n" * 255).child("n")
    assert deepest.parent.child("e") == RelPath((*("d",) * (MAX_DEPTH - 1), "e"))


def test_name_and_parent_take_a_path_apart() -> None:
    path = RelPath(("a", "b", "c.md"))
    assert (path.name, path.parent, path.parent.child(path.name)) == ("c.md", RelPath(("a", "b")), path)
    assert (ROOT.name, ROOT.parent, str(ROOT), ROOT.encoded()) == ("", ROOT, "", b"")


@pytest.mark.parametrize(
    ("path", "folder", "inside"),
    [
        ("notes", "notes", True),
        ("notes/a.md", "notes", True),
        ("notes/sub/a.md", "notes/sub", True),
        ("notes-evil/a.md", "notes", False),
        ("notes.md", "notes", False),
        ("note", "notes", False),
        ("Notes/a.md", "notes", False),
        ("x/notes/a.md", "notes", False),
        ("notes", "notes/sub", False),
    ],
)
def test_inside_is_decided_by_component_and_prefix_twins_are_outside(
    path: str, folder: str, inside: bool
) -> None:
    assert RelPath.parse(path).starts_with(RelPath.parse(folder)) is inside
    assert RelPath.parse(path).starts_with(ROOT)


def test_order_is_by_component_so_a_folder_comes_right_before_what_is_in_it() -> None:
    texts = ["a b/x", "a", "a/z", "a-b", "a/b/c"]
    assert [str(path) for path in sorted(map(RelPath.parse, texts))] == ["a", "a/b/c", "a/z", "a b/x", "a-b"]


@pytest.mark.parametrize(
    ("text", "hidden"),
    [(".git/config", True), ("a/.b/c", True), ("a/.b", True), ("a/b.c", False), ("a..", False)],
)
def test_dot_component_anywhere_hides_a_path(text: str, hidden: bool) -> None:
    assert is_hidden(RelPath.parse(text)) is hidden


def test_root_is_not_hidden() -> None:
    assert not is_hidden(ROOT)


# -- new names -------------------------------------------------------------------------------------

GOOD_NAMES = {
    "plain": "note.md",
    "spaces inside": "my first note.md",
    "dots inside": "v1.2..3.md",
    "no extension": "folder",
    "composed accent": "café.md",
    "Japanese": "日本語のノート.md",
    "ideographic space inside": "東京　大阪.md",
    "Arabic": "ملاحظة.md",
    "Persian with a joiner between letters": "می\u200cخواهم.md",
    "Hindi with a joiner after a virama": "क्\u200dष.md",
    "Bengali with a joiner before a virama": "র\u200d্যাব.md",
    "Sinhala": "ශ්\u200dරී.md",
    "emoji": "😀.md",
    "emoji family": "👩\u200d👩\u200d👧\u200d👦.md",
    "emoji with skin tones": "🧑🏽\u200d🤝\u200d🧑🏿.md",
    "emoji with selector and joiner": "🏳\ufe0f\u200d🌈.md",
    "emoji selector": "❤\ufe0f.md",
    "arrow emoji": "🙂\u200d↔\ufe0f.md",
    "keycap": "1\ufe0f\u20e3 first.md",
    "text selector": "☎\ufe0e.md",
    "country flag": "🇩🇪.md",
    "flag made of tags": "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f.md",
    "newer emoji": "\U0001fae9.md",
    "marks that portable systems take": "a'b & c, (d) [e] {f} #g @h !i ~j $k %l ^m +n =o;p.md",
    "device name as part of a word": "CONtract.md",
    "device name as extension": "a.con",
    "device name after a space": "a CON.md",
    "nearly a device": "COM10.md",
    "nearly our prefix": "~fsn-1.md",
    "nearly the trash": "trash",
    "255 bytes": "n" * 252 + ".md",
    "255 bytes in two-byte letters": "é" * 126 + ".md",
    "percent": "%2e%2e",
    "dash first": "-rf.md",
}

BAD_NAMES = {
    "empty": "",
    "dot": ".",
    "two dots": "..",
    "three dots": "...",
    "slash": "a/b.md",
    "backslash": "a\\b.md",
    "NUL": "a\0b.md",
    "lone surrogate": "a\udce9.md",
    "dot file": ".hidden.md",
    "dot folder": ".git",
    "our prefix": OWN_PREFIX + "1",
    "our prefix in capitals": OWN_PREFIX.upper() + "1",
    "trash": TRASH_FOLDER,
    "trash in capitals": TRASH_FOLDER.upper(),
    "trash in mixed case": ".Trash",
    "line feed": "a\nb.md",
    "tab": "a\tb.md",
    "escape": "a\x1b[31m.md",
    "delete": "a\x7f.md",
    "C1 control": "a\x85b.md",
    "line separator": "a\u2028b.md",
    "paragraph separator": "a\u2029b.md",
    "right-to-left override": "a\u202edm.exe",
    "right-to-left mark": "a\u200f.md",
    "Arabic letter mark": "a\u061c.md",
    "isolate": "a\u2066b\u2069.md",
    "zero width space": "a\u200bb.md",
    "word joiner": "a\u2060b.md",
    "byte order mark": "\ufeffa.md",
    "soft hyphen": "a\u00adb.md",
    "grapheme joiner": "a\u034fb.md",
    "Hangul filler": "\u3164.md",
    "half-width Hangul filler": "a\uffa0.md",
    "invisible times": "a\u2062b.md",
    "hidden tag text": "a\U000e0061\U000e0062.md",
    "hidden tag text behind a flag": "🏴\U000e0061\U000e0062\U000e007f.md",
    "ideographic variation": "葛\U000e0100.md",
    "noncharacter": "a\ufffeb.md",
    "noncharacter of another plane": "a\U0010ffff.md",
    "interlinear annotation": "a\ufff9b.md",
    "joiner at the start": "\u200da.md",
    "joiner at the end": "a.md\u200d",
    "joiner before a dot": "a\u200d.md",
    "joiner between digits": "1\u200d2.md",
    "joiner between letter and emoji": "a\u200d😀.md",
    "joiner between emoji and letter": "😀\u200da.md",
    "two joiners": "می\u200c\u200cخواهم.md",
    "two joiners between emoji": "👩\u200d\u200d👧.md",
    "selector after a letter": "a\ufe0f.md",
    "selector after a digit": "1\ufe0f.md",
    "two selectors": "❤\ufe0f\ufe0f.md",
    "decomposed accent": "cafe\u0301.md",
    "compatibility singleton": "\u212b.md",
    "leading space": " a.md",
    "trailing space": "a.md ",
    "leading ideographic space": "　a.md",
    "trailing no-break space": "a.md\u00a0",
    "trailing dot": "a.",
    "two trailing dots": "a.md..",
    "colon": "a:b.md",
    "star": "a*.md",
    "question mark": "what?.md",
    "quote": 'a"b.md',
    "less": "a<b.md",
    "greater": "a>b.md",
    "pipe": "a|b.md",
    "CON": "CON",
    "con with extension": "con.md",
    "NUL with two extensions": "nul.tar.md",
    "COM1": "Com1.md",
    "LPT9": "lpt9",
    "COM with a superscript": "COM¹.md",
    "device and a space": "CON .md",
    "console input": "CONIN$",
    "console output": "conout$.md",
    "256 bytes": "n" * 253 + ".md",
    "256 bytes in two-byte letters": "é" * 128,
}


@pytest.mark.parametrize("name", GOOD_NAMES.values(), ids=GOOD_NAMES.keys())
def test_portable_name_may_be_given(name: str) -> None:
    check_new_name(name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (".~fsn-x", "reserved for fsnotes itself"),
        (".~FSN-", "reserved for fsnotes itself"),
        (".Trash", "reserved for fsnotes itself"),
        (".trash-1", "it begins with a dot"),
        (".git", "it begins with a dot"),
        ("a\u202e.md", "it has a control, bidi or invisible character"),
        ("e\u0301.md", "it is not in Unicode's composed form (NFC)"),
        (" a", "it begins or ends with a space"),
        ("a\u3000", "it begins or ends with a space"),
        ("a.", "it ends with a dot"),
        ("CON .md", "it cannot be used on every system"),
        ("conout$ .md", "it cannot be used on every system"),
        ("a:b", "it cannot be used on every system"),
        ("", "an empty component (two slashes in a row, or one at the end)"),
        ("..", "a dot segment"),
    ],
)
def test_it_is_said_why_a_name_may_not_be_given(name: str, reason: str) -> None:
    with pytest.raises(UnacceptableName) as refused:
        check_new_name(name)
    assert (refused.value.name, refused.value.reason) == (name, reason)


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES.keys())
def test_name_that_some_system_or_person_would_misread_may_not_be_given(name: str) -> None:
    with pytest.raises(UnacceptableName) as caught:
        check_new_name(name)
    assert caught.value.name == name
    assert caught.value.reason


@pytest.mark.parametrize("device", ["CON", "PRN", "AUX", "NUL", "COM1", "COM9", "LPT1", "LPT9"])
@pytest.mark.parametrize("shape", ["{}", "{}.md", "{} .md", "{}.a.b", "{}  .md"])
def test_device_names_are_refused_in_every_case_and_shape(device: str, shape: str) -> None:
    for spelling in (device, device.lower(), device.title()):
        with pytest.raises(UnacceptableName):
            check_new_name(shape.format(spelling))
    check_new_name(shape.format("x" + device))


def test_pathvalidate_is_not_loaded_before_a_name_is_judged() -> None:
    code = (
        "import sys, sandbox.names, sandbox.uris\n"
        "assert 'pathvalidate' not in sys.modules\n"
        "sandbox.names.check_new_name('a.md')\n"
        "assert 'pathvalidate' in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")


# -- what a person is shown ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain.md", "plain.md"),
        ("日本 é 😀.md", "日本 é 😀.md"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d👧", "👩\u200d👧"),
        (b"plain.md", "plain.md"),
        ("é".encode(), "é"),
        (b"caf\xe9.md", r"caf\xe9.md"),
        ("caf\udce9.md", r"caf\xe9.md"),
        (b"\xc0\xaf", r"\xc0\xaf"),
        ("\ud800", r"\ud800"),
        ("a\nb\x1b[2J\x85", r"a\u000ab\u001b[2J\u0085"),
        ("a\u202eb", r"a\u202eb"),
        ("a\U000e0061", r"a\U000e0061"),
        ("a\u200d", r"a\u200d"),
        ("❤\ufe0f\ufe0f\u200d❤", r"❤" + "\ufe0f" + r"\ufe0f\u200d❤"),
        (r"a\xe9", r"a\\xe9"),
        (b"a\\b", r"a\\b"),
    ],
)
def test_hostile_name_is_shown_with_its_characters_spelled_out(name: str | bytes, shown: str) -> None:
    assert display(name) == shown


@pytest.mark.parametrize("name", [name for name in BAD_NAMES.values() if is_deceptive(name)])
def test_deceptive_name_is_shown_differently_and_a_plain_one_is_not(name: str) -> None:
    assert display(name) != name
    assert not is_deceptive(display(name))


# -- properties ------------------------------------------------------------------------------------

_PIECES = st.sampled_from(
    ["/", "//", ".", "..", "...", "\\", "\0", "%2e", "%2f", "a", "notes", " ", "é", "e\u0301", "\udce9",
     "\u202e", "~", "\uff0e", "x" * 255]
)  # fmt: skip
_HOSTILE = st.lists(_PIECES, max_size=12).map("".join)
_ANY = st.text(st.characters(), max_size=20)
_TRICKY_PIECES = [
    *"aب1 .❤😀👩क्र\u0301\u20e3\u200c\u200d\ufe0e\ufe0f\u202e\U0001f3fd🏴\\\U000e0067\udce9",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
]
_TRICKY = st.lists(st.sampled_from(_TRICKY_PIECES), max_size=10).map("".join)


@given(st.one_of(_HOSTILE, _ANY))
@example("a/..")
def test_no_accepted_path_leaves_the_root_and_accepted_implies_round_trip(text: str) -> None:
    try:
        path = RelPath.parse(text)
    except InvalidPath:
        return
    joined = posixpath.join("/root/notes", str(path))
    assert posixpath.normpath(joined) == joined  # the oracle: nothing in it moves when it is resolved
    assert joined.startswith("/root/notes/")
    assert RelPath.parse(str(path)) == path == RelPath(path.parts)
    assert path.encoded() == os.fsencode(str(path))
    assert RelPath.parse_folder(text) == RelPath.parse_folder(text + "/") == path
    assert path.parent.child(path.name) == path
    assert path.starts_with(path.parent)
    assert not path.parent.child(path.name + "x" if len(path.name) < 9 else "x").starts_with(path)


@given(st.one_of(_HOSTILE, _ANY, _TRICKY))
def test_every_acceptable_new_name_is_one_plain_visible_component(name: str) -> None:
    try:
        check_new_name(name)
    except UnacceptableName:
        return
    assert RelPath.parse(name).parts == (name,)
    assert not is_hidden(RelPath.parse(name))
    assert not is_deceptive(name)
    assert display(name) == name
    assert unicodedata.normalize("NFC", name) == name.strip() == name
    assert len(name.encode()) <= MAX_NAME_BYTES


@given(st.one_of(_ANY, _TRICKY))
def test_display_is_always_sendable_never_deceptive_and_tells_names_apart(name: str) -> None:
    shown = display(name)
    shown.encode()
    assert not is_deceptive(shown)
    assert (shown == name) == (not is_deceptive(name) and "\\" not in name)
    assert _read_back(shown) == name


@given(st.binary(max_size=30))
def test_display_of_bytes_loses_none(name: bytes) -> None:
    assert _read_back(display(name)).encode("utf-8", "surrogateescape") == name


def _read_back(shown: str) -> str:
    """The inverse of `display`, written the long way round."""
    text, at = "", 0
    while at < len(shown):
        if shown[at] != "\\":
            text, at = text + shown[at], at + 1
        elif shown[at + 1] == "\\":
            text, at = text + "\\", at + 2
        else:
            width = {"x": 2, "u": 4, "U": 8}[shown[at + 1]]
            number = int(shown[at + 2 : at + 2 + width], 16)
            text += chr(number + 0xDC00 if shown[at + 1] == "x" else number)
            at += 2 + width
    return text


def test_every_noncharacter_is_deceptive() -> None:
    """The 66 of the Unicode Standard, section 23.7: in each plane the last two, and a block of 32."""
    last = [plane * 0x1_0000 + each for plane in range(17) for each in (0xFFFE, 0xFFFF)]
    for number in (*last, *range(0xFDD0, 0xFDF0)):
        assert is_deceptive(f"a{chr(number)}b")
    for number in (0xFFFD, 0x1_FFFD, 0xFDCF, 0xFDF0):
        assert not is_deceptive(f"a{chr(number)}b")


@pytest.mark.parametrize(
    ("text", "deceptive"),
    [
        ("👩\u200d🚀", False),
        ("👩🏽\u200d🚀", False),
        ("🏳\ufe0f\u200d🌈", False),
        ("❤\ufe0f\u200d🔥", False),
        ("👩a\u200d🚀", True),
        ("a\u200d🚀", True),
        ("\u200d🚀", True),
        ("\ufe0f\u200d🚀", True),
        ("🏽\u200d", True),
        ("👩\u200d", True),
        ("\U0001fafe\ufe0f", False),
        ("\U0001faff\ufe0f", False),
        ("\U0001fb00\ufe0f", False),
        ("\U0001f000\ufe0f", False),
        ("\U0001efff\ufe0f", True),
        ("\U0001f3fd\u200d🚀", True),
        ("a b", False),
        ("1\ufe0f\u20e3", False),
        ("a1\ufe0f\u20e3", False),
        ("1a\ufe0f\u20e3", True),
        ("🚀a\ufe0f", True),
        ("a\ufe0f", True),
        ("\ufe0f", True),
        ("\ufe0f🚀", True),
    ],
)
def test_what_joins_or_chooses_emoji_stands_between_or_behind_them(text: str, deceptive: bool) -> None:
    assert is_deceptive(text) is deceptive


def test_a_path_of_large_characters_is_counted_in_bytes() -> None:
    longest = RelPath(("😀" * 16,) * 63)
    assert len(longest.encoded()) == MAX_PATH_BYTES - 1
    with pytest.raises(InvalidPath):
        RelPath(("😀" * 16,) * 64)
    with pytest.raises(InvalidPath):
        longest.child("😀" * 16)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"\x80", "\\x80"),
        (b"\xff", "\\xff"),
        ("\udc7f", "\\udc7f"),
        ("\udd00", "\\udd00"),
        ("\uffff", "\\uffff"),
        ("\U0001fffe", "\\U0001fffe"),
        ("\x7f", "\\u007f"),
    ],
)
def test_bytes_and_characters_are_spelled_out_by_their_size(name: str | bytes, shown: str) -> None:
    assert display(name) == shown


def test_no_path_comes_before_itself() -> None:
    assert not RelPath.parse("a/b") < RelPath.parse("a/b")
    assert RelPath.parse("a/b") < RelPath.parse("a/c")


def test_every_format_control_and_separator_character_is_deceptive_where_it_stands_alone() -> None:
    seen = {  # Arabic, Syriac and Kaithi signs over numbers, and the way hieroglyphs are stacked
        *range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13456),
    }  # fmt: skip
    unseen = [
        number
        for number in range(sys.maxunicode + 1)
        if unicodedata.category(chr(number)) in {"Cc", "Cs", "Zl", "Zp", "Cf"} and number not in seen
    ]
    assert len(unseen) > 2048 + 65 + 100
    assert [hex(number) for number in unseen if not is_deceptive(f"a{chr(number)}.")] == []


# Default_Ignorable_Code_Point of Unicode's DerivedCoreProperties.txt, with what it reserves for later.
IGNORABLE = [
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
]  # fmt: skip
EMPTY = (0x2800, 0x1D159)
"""Symbols whose glyph is empty: the braille pattern without dots, and the null notehead."""


def test_whatever_shows_nothing_is_unseen_and_what_shows_is_not() -> None:
    ignorable = [number for first, last in IGNORABLE for number in range(first, last + 1)]
    spaces = [number for number in range(sys.maxunicode + 1) if unicodedata.category(chr(number)) == "Zs"]
    assert len(spaces) > 15
    spaces.remove(0x20)
    for number in (*ignorable, *EMPTY, *spaces, 0xE000, 0x10FFFD, 0x9, 0xA, 0x2028, 0xD800):
        assert unseen(f"a{chr(number)}.") == {1}, hex(number)
        assert not shows(f" {chr(number)} "), hex(number)
        assert shows(f"{chr(number)}a"), hex(number)
    for number in (*ignorable, *EMPTY):
        assert is_deceptive(f"a{chr(number)}."), hex(number)
    for text in (
        "a b",
        "caf\u00e9",
        "\u65e5\u672c",
        "\U0001f600",
        "\u2764\ufe0f",
        "\u2801\u2800\u2801",
        "\u0600\u0661",
    ):
        assert (unseen(text), shows(text)) == (frozenset(), True), text
    assert not any(map(shows, ("", " ", "\u2800\u2800\u2800")))


def test_spaces_are_part_of_a_name_though_they_are_not_seen() -> None:
    for name in ("a\u3000b", "a\u00a0b"):
        assert (is_deceptive(name), unseen(name), display(name)) == (False, {1}, name)
        check_new_name(name)
    for name in ("a\u2800b", "a\u3164b"):
        assert is_deceptive(name)
        with pytest.raises(UnacceptableName):
            check_new_name(name)
    check_new_name("\u2801\u2800\u2803")
