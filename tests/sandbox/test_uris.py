"""What a `file://` URI may be, in every spelling that has ever been used to get out."""

from __future__ import annotations

import posixpath
import urllib.parse

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sandbox.errors import InvalidUri
from sandbox.uris import MAX_URI_BYTES, FileUri

NOTES = FileUri(("work", "notes"))

REFUSED = {
    "dot segment": "file:///work/notes/../private.md",
    "dot segment, escaped": "file:///work/notes/%2e%2e/private.md",
    "dot segment, escaped in capitals": "file:///work/notes/%2E%2E/private.md",
    "dot segment, half escaped": "file:///work/notes/.%2e/private.md",
    "dot segment, other half escaped": "file:///work/notes/%2E./private.md",
    "dot segment at the end": "file:///work/notes/..",
    "dot segment at the end, with a slash": "file:///work/notes/../",
    "dot segment at the start": "file:///../work/notes",
    "dot segment that stays inside": "file:///work/notes/sub/../a.md",
    "single dot": "file:///work/./notes",
    "single dot, escaped": "file:///work/%2e/notes",
    "escaped slash": "file:///work/notes%2Fa.md",
    "escaped slash, small": "file:///work/notes%2fa.md",
    "escaped slash hides a dot segment": "file:///work/notes/..%2fprivate.md",
    "escaped backslash": "file:///work/notes%5Ca.md",
    "escaped backslash, small": "file:///work/notes/..%5cprivate.md",
    "backslash": "file:///work\\notes",
    "backslash for every slash": "file:\\\\\\work\\notes",
    "NUL, escaped": "file:///work/notes%00/a.md",
    "NUL": "file:///work/notes\0/a.md",
    "line feed": "file:///work/notes\n",
    "tab inside the scheme": "fi\tle:///work/notes",
    "tab inside a dot segment": "file:///work/notes/.\t./private.md",
    "overlong slash": "file:///work/notes%c0%af..",
    "overlong dots": "file:///work/notes/%c0%ae%c0%ae/private.md",
    "overlong dot of three bytes": "file:///work/%e0%80%ae%e0%80%ae/notes",
    "overlong NUL": "file:///work/notes%C0%80",
    "escaped surrogate": "file:///work/%ED%A0%80",
    "escaped surrogate pair": "file:///work/%ED%A0%BD%ED%B8%80",
    "beyond Unicode": "file:///work/%F4%90%80%80",
    "Latin-1 byte": "file:///work/caf%E9",
    "cut sequence": "file:///work/%E2%82",
    "lone surrogate": "file:///work/\ud800",
    "surrogates that stand for bytes": "file:///work/\udcc3\udca9",
    "escape without digits": "file:///work/100%",
    "escape with one digit": "file:///work/100%2",
    "escape with other letters": "file:///work/%zz",
    "escape with a sign": "file:///work/%+1",
    "escape with a full-width digit": "file:///work/%\uff12\uff10",
    "IIS escape": "file:///work/%u002e%u002e/x",
    "userinfo": "file://alice@/work/notes",
    "userinfo and host": "file://alice@localhost/work/notes",
    "userinfo, empty": "file://@localhost/work/notes",
    "port": "file://localhost:80/work/notes",
    "port without host": "file://:80/work/notes",
    "port, empty": "file://localhost:/work/notes",
    "other host": "file://example.com/work/notes",
    "host that begins like ours": "file://localhost.example.com/work/notes",
    "host with a last dot": "file://localhost./work/notes",
    "host, escaped": "file://%6cocalhost/work/notes",
    "host, empty by escape": "file://%00/work/notes",
    "host as number": "file://127.0.0.1/work/notes",
    "host as IPv6": "file://[::1]/work/notes",
    "host with a long s": "file://localho\u017ft/work/notes",
    "host with a backslash": "file://localhost\\@example.com/work/notes",
    "path taken for a host": "file://work/notes",
    "two dots taken for a host": "file://../work/notes",
    "query": "file:///work/notes?x=1",
    "query, empty": "file:///work/notes?",
    "fragment": "file:///work/notes#top",
    "fragment, empty": "file:///work/notes#",
    "query instead of a path": "file://?/work",
    "no authority": "file:/work/notes",
    "no authority, no slash": "file:work/notes",
    "no authority, encoded": "file:%2f%2f/work/notes",
    "four slashes": "file:////work/notes",
    "five slashes": "file://///work/notes",
    "host and two slashes": "file://localhost//work/notes",
    "empty component": "file:///work//notes",
    "two trailing slashes": "file:///work/notes//",
    "only slashes": "file:////",
    "no path": "file://",
    "host without path": "file://localhost",
    "scheme alone": "file:",
    "empty": "",
    "a path": "/work/notes",
    "other scheme": "https:///work/notes",
    "longer scheme": "xfile:///work/notes",
    "scheme with a dotless i": "f\u0131le:///work/notes",
    "scheme with a dotted I": "F\u0130LE:///work/notes",
    "scheme with a ligature": "\ufb01le:///work/notes",
    "space before": " file:///work/notes",
    "byte order mark before": "\ufefffile:///work/notes",
    "component of 256 bytes": "file:///work/" + "n" * 256,
    "component of 256 bytes in two-byte letters": "file:///work/" + "%C3%A9" * 128,
    "too long": "file://" + "/n" * MAX_URI_BYTES,
}

ALLOWED = {
    "plain": ("file:///work/notes", ("work", "notes")),
    "scheme in capitals": ("FILE:///work/notes", ("work", "notes")),
    "scheme mixed": ("FiLe:///work/notes", ("work", "notes")),
    "our own host": ("file://localhost/work/notes", ("work", "notes")),
    "our own host in capitals": ("file://LOCALHOST/work/notes", ("work", "notes")),
    "one trailing slash": ("file:///work/notes/", ("work", "notes")),
    "the whole disk": ("file:///", ()),
    "the whole disk on our host": ("file://localhost/", ()),
    "escaped letters": ("file:///%77ork/%6e%6F%74%65%73", ("work", "notes")),
    "escaped space": ("file:///work/my%20notes", ("work", "my notes")),
    "raw space": ("file:///work/my notes", ("work", "my notes")),
    "raw letters beyond ASCII": ("file:///work/café", ("work", "café")),
    "escaped letters beyond ASCII": ("file:///work/caf%C3%A9", ("work", "café")),
    "escaped emoji": ("file:///work/%F0%9F%98%80", ("work", "😀")),
    "three dots": ("file:///work/.../notes", ("work", "...", "notes")),
    "dots in a name": ("file:///work/..notes/a..md", ("work", "..notes", "a..md")),
    "a dot folder": ("file:///work/.git", ("work", ".git")),
    "dots and a space": ("file:///work/..%20/notes", ("work", ".. ", "notes")),
    "escaped percent is decoded once": ("file:///work/%252e%252e/notes", ("work", "%2e%2e", "notes")),
    "escaped slash is decoded once": ("file:///work/a%252fb", ("work", "a%2fb")),
    "escaped question mark and hash": ("file:///work/what%3F%23", ("work", "what?#")),
    "colon and at sign": ("file:///work/a:b@c", ("work", "a:b@c")),
    "plus is a plus": ("file:///work/a+b", ("work", "a+b")),
    "escaped line feed": ("file:///work/a%0Ab", ("work", "a\nb")),
    "full-width dots are letters": ("file:///work/\uff0e\uff0e", ("work", "\uff0e\uff0e")),
    "component of 255 bytes": ("file:///work/" + "n" * 255, ("work", "n" * 255)),
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_hostile_spelling_is_refused(text: str) -> None:
    with pytest.raises(InvalidUri):
        FileUri.parse(text)


@pytest.mark.parametrize(("text", "parts"), ALLOWED.values(), ids=ALLOWED.keys())
def test_nearest_honest_spelling_is_accepted_and_decoded_once(text: str, parts: tuple[str, ...]) -> None:
    assert FileUri.parse(text).parts == parts


@pytest.mark.parametrize("prefix", ["file://", "FILE://LocalHost"])
@pytest.mark.parametrize("first", [".", "%2e", "%2E"])
@pytest.mark.parametrize("second", [".", "%2e", "%2E", ""])
@pytest.mark.parametrize("place", ["/{}/work", "/work/{}/notes", "/work/{}", "/work/{}/"])
def test_dot_segments_are_refused_in_every_spelling_and_place(
    prefix: str, first: str, second: str, place: str
) -> None:
    with pytest.raises(InvalidUri):
        FileUri.parse(prefix + place.format(first + second))
    assert FileUri.parse(prefix + place.format(first + second + "x")).parts != ()


@pytest.mark.parametrize("byte", range(256))
def test_every_single_escape_is_decoded_or_refused_as_the_rules_say(byte: int) -> None:
    refused = byte >= 0x80 or byte in b"/\\\0"
    for text in (f"file:///a%{byte:02X}b", f"file:///a%{byte:02x}b"):
        if refused:
            with pytest.raises(InvalidUri):
                FileUri.parse(text)
        else:
            assert FileUri.parse(text).parts == (f"a{chr(byte)}b",)


@pytest.mark.parametrize(
    ("text", "beneath"),
    [
        ("file:///work/notes", ()),
        ("file:///work/notes/", ()),
        ("file://LOCALHOST/work/%6eotes/a.md", ("a.md",)),
        ("file:///work/notes/sub/a.md", ("sub", "a.md")),
        ("file:///work/notes-evil/secret.md", None),
        ("file:///work/notes.md", None),
        ("file:///work/notes%20", None),
        ("file:///work/note", None),
        ("file:///work/Notes", None),
        ("file:///work", None),
        ("file:///", None),
        ("file:///other/notes", None),
        ("file:///x/work/notes", None),
    ],
)
def test_beneath_is_decided_by_component_and_prefix_twins_are_outside(
    text: str, beneath: tuple[str, ...] | None
) -> None:
    assert FileUri.parse(text).relative_to(NOTES) == beneath


def test_everything_is_beneath_the_whole_disk() -> None:
    assert NOTES.relative_to(FileUri(())) == ("work", "notes")


def test_spellings_of_one_name_are_equal_and_the_trailing_slash_is_remembered() -> None:
    plain, slashed = FileUri.parse("file:///work/notes"), FileUri.parse("FILE://localhost/w%6Frk/notes/")
    assert plain == slashed == NOTES
    assert hash(plain) == hash(slashed)
    assert (plain.trailing_slash, slashed.trailing_slash) == (False, True)
    assert str(plain) == str(slashed) == "file:///work/notes"


def test_composed_and_decomposed_letters_are_different_names() -> None:
    assert FileUri.parse("file:///caf%C3%A9") != FileUri.parse("file:///cafe%CC%81")


def test_canonical_form_escapes_all_but_unreserved_characters() -> None:
    assert str(FileUri(("a b", "é", "%2e", "~x-y_z.md", "?#[@]:"))) == (
        "file:///a%20b/%C3%A9/%252e/~x-y_z.md/%3F%23%5B%40%5D%3A"
    )
    assert str(FileUri(())) == "file:///"


@pytest.mark.parametrize(
    "absolute",
    [
        "",
        "work",
        "./work",
        "//work",
        "///",
        "/work//notes",
        "/work/../x",
        "/./x",
        "/a\\b",
        "/a\0b",
        "/caf\udce9",
    ],
)
def test_path_that_is_not_plain_has_no_uri(absolute: str) -> None:
    with pytest.raises(InvalidUri):
        FileUri.from_path(absolute)


@pytest.mark.parametrize(
    ("absolute", "uri"),
    [
        ("/", "file:///"),
        ("/work", "file:///work"),
        ("/work/my notes/", "file:///work/my%20notes"),
        ("/work/100%/%2e%2e", "file:///work/100%25/%252e%252e"),
        ("/.../x", "file:///.../x"),
    ],
)
def test_plain_path_has_one_uri(absolute: str, uri: str) -> None:
    assert str(FileUri.from_path(absolute)) == uri
    assert FileUri.parse(uri) == FileUri.from_path(absolute)


@pytest.mark.parametrize("part", ["", ".", "..", "a/b", "a\\b", "a\0b", "\ud800", "x" * 256])
def test_constructor_refuses_what_is_not_one_component(part: str) -> None:
    with pytest.raises(InvalidUri):
        FileUri(("work", part))


# -- properties ------------------------------------------------------------------------------------

_PIECES = st.sampled_from(
    ["/", "//", ".", "..", "%2e", "%2E%2E", "%2f", "%5c", "\\", "%00", "%", "%25", "%c0%ae", "%C3%A9", "é",
     "a", "notes", "work", "?", "#", "@", ":", "localhost", " ", "\udce9", "%252e", "\uff0e"]
)  # fmt: skip
_HOSTILE = st.lists(_PIECES, max_size=12).map(lambda pieces: "file:///work/notes/" + "".join(pieces))
_PARTS = st.lists(
    st.text(
        st.characters(codec="utf-8", exclude_characters="/\\\0"), min_size=1, max_size=60
    ).filter(lambda text: text not in {".", ".."}),
    max_size=8,
).map(tuple)  # fmt: skip


@given(st.one_of(_HOSTILE, st.text(max_size=40).map("file:///".__add__), st.text(max_size=40)))
@example("file:///work/notes/%252e%252e/x")
def test_no_accepted_uri_resolves_outside_and_accepted_implies_round_trip(text: str) -> None:
    try:
        uri = FileUri.parse(text)
    except InvalidUri:
        return
    path = "/" + "/".join(uri.parts)
    assert posixpath.normpath(path) == path  # the oracle: nothing in it moves when it is resolved
    assert str(uri).isascii()
    assert FileUri.parse(str(uri)) == uri
    beneath = uri.relative_to(NOTES)
    assert (beneath is not None) == (posixpath.commonpath([path, "/work/notes"]) == "/work/notes")
    if text.startswith("file:///"):
        assert path == urllib.parse.unquote(text[len("file://") :]).rstrip("/") or uri.parts == ()


@given(_PARTS, st.data())
def test_any_escaping_of_the_same_components_is_the_same_uri(
    parts: tuple[str, ...], data: st.DataObject
) -> None:
    spelled = []
    for part in parts:
        letters = []
        for character in part:
            escaped = "".join(f"%{byte:02x}" for byte in character.encode())
            must = character in "%?#" or not character.isprintable()
            letters.append(escaped if must or data.draw(st.booleans()) else character)
        spelled.append("".join(letters))
    assert FileUri.parse("file:///" + "/".join(spelled)).parts == parts
    assert FileUri.from_path("/" + "/".join(parts)) == FileUri(parts)


@given(_PARTS, _PARTS)
def test_relative_to_is_the_inverse_of_joining(base: tuple[str, ...], rest: tuple[str, ...]) -> None:
    assert FileUri(base + rest).relative_to(FileUri(base)) == rest
    if base:
        twin = (*base[:-1], base[-1] + "x")
        assert FileUri(twin + rest).relative_to(FileUri(base)) is None
