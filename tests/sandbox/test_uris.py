"""What a `file://` URI may be, in every spelling that has ever been used to get out."""

from __future__ import annotations

import posixpath
import urllib.parse

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sandbox.errors import InvalidUri
from sandbox.uris import MAX_URI_BYTES, FileUri

NOTES = FileUri(("desk", "notes"))

REFUSED = {
    "dot segment": "file:///desk/notes/../private.md",
    "dot segment, escaped": "file:///desk/notes/%2e%2e/private.md",
    "dot segment, escaped in capitals": "file:///desk/notes/%2E%2E/private.md",
    "dot segment, half escaped": "file:///desk/notes/.%2e/private.md",
    "dot segment, other half escaped": "file:///desk/notes/%2E./private.md",
    "dot segment at the end": "file:///desk/notes/..",
    "dot segment at the end, with a slash": "file:///desk/notes/../",
    "dot segment at the start": "file:///../desk/notes",
    "dot segment that stays inside": "file:///desk/notes/sub/../a.md",
    "single dot": "file:///desk/./notes",
    "single dot, escaped": "file:///desk/%2e/notes",
    "escaped slash": "file:///desk/notes%2Fa.md",
    "escaped slash, small": "file:///desk/notes%2fa.md",
    "escaped slash hides a dot segment": "file:///desk/notes/..%2fprivate.md",
    "escaped backslash": "file:///desk/notes%5Ca.md",
    "escaped backslash, small": "file:///desk/notes/..%5cprivate.md",
    "backslash": "file:///desk\\notes",
    "backslash for every slash": "file:\\\\\\desk\\notes",
    "NUL, escaped": "file:///desk/notes%00/a.md",
    "NUL": "file:///desk/notes\0/a.md",
    "line feed": "file:///desk/notes\n",
    "tab inside the scheme": "fi\tle:///desk/notes",
    "tab inside a dot segment": "file:///desk/notes/.\t./private.md",
    "overlong slash": "file:///desk/notes%c0%af..",
    "overlong dots": "file:///desk/notes/%c0%ae%c0%ae/private.md",
    "overlong dot of three bytes": "file:///desk/%e0%80%ae%e0%80%ae/notes",
    "overlong NUL": "file:///desk/notes%C0%80",
    "escaped surrogate": "file:///desk/%ED%A0%80",
    "escaped surrogate pair": "file:///desk/%ED%A0%BD%ED%B8%80",
    "beyond Unicode": "file:///desk/%F4%90%80%80",
    "Latin-1 byte": "file:///desk/caf%E9",
    "cut sequence": "file:///desk/%E2%82",
    "lone surrogate": "file:///desk/\ud800",
    "surrogates that stand for bytes": "file:///desk/\udcc3\udca9",
    "escape without digits": "file:///desk/100%",
    "escape with one digit": "file:///desk/100%2",
    "escape with other letters": "file:///desk/%zz",
    "escape with a sign": "file:///desk/%+1",
    "escape with a full-width digit": "file:///desk/%\uff12\uff10",
    "IIS escape": "file:///desk/%u002e%u002e/x",
    "userinfo": "file://alice@/desk/notes",
    "userinfo and host": "file://alice@localhost/desk/notes",
    "userinfo, empty": "file://@localhost/desk/notes",
    "port": "file://localhost:80/desk/notes",
    "port without host": "file://:80/desk/notes",
    "port, empty": "file://localhost:/desk/notes",
    "other host": "file://example.com/desk/notes",
    "host that begins like ours": "file://localhost.example.com/desk/notes",
    "host with a last dot": "file://localhost./desk/notes",
    "host, escaped": "file://%6cocalhost/desk/notes",
    "host, empty by escape": "file://%00/desk/notes",
    "host as number": "file://127.0.0.1/desk/notes",
    "host as IPv6": "file://[::1]/desk/notes",
    "host with a long s": "file://localho\u017ft/desk/notes",
    "host with a backslash": "file://localhost\\@example.com/desk/notes",
    "path taken for a host": "file://desk/notes",
    "two dots taken for a host": "file://../desk/notes",
    "query": "file:///desk/notes?x=1",
    "query, empty": "file:///desk/notes?",
    "fragment": "file:///desk/notes#top",
    "fragment, empty": "file:///desk/notes#",
    "query instead of a path": "file://?/desk",
    "no authority": "file:/desk/notes",
    "no authority, no slash": "file:desk/notes",
    "no authority, encoded": "file:%2f%2f/desk/notes",
    "four slashes": "file:////desk/notes",
    "five slashes": "file://///desk/notes",
    "host and two slashes": "file://localhost//desk/notes",
    "empty component": "file:///desk//notes",
    "two trailing slashes": "file:///desk/notes//",
    "only slashes": "file:////",
    "no path": "file://",
    "host without path": "file://localhost",
    "scheme alone": "file:",
    "empty": "",
    "a path": "/desk/notes",
    "other scheme": "https:///desk/notes",
    "longer scheme": "xfile:///desk/notes",
    "scheme with a dotless i": "f\u0131le:///desk/notes",
    "scheme with a dotted I": "F\u0130LE:///desk/notes",
    "scheme with a ligature": "\ufb01le:///desk/notes",
    "space before": " file:///desk/notes",
    "byte order mark before": "\ufefffile:///desk/notes",
    "component of 256 bytes": "file:///desk/" + "n" * 256,
    "component of 256 bytes in two-byte letters": "file:///desk/" + "%C3%A9" * 128,
    "two characters where the authority begins": "file:ab/desk/notes",
    "two characters and no more": "file:ab",
    "too long": "file://" + "/n" * MAX_URI_BYTES,
}

ALLOWED = {
    "plain": ("file:///desk/notes", ("desk", "notes")),
    "scheme in capitals": ("FILE:///desk/notes", ("desk", "notes")),
    "scheme mixed": ("FiLe:///desk/notes", ("desk", "notes")),
    "our own host": ("file://localhost/desk/notes", ("desk", "notes")),
    "our own host in capitals": ("file://LOCALHOST/desk/notes", ("desk", "notes")),
    "one trailing slash": ("file:///desk/notes/", ("desk", "notes")),
    "the whole disk": ("file:///", ()),
    "the whole disk on our host": ("file://localhost/", ()),
    "escaped letters": ("file:///%64esk/%6e%6F%74%65%73", ("desk", "notes")),
    "escaped space": ("file:///desk/my%20notes", ("desk", "my notes")),
    "raw space": ("file:///desk/my notes", ("desk", "my notes")),
    "raw letters beyond ASCII": ("file:///desk/café", ("desk", "café")),
    "escaped letters beyond ASCII": ("file:///desk/caf%C3%A9", ("desk", "café")),
    "escaped emoji": ("file:///desk/%F0%9F%98%80", ("desk", "😀")),
    "three dots": ("file:///desk/.../notes", ("desk", "...", "notes")),
    "dots in a name": ("file:///desk/..notes/a..md", ("desk", "..notes", "a..md")),
    "a dot folder": ("file:///desk/.git", ("desk", ".git")),
    "dots and a space": ("file:///desk/..%20/notes", ("desk", ".. ", "notes")),
    "escaped percent is decoded once": ("file:///desk/%252e%252e/notes", ("desk", "%2e%2e", "notes")),
    "escaped slash is decoded once": ("file:///desk/a%252fb", ("desk", "a%2fb")),
    "escaped question mark and hash": ("file:///desk/what%3F%23", ("desk", "what?#")),
    "colon and at sign": ("file:///desk/a:b@c", ("desk", "a:b@c")),
    "plus is a plus": ("file:///desk/a+b", ("desk", "a+b")),
    "escaped line feed": ("file:///desk/a%0Ab", ("desk", "a\nb")),
    "full-width dots are letters": ("file:///desk/\uff0e\uff0e", ("desk", "\uff0e\uff0e")),
    "component of 255 bytes": ("file:///desk/" + "n" * 255, ("desk", "n" * 255)),
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
@pytest.mark.parametrize("place", ["/{}/desk", "/desk/{}/notes", "/desk/{}", "/desk/{}/"])
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
        ("file:///desk/notes", ()),
        ("file:///desk/notes/", ()),
        ("file://LOCALHOST/desk/%6eotes/a.md", ("a.md",)),
        ("file:///desk/notes/sub/a.md", ("sub", "a.md")),
        ("file:///desk/notes-evil/secret.md", None),
        ("file:///desk/notes.md", None),
        ("file:///desk/notes%20", None),
        ("file:///desk/note", None),
        ("file:///desk/Notes", None),
        ("file:///desk", None),
        ("file:///", None),
        ("file:///other/notes", None),
        ("file:///x/desk/notes", None),
    ],
)
def test_beneath_is_decided_by_component_and_prefix_twins_are_outside(
    text: str, beneath: tuple[str, ...] | None
) -> None:
    assert FileUri.parse(text).relative_to(NOTES) == beneath


def test_everything_is_beneath_the_whole_disk() -> None:
    assert NOTES.relative_to(FileUri(())) == ("desk", "notes")


def test_spellings_of_one_name_are_equal_and_the_trailing_slash_is_remembered() -> None:
    plain, slashed = FileUri.parse("file:///desk/notes"), FileUri.parse("FILE://localhost/d%65sk/notes/")
    assert plain == slashed == NOTES
    assert hash(plain) == hash(slashed)
    assert (plain.trailing_slash, slashed.trailing_slash) == (False, True)
    assert str(plain) == str(slashed) == "file:///desk/notes"


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
        "desk",
        "./desk",
        "//desk",
        "///",
        "/desk//notes",
        "/desk/../x",
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
        ("/desk", "file:///desk"),
        ("/desk/my notes/", "file:///desk/my%20notes"),
        ("/desk/100%/%2e%2e", "file:///desk/100%25/%252e%252e"),
        ("/.../x", "file:///.../x"),
    ],
)
def test_plain_path_has_one_uri(absolute: str, uri: str) -> None:
    assert str(FileUri.from_path(absolute)) == uri
    assert FileUri.parse(uri) == FileUri.from_path(absolute)


@pytest.mark.parametrize("part", ["", ".", "..", "a/b", "a\\b", "a\0b", "\ud800", "x" * 256])
def test_constructor_refuses_what_is_not_one_component(part: str) -> None:
    with pytest.raises(InvalidUri):
        FileUri(("desk", part))


# -- properties ------------------------------------------------------------------------------------

_PIECES = st.sampled_from(
    ["/", "//", ".", "..", "%2e", "%2E%2E", "%2f", "%5c", "\\", "%00", "%", "%25", "%c0%ae", "%C3%A9", "é",
     "a", "notes", "desk", "?", "#", "@", ":", "localhost", " ", "\udce9", "%252e", "\uff0e"]
)  # fmt: skip
_HOSTILE = st.lists(_PIECES, max_size=12).map(lambda pieces: "file:///desk/notes/" + "".join(pieces))
_PARTS = st.lists(
    st.text(
        st.characters(codec="utf-8", exclude_characters="/\\\0"), min_size=1, max_size=60
    ).filter(lambda text: text not in {".", ".."}),
    max_size=8,
).map(tuple)  # fmt: skip


@given(st.one_of(_HOSTILE, st.text(max_size=40).map("file:///".__add__), st.text(max_size=40)))
@example("file:///desk/notes/%252e%252e/x")
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
    assert (beneath is not None) == (posixpath.commonpath([path, "/desk/notes"]) == "/desk/notes")
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


def components(total: int) -> tuple[str, ...]:
    """Components that take *total* bytes, with a slash before each."""
    whole, rest = divmod(total, 256)
    return ("a" * 255,) * whole + (("b" * (rest - 1),) if rest > 1 else ())


def test_the_longest_uri_is_accepted_and_one_byte_more_is_refused() -> None:
    assert MAX_URI_BYTES == 8_192
    longest = components(MAX_URI_BYTES)
    assert FileUri(longest) == FileUri.parse("file:///" + "/".join(longest))
    more = (*components(MAX_URI_BYTES - 100), "b" * 100)
    with pytest.raises(InvalidUri):
        FileUri(more)
    with pytest.raises(InvalidUri):
        FileUri.parse("file:///" + "/".join(more))


def test_a_uri_has_no_trailing_slash_unless_it_is_given_one() -> None:
    assert FileUri(("a",)).trailing_slash is False
    assert FileUri(("a",), trailing_slash=True).trailing_slash is True


@pytest.mark.parametrize(("path", "slash"), [("/", True), ("/a/", True), ("/a", False), ("/a/b", False)])
def test_a_path_keeps_whether_it_has_a_trailing_slash(path: str, slash: bool) -> None:
    assert FileUri.from_path(path).trailing_slash is slash
