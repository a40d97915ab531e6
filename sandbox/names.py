"""Decide which texts are relative paths, which new names are acceptable, and how a hostile name is shown.

Existing names are taken as they are: any component that is one valid UTF-8 name. New names are judged much
more strictly, so that what fsnotes makes can be synced, shared and told apart by a person. Entries of the trash
have names of one form. Whether something exists, and what the kernel makes of a path, is left to `sandbox.root`:
nothing here touches a file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache

from sandbox.errors import InvalidPath, Traversal, UnacceptableName
from sandbox.records import record

MAX_DEPTH = 64
MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 4095
OWN_PREFIX = ".~fsn-"
TRASH_FOLDER = ".trash"

_SURROGATE = re.compile("[\ud800-\udfff]")
_ENTRY = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{32}")
_DOT_SEGMENTS = frozenset({".", ".."})


def is_entry_name(name: str) -> bool:
    """Say whether *name* is one that a trash entry of ours has: a UTC time and 128 bits in hex."""
    return _ENTRY.fullmatch(name) is not None


def component_fault(name: str) -> InvalidPath | None:
    """Say why *name* cannot be one component of a path, as the exception to raise; None when it can."""
    if name in _DOT_SEGMENTS:
        return Traversal("a dot segment")
    if "/" in name or "\\" in name:
        return Traversal("a separator inside a component")
    if not name:
        return InvalidPath("an empty component (two slashes in a row, or one at the end)")
    if "\0" in name:
        return InvalidPath("a NUL character")
    if len(name) > MAX_NAME_BYTES:
        return InvalidPath(f"a component longer than {MAX_NAME_BYTES} bytes")
    if name.isascii():
        return None
    if _SURROGATE.search(name):
        return InvalidPath("not Unicode text")
    if len(name.encode()) > MAX_NAME_BYTES:
        return InvalidPath(f"a component longer than {MAX_NAME_BYTES} bytes")
    return None


def component_of(name: bytes) -> str | None:
    """Return *name*, as a folder holds it, as a component of a path; None when it cannot be one."""
    try:
        text = name.decode()
    except UnicodeDecodeError:
        return None
    return None if component_fault(text) is not None else text


@record
class RelPath:
    """A path relative to a root, one component after the other; without components it is the root itself.

    Holding one proves that every component is a single valid name and that the whole is within the bounds. It
    does not prove that the kernel stays beneath the root when it follows the path: a link may stand anywhere.
    """

    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # A fault that asks for something outside is reported before one that is merely malformed, so that
        # "a//../b" is a traversal however it is read.
        faults = [fault for part in self.parts if (fault := component_fault(part)) is not None]
        for fault in faults:
            if isinstance(fault, Traversal):
                raise fault
        for fault in faults:
            raise fault
        _check_bounds(self.parts)

    @classmethod
    def parse(cls, text: str) -> RelPath:
        """Return the path that *text* spells, component by component, decoding nothing.

        Raises Traversal for a leading "/", a dot segment or a backslash, and InvalidPath for an empty text,
        an empty component (a trailing "/" too), NUL, a lone surrogate, or more than the bounds allow.
        """
        if not text:
            raise InvalidPath("empty")
        if len(text) > MAX_PATH_BYTES:
            raise InvalidPath(f"longer than {MAX_PATH_BYTES} bytes")
        if text[0] == "/":
            raise Traversal("an absolute path")
        return cls(tuple(text.split("/")))

    @classmethod
    def parse_folder(cls, text: str) -> RelPath:
        """Return the folder that *text* spells: as `parse`, but "" is the root and a last "/" is fine."""
        if text == "":
            return ROOT
        return cls.parse(text if text == "/" else text.removesuffix("/"))

    def __lt__(self, other: RelPath) -> bool:
        return self.parts < other.parts

    def __str__(self) -> str:
        return "/".join(self.parts)

    @property
    def name(self) -> str:
        """The last component; "" for the root."""
        return self.parts[-1] if self.parts else ""

    @property
    def parent(self) -> RelPath:
        """The path without its last component; the root is its own parent."""
        return _proven(self.parts[:-1])

    def child(self, name: str) -> RelPath:
        """Return the path of *name* in this folder. Raises what the constructor raises."""
        fault = component_fault(name)
        if fault is not None:
            raise fault
        parts = (*self.parts, name)
        _check_bounds(parts)
        return _proven(parts)

    def starts_with(self, folder: RelPath) -> bool:
        """Say whether this is *folder* or lies in it, by component: "ab" does not start with "a"."""
        return self.parts[: len(folder.parts)] == folder.parts

    def encoded(self) -> bytes:
        """Return the bytes of the path, as system calls take them."""
        return str(self).encode()


def _check_bounds(parts: tuple[str, ...]) -> None:
    if len(parts) > MAX_DEPTH:
        raise InvalidPath(f"deeper than {MAX_DEPTH} components")
    # A character is at most four bytes, so short paths need no counting.
    characters = sum(map(len, parts)) + len(parts)
    if characters * 4 > MAX_PATH_BYTES and len("/".join(parts).encode()) > MAX_PATH_BYTES:
        raise InvalidPath(f"longer than {MAX_PATH_BYTES} bytes")


def _proven(parts: tuple[str, ...]) -> RelPath:
    """Make a path of components that came out of other paths, without judging each again (lists are long)."""
    path = object.__new__(RelPath)
    object.__setattr__(path, "parts", parts)
    return path


ROOT = RelPath()


def is_hidden(path: RelPath) -> bool:
    """Say whether any component begins with a dot: such files and folders are never notes."""
    return any(part[0] == "." for part in path.parts)


# -- characters that a person cannot see, or that change what they see -------------------------

_JOINERS = "\u200c\u200d"
_PRESENTATION = "\ufe0e\ufe0f"

# Control characters, line separators, bidi controls, everything Unicode lets a font leave out
# (Default_Ignorable_Code_Point), symbols whose glyph is empty, interlinear annotation, lone surrogates and
# noncharacters.
_DECEPTIVE = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f\xad"
    "\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(1, 17))
    + "]"
)
# The three flags made of tag characters that Unicode recommends (England, Scotland, Wales). Any other run of
# tag characters is a hidden text.
_TAG_FLAGS = re.compile(
    "\U0001f3f4\U000e0067\U000e0062"
    "(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
_SKIN_TONE = re.compile("[\U0001f3fb-\U0001f3ff]")
# Arrows and punctuation that have an emoji form though Unicode files them elsewhere.
_OTHER_EMOJI = frozenset("\u203c\u2049\u2139\u2194\u25fb\u25fc\u25fd\u25fe\u2934\u2935\u3030\u303d")
_KEYCAP = re.compile("[0-9#*]\ufe0f\u20e3")


def _is_emoji(character: str) -> bool:
    # SAFETY: the block range covers emoji that this Python's Unicode tables do not know yet; nothing in
    # the block is invisible (the tag characters are elsewhere).
    return (
        "\U0001f000" <= character <= "\U0001faff"
        or character in _OTHER_EMOJI
        or unicodedata.category(character) == "So"
    )


def _is_joined(text: str, at: int) -> bool:
    """Say whether the joiner at *at* stands between two letters, or between two emoji."""
    before, after = at - 1, at + 1
    if before >= 0 and after < len(text) and _is_emoji(text[after]):
        while before >= 0 and (text[before] in _PRESENTATION or _SKIN_TONE.match(text[before])):
            before -= 1
        return before >= 0 and _is_emoji(text[before])
    # Indic scripts join around a virama or a vowel sign: look past the marks to the letters.
    while before >= 0 and _is_visible_mark(text[before]):
        before -= 1
    while after < len(text) and _is_visible_mark(text[after]):
        after += 1
    return before >= 0 and after < len(text) and _is_letter(text[before]) and _is_letter(text[after])


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] == "L" and not _DECEPTIVE.match(character)


def _is_visible_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" and not _DECEPTIVE.match(character)


def _is_spaced_braille(text: str, at: int) -> bool:
    """Say whether the empty cell at *at* stands between two others, as a space does between words."""
    return 0 < at < len(text) - 1 and all("\u2801" <= text[each] <= "\u28ff" for each in (at - 1, at + 1))


def _chooses_presentation(text: str, at: int) -> bool:
    """Say whether the variation selector at *at* follows a character that has an emoji form."""
    return at > 0 and (_is_emoji(text[at - 1]) or _KEYCAP.match(text, at - 1) is not None)


def _deceptive_positions(text: str) -> Iterator[int]:
    flags: set[int] | None = None
    for found in _DECEPTIVE.finditer(text):
        at = found.start()
        character = text[at]
        if character in _JOINERS and _is_joined(text, at):
            continue
        if character in _PRESENTATION and _chooses_presentation(text, at):
            continue
        if character == "\u2800" and _is_spaced_braille(text, at):
            continue
        if "\U000e0000" <= character <= "\U000e007f":
            if flags is None:
                flags = {place for flag in _TAG_FLAGS.finditer(text) for place in range(*flag.span())}
            if at in flags:
                continue
        yield at


def is_deceptive(text: str) -> bool:
    """Say whether a person could be shown something else than what *text* holds.

    True for control and bidi characters, line and paragraph separators, zero width and other
    default-ignorable characters, symbols that are empty, lone surrogates and noncharacters. A joiner between letters
    or emoji, the selector that makes a character an emoji, and an empty cell in braille are fine. So are spaces of
    all kinds; `unseen` has those, too. Letters that merely look alike in two scripts
    are not judged.
    """
    if text.isascii() and text.isprintable():
        return False
    return next(_deceptive_positions(text), None) is not None


def deceptive(text: str) -> frozenset[int]:
    """Return where the characters stand for which *text* is deceptive; without them, or escaped, it is not."""
    if text.isascii() and text.isprintable():
        return frozenset()
    # Escaping one character can take the neighbour away that excused another, so go on until nothing is left.
    escaped: set[int] = set()
    pieces = list(text)
    while found := [at for at in _deceptive_positions("".join(pieces)) if at not in escaped]:
        for at in found:
            escaped.add(at)
            pieces[at] = "\\"  # one visible character in its place keeps the positions true
    return frozenset(escaped)


def unseen(text: str) -> frozenset[int]:
    """Return where *text* has characters that show nothing, or of which nobody knows what they show.

    Those that are deceptive, all spaces but U+0020, private and unassigned ones: whoever reads or copies the others
    has seen what is there. For text that is pasted or quoted; in names, such spaces are part of the writing.
    """
    if text.isascii() and text.isprintable():
        return frozenset()
    return deceptive(text) | {at for at, character in enumerate(text) if _is_blank(character)}


def _is_blank(character: str) -> bool:
    kind = unicodedata.category(character)
    return (kind == "Zs" and character != " ") or kind == "Co" or (kind == "Cn" and not _is_emoji(character))


def shows(text: str) -> bool:
    """Say whether there is anything in *text* that a person sees."""
    hidden = unseen(text)
    return any(at not in hidden and character != " " for at, character in enumerate(text))


def display(name: str | bytes) -> str:
    r"""Return *name* as a person can be shown it: always encodable, never deceptive, and no two names alike.

    A byte that is not UTF-8 becomes ``\xNN``, a deceptive character ``\uNNNN`` or ``\UNNNNNNNN``, and a
    backslash is doubled so that nobody can write an escape into a name.
    """
    text = name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name
    escaped = deceptive(text)
    return "".join(
        _escape(text[at]) if at in escaped or text[at] == "\\" else text[at] for at in range(len(text))
    )


def _escape(character: str) -> str:
    if character == "\\":
        return "\\\\"
    number = ord(character)
    if 0xDC80 <= number <= 0xDCFF:  # surrogateescape: a byte that was not UTF-8
        return f"\\x{number - 0xDC00:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


# -- new names ---------------------------------------------------------------------------------

# Windows keeps these as devices too, and it ignores spaces before the extension: "CON .md" is the console.
_MORE_DEVICES = frozenset({"CONIN$", "CONOUT$"})


@cache
def _portable() -> Callable[[str], bool]:
    """Return pathvalidate's judgement for every platform at once: characters, device names, length."""
    # Lazy: importing it takes about 30 ms, and only making something needs it. A process that will lose
    # sight of its import folders calls `check_new_name` once before.
    from pathvalidate import FileNameValidator, Platform

    return FileNameValidator(
        max_len=MAX_NAME_BYTES, fs_encoding="utf-8", platform=Platform.UNIVERSAL
    ).is_valid


def check_new_name(name: str) -> None:
    """Raise UnacceptableName unless a new file or folder may be called *name* (one whole component).

    pathvalidate's universal rules judge portable characters, device names and length. Added here: Unicode
    text in NFC, nothing deceptive (see `is_deceptive`), no white space at either end, no trailing dot, no
    leading dot (dot names are never notes), none of fsnotes' own names, and device names disguised by
    spaces.
    """
    reason = _new_name_fault(name)
    if reason is not None:
        raise UnacceptableName(name, reason)


def _new_name_fault(name: str) -> str | None:
    fault = component_fault(name)
    if fault is not None:
        return fault.reason
    folded = name.casefold()
    if folded.startswith(OWN_PREFIX) or folded == TRASH_FOLDER:
        return "reserved for fsnotes itself"
    if name[0] == ".":
        return "it begins with a dot"
    if is_deceptive(name):
        return "it has a control, bidi or invisible character"
    if not unicodedata.is_normalized("NFC", name):
        return "it is not in Unicode's composed form (NFC)"
    if name != name.strip():
        return "it begins or ends with a space"
    if name[-1] == ".":
        return "it ends with a dot"
    head = name.split(".", 1)[0]
    stem = head.rstrip()
    # SAFETY: a stem disguised by spaces is judged by itself: pathvalidate takes "CON .md" for portable.
    if stem.upper() in _MORE_DEVICES or not _portable()(name) or (stem != head and not _portable()(stem)):
        return "it cannot be used on every system"
    return None
