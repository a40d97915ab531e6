"""Links keep their meaning when notes are moved, in the user's own style; everything else keeps its bytes."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fsnotes.notes import relinking
from fsnotes.notes.catalogue import Catalogue
from fsnotes.notes.markdown.links import Form, Link
from fsnotes.notes.markdown.note_links import links_of
from fsnotes.notes.mentions import Mentions
from fsnotes.notes.relinking import LeftAlone, Reason, Relinked, Relinking
from fsnotes.notes.splices import apply
from tests.examples import examples
from tests.notes.vaults import PLAIN_STEMS, notes_of, vault

SLOW = settings(
    max_examples=examples(40, long=100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


class Moved:
    """A vault before and after a move, links and all."""

    def __init__(
        self, texts: Mapping[str, str], moves: Mapping[str, str], within: Callable[[str], bool] | None = None
    ):
        self.before = Catalogue(texts)
        self.after = self.before.moved(moves)
        self.moves = moves
        self.relinking = Relinking(moves, self.before, self.after, within=within)
        self.results: dict[str, Relinked] = {}
        self.texts: dict[str, str] = {}
        for path, text in texts.items():
            data = text.encode()
            result = self.relinking.relinked(data, path)
            self.results[path] = result
            self.texts[moves.get(path, path)] = apply(data, result.splices).decode()


def move(
    texts: Mapping[str, str], moves: Mapping[str, str], within: Callable[[str], bool] | None = None
) -> dict[str, str]:
    return Moved(texts, moves, within).texts


def links(text: str) -> list[Link]:
    return list(links_of(text))


def reasons(result: Relinked) -> list[tuple[int, str, Reason]]:
    return [(each.line, each.text, each.reason) for each in result.left_alone]


@SLOW
@given(vault())
def test_every_link_still_leads_where_it_led(drawn: tuple[dict[str, str], dict[str, str]]) -> None:
    texts, moves = drawn
    moved = Moved(texts, moves)
    for path, text in notes_of(texts).items():
        new_path = moves.get(path, path)
        was, now = links(text), links(moved.texts[new_path])
        assert len(was) == len(now)
        left = {(each.line, each.text) for each in moved.results[path].left_alone}
        for old, new in zip(was, now, strict=True):
            assert (old.form, old.fragment, old.embed, old.quote) == (
                new.form,
                new.fragment,
                new.embed,
                new.quote,
            )
            target = moved.before.resolve(old, path).id
            if target is None:
                assert old.raw == new.raw
                continue
            led = moved.after.resolve(new, new_path).id
            if led != moves.get(target, target) and old.form is not Form.REFERENCE:
                line = text[: old.start].count("\n") + 1
                assert any(each == line for each, _ in left)
                assert old.raw == new.raw


@SLOW
@given(vault())
def test_nothing_but_paths_of_links_that_would_lead_elsewhere_changes(
    drawn: tuple[dict[str, str], dict[str, str]],
) -> None:
    texts, moves = drawn
    moved = Moved(texts, moves)
    for path, text in notes_of(texts).items():
        spans = {
            (len(text[: link.path[0]].encode()), len(text[: link.path[1]].encode()))
            for link in links(text)
            if link.path is not None and not link.external
        }
        result = moved.results[path]
        assert result.updated == len(result.splices)
        for splice in result.splices:
            assert (splice.start, splice.end) in spans
            assert text.encode()[splice.start : splice.end] != splice.replacement
        if not moves:
            assert result == Relinked()


@SLOW
@given(vault())
def test_moving_twice_to_the_same_place_changes_nothing_more(
    drawn: tuple[dict[str, str], dict[str, str]],
) -> None:
    texts, moves = drawn
    moved = Moved(texts, moves)
    again = Relinking({}, moved.after, moved.after)
    for path, text in moved.texts.items():
        assert again.relinked(text.encode(), path) == Relinked()


@SLOW
@given(
    vault(PLAIN_STEMS), st.sampled_from(["[[{}]]", "[a]({}.md)", "[a](</{}.md>)", "[[/{}|x]]", "[[{}.md#h]]"])
)
def test_there_and_back_gives_the_same_bytes(
    drawn: tuple[dict[str, str], dict[str, str]], style: str
) -> None:
    """Where no link has to change its form: whole paths, and names that are unique before and after."""
    texts, moves = drawn
    paths = [path for path in texts if path.endswith(".md")]
    names = {
        unicodedata.normalize("NFC", path).casefold().rpartition("/")[2] for path in [*texts, *moves.values()]
    }
    # The whole path of a note at the top is its name.
    assume(style != "[[{}.md#h]]" or all("/" in path for path in [*texts, *moves.values()]))
    assume(paths and len({name.rpartition(".")[0] for name in names}) == len({*texts, *moves.values()}))

    def shown(path: str) -> str:
        target = path.removesuffix(".md")
        if style.startswith("[["):
            target = target if "/{" in style or "." in style else target.rpartition("/")[2]
        elif "<" not in style:
            target = target.replace(" ", "%20")
            return style.format("/" + target)
        return style.format(target)

    texts = {path: " ".join(map(shown, paths)) if path.endswith(".md") else "" for path in texts}
    there = move(texts, moves)
    back = move(there, {new: old for old, new in moves.items()})
    assert back == texts


@SLOW
@given(vault(), st.binary(max_size=3))
def test_a_note_that_mentions_no_name_has_no_link_to_change(
    drawn: tuple[dict[str, str], dict[str, str]], broken: bytes
) -> None:
    texts, moves = drawn
    moved = Moved(texts, moves)
    mentions = Mentions.of_files(moves)
    for path, text in notes_of(texts).items():
        for data in (
            text.encode(),
            text.encode() + broken,
            unicodedata.normalize("NFD", text).encode(),
            _disguised(text),
        ):
            if path not in moves and not mentions.may_be_in(data):
                assert moved.relinking.relinked(data, path) == Relinked()


def _disguised(text: str) -> bytes:
    """The text with every letter of a Markdown destination escaped and those in YAML's double quotes."""
    pieces = []
    for number, line in enumerate(text.split("\n")):
        if line.startswith('a: "[['):
            line = "".join(
                f"\\u{ord(each):04x}" if each in "nmA\u00e4" else each for each in line[:6] and line
            )
        elif number % 2:
            line = line.replace("n", "%6e").replace("m", "&#109;")
        pieces.append(line)
    return "\n".join(pieces).encode()


@SLOW
@given(
    vault(PLAIN_STEMS),
    st.sampled_from(["a", "b", "a/b", "c.d", "A", "\u00fc", "u\u0308"]),
    # A folder of the same name in other letters may be there, or one of its letters in another form.
    st.sampled_from(
        ["new", "a b/new", "b/a/n", "N", "a", "A", "B", "A/b", "a/B", "C.D", "\u00fc", "u\u0308"]
    ),
)
def test_a_note_that_names_no_moved_folder_has_no_link_to_change_or_to_report(
    drawn: tuple[dict[str, str], dict[str, str]], old: str, new: str
) -> None:
    texts, _ = drawn
    assume(new != old and not any(path.startswith(f"{new}/") for path in texts))
    assume(not new.startswith(f"{old}/"))
    moves = {path: new + path[len(old) :] for path in texts if path.startswith(f"{old}/")}
    moved = Moved(texts, moves)
    mentions = Mentions.of_folder(old, new, moves=moves, before=moved.before)
    for path, text in notes_of(texts).items():
        if path not in moves and not mentions.may_be_of(path, text.encode()):
            assert moved.results[path] == Relinked()


@SLOW
@given(vault(), st.sampled_from(["a", "b", ""]))
def test_nothing_outside_of_a_grant_is_changed_or_shown(
    drawn: tuple[dict[str, str], dict[str, str]], folder: str
) -> None:
    texts, moves = drawn

    def within(path: str) -> bool:
        return not folder or path.startswith(f"{folder}/")

    moves = {old: new for old, new in moves.items() if within(old) and within(new)}
    assume(len({*texts} - {*moves} | {*moves.values()}) == len(texts))
    free, bound = Moved(texts, moves), Moved(texts, moves, within)
    for path in texts:
        result, whole = bound.results[path], free.results[path]
        assert {*result.splices} <= {*whole.splices}
        # What is beyond the grant is as unknown as what is not there.
        unknown = {each for each in result.left_alone if each.reason is Reason.UNKNOWN}
        assert {*result.left_alone} - unknown <= {*whole.left_alone}
        if not within(path):
            assert (result.splices, result.left_alone) == ((), ())
        shown = len(result.splices) + len(result.left_alone)
        told = len(whole.splices) + len(whole.left_alone)
        assert told <= result.outside + shown <= told + len(links(texts[path]))


BEYOND = ["o/t.md", "o/deep/t.md", "t.md", "o/u.png", "O/t.md", "o/x.md", "p/x.md"]


@SLOW
@given(
    st.sets(st.sampled_from(BEYOND)),
    st.lists(
        st.sampled_from(
            [
                "../",
                "./",
                "",
                "../../",
                "../../../",
                "/",
                "../o/",
                "o/",
                "../g/",
                "h/",
                "../g/h/",
                "../O/",
                "/../",
            ]
        ),
        min_size=3,
        max_size=6,
    ),
    st.lists(
        st.sampled_from(["t", "t.md", "u.png", "x", "x.md", "deep/t", "own", "none"]), min_size=6, max_size=6
    ),
    st.sampled_from(["g/s.md", "g/h/s.md", "g/h/i/s.md", "g/k/r.md", "g/r.md"]),
    st.sampled_from(["g/z.md", "g/h/z.md", "g/h/i/z.md", "g/k/z.md"]),
)
def test_what_is_told_of_a_moved_note_does_not_depend_on_what_is_beyond_the_grant(
    there: set[str], befores: list[str], names: list[str], old: str, new: str
) -> None:
    paths = [before + name for before, name in zip(befores, names, strict=False)]
    text = "".join(f"[x]({path})\n\n[[{path}]]\n\n" for path in paths)
    inside = {old: text, "g/own.md": "", "g/h/own2.md": f"[[{old}]]"}

    def told(more: set[str]) -> Relinked:
        texts = inside | dict.fromkeys(more, "")
        return Moved(texts, {old: new}, lambda path: path.startswith("g/")).results[old]

    assert told(there) == told(set())


def test_a_link_from_the_folder_is_not_taken_over_by_a_note_that_gets_its_name_unnoticed() -> None:
    texts = {"g/s.md": "", "g/l.md": "[x](t.md)", "o/t.md": ""}
    moved = Moved(texts, {"g/s.md": "g/t.md"}, lambda path: path.startswith("g/"))
    assert moved.results["g/l.md"] == Relinked(outside=1)


# -- the kinds of hurt that renaming caused elsewhere -----------------------------------------


@pytest.mark.kind("rename")
@pytest.mark.parametrize(
    ("link", "moved"),
    [
        ("[[b]]", "[[c]]"),
        ("![[b]]", "![[c]]"),
        ("[[b|alias]]", "[[c|alias]]"),
        ("[[b#h]]", "[[c#h]]"),
        ("[[b#^id|x]]", "[[c#^id|x]]"),
        ("[[ b ]]", "[[ c ]]"),
        ("[[b.md]]", "[[c.md]]"),
        ("[[a/b]]", "[[a/c]]"),
        ("[[/a/b]]", "[[/a/c]]"),
        ("[[./a/b]]", "[[./a/c]]"),
        ("[[B]]", "[[c]]"),
        ("[x](a/b.md)", "[x](a/c.md)"),
        ("[x](./a/b.md)", "[x](./a/c.md)"),
        ("[x](/a/b.md#h 'title')", "[x](/a/c.md#h 'title')"),
        ("[x](b.md)", "[x](c.md)"),
        ("[x](a/b)", "[x](a/c)"),
        ("[x](<a/b.md>)", "[x](<a/c.md>)"),
        ("[x](a/%62.md)", "[x](a/c.md)"),
        ("[x]\n\n[x]: a/b.md 'b'", "[x]\n\n[x]: a/c.md 'b'"),
        ("|a|\n|-|\n|[[b\\|b]]|", "|a|\n|-|\n|[[c\\|b]]|"),
        ("> - [b [[b]]](a/b.md)", "> - [b [[c]]](a/c.md)"),
        ('---\nup: "[[b|it\'s]]"\n---\n', '---\nup: "[[c|it\'s]]"\n---\n'),
        ("\ufeff---\r\nup: '[[b]]'\r\n---\r\n[[b]]\r\n", "\ufeff---\r\nup: '[[c]]'\r\n---\r\n[[c]]\r\n"),
        ("\U0001f600\u00e4 [[b]] b", "\U0001f600\u00e4 [[c]] b"),
    ],
)
def test_incoming_links_live_on_in_the_users_own_style(link: str, moved: str) -> None:
    assert move({"s.md": link, "a/b.md": ""}, {"a/b.md": "a/c.md"})["s.md"] == moved


@pytest.mark.kind("rename")
@pytest.mark.parametrize(
    "text",
    [
        "`[[b]]`",
        "```\n[[b]] [x](b.md)\n```",
        "~~~~md\r\n[[b]]\r\n~~~\r\n~~~~",
        "    [[b]]",
        "<!-- [[b]] -->",
        "%%[[b]]%%",
        "$$[[b]]$$",
        "<div>\n[[b]]\n</div>",
        "\\[[b\\]]",
        '---\n# [[b]]\n"[[b]]": x\nl: [[b]]\n---\n',
        "b b.md https://x/b.md <https://x/b.md> [x](https://x/b.md)",
    ],
)
def test_code_comments_and_other_text_stay(text: str) -> None:
    assert move({"s.md": text, "b.md": ""}, {"b.md": "c.md"})["s.md"] == text


@pytest.mark.kind("rename")
@pytest.mark.parametrize(
    ("link", "old", "new", "moved"),
    [
        ("[[b]]", "a/b.md", "z/y/b.md", "[[b]]"),
        ("[[b]]", "a/b.md", "z/c.md", "[[c]]"),
        ("[[b.md|x]]", "b.md", "z/b.md", "[[b.md|x]]"),
        ("[x](b.md)", "a/b.md", "z/b.md", "[x](b.md)"),
        ("[[b]]", "a/b.md", "z/twin.md", "[[z/twin]]"),  # no longer unique
        ("[[y/b]]", "x/y/b.md", "x/y/c.md", "[[y/c]]"),
        ("[[y/b]]", "x/y/b.md", "c.md", "[[c]]"),
    ],
)
def test_short_links_stay_as_short_as_they_can(link: str, old: str, new: str, moved: str) -> None:
    assert move({"q/s.md": link, old: "", "q/r/twin.md": ""}, {old: new})["q/s.md"] == moved


@pytest.mark.kind("rename")
@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("[x](b.md) [y](../top.md)", "[x](../a/b.md) [y](../top.md)"),
        ("![p](img/p%201.png)", "![p](../a/img/p%201.png)"),
        ("![p](<img/p 1.png> 't')", "![p](<../a/img/p 1.png> 't')"),
        ("[[./b]] [[../top]]", "[[../a/b]] [[../top]]"),
        ("[x](./b.md#h)", "[x](../a/b.md#h)"),
        ("[x](/a/b.md) [[b]] [[a/b]] [[#h]] [z](#h)", "[x](/a/b.md) [[b]] [[a/b]] [[#h]] [z](#h)"),
        ("[x]\r\n\r\n[x]: b.md\r\n", "[x]\r\n\r\n[x]: ../a/b.md\r\n"),
        ("[me](s.md#h) [[s]]", "[me](t.md#h) [[t]]"),
    ],
)
def test_relative_links_inside_the_moved_note_are_re_based(text: str, moved: str) -> None:
    texts = {"a/s.md": text, "a/b.md": "", "top.md": "", "a/img/p 1.png": ""}
    assert move(texts, {"a/s.md": "z/t.md"})["z/t.md"] == moved


@pytest.mark.kind("rename")
@pytest.mark.parametrize(
    "data", [b"[[b]] \xff", "[[b]]".encode("utf-16"), b"\xc3[x](b.md)", b"[x](b.md) \xed\xa0\x80"]
)
def test_an_unreadable_note_blocks_no_move(data: bytes) -> None:
    files = Catalogue(["s.md", "b.md", "other.md"])
    moves = {"b.md": "c.md"}
    relinking = Relinking(moves, files, files.moved(moves))
    expected = Relinked(left_alone=(LeftAlone(0, "", Reason.NOT_TEXT),)) if b"\0" not in data else Relinked()
    assert relinking.relinked(data, "s.md") == expected
    assert relinking.relinked(b"\xff [[other]]", "s.md") == Relinked()
    assert relinking.relinked(b"[[b]]", "s.md").updated == 1


@pytest.mark.kind("rename")
@pytest.mark.parametrize(
    ("old", "new", "link", "moved"),
    [
        ("b.md", "B.md", "[[b]]", "[[B]]"),
        ("a/b.md", "a/B.md", "[x](a/b.md)", "[x](a/B.md)"),
        ("\u00e4.md", "\u00c4.md", "[x](%C3%A4.md)", "[x](%C3%84.md)"),
        ("a/b.md", "A/b.md", "[x](/a/b.md)", "[x](/A/b.md)"),
        ("b.md", "B.md", "[[B]]", "[[B]]"),
        ("a/b.md", "a/B.md", "![x](<a/b.md#h>)", "![x](<a/B.md#h>)"),
    ],
)
def test_case_only_renames_are_followed(old: str, new: str, link: str, moved: str) -> None:
    assert move({old: "", "s.md": link}, {old: new})["s.md"] == moved


@pytest.mark.kind("rename")
def test_two_notes_can_swap_their_names() -> None:
    assert move({"s.md": "[[a]] [x](A.md)", "a.md": "", "A.md": ""}, {"a.md": "A.md", "A.md": "a.md"})[
        "s.md"
    ] == ("[[A]] [x](a.md)")
    texts = {"a.md": "[[b]] [[a]]", "b.md": "[x](a.md) [[a|b]]", "s.md": "[[a]] [[b]] [x](a.md) [y](b.md)"}
    assert move(texts, {"a.md": "b.md", "b.md": "a.md"}) == {
        "b.md": "[[a]] [[b]]",
        "a.md": "[x](b.md) [[b|b]]",
        "s.md": "[[b]] [[a]] [x](b.md) [y](a.md)",
    }


@pytest.mark.kind("rename")
@pytest.mark.parametrize(
    ("link", "moved"),
    [
        ("[[b]]", "[[b]]"),
        ("[[f/b]]", "[[g h/b]]"),
        ("[[sub/b2]]", "[[sub/b2]]"),
        ("[x](f/sub/b2.md)", "[x](g%20h/sub/b2.md)"),
        ("![x](<f/p.png>)", "![x](<g h/p.png>)"),
    ],
)
def test_a_folder_is_moved_with_all_in_it(link: str, moved: str) -> None:
    inside = "[x](sub/b2.md) [y](../s.md) ![](p.png)"
    texts = {"s.md": link, "f/b.md": inside, "f/sub/b2.md": "[z](../b.md)", "f/p.png": ""}
    made = move(texts, {path: "g h" + path[1:] for path in texts if path.startswith("f/")})
    assert made["s.md"] == moved
    assert made["g h/b.md"] == inside
    assert made["g h/sub/b2.md"] == "[z](../b.md)"


@pytest.mark.kind("rename")
@pytest.mark.parametrize("link", ["[[b]]", "![[b#h|x]]", "[x](b.md)"])
def test_an_ambiguous_link_is_reported_and_not_guessed(link: str) -> None:
    texts = {"q/s.md": f"\n{link} [[c]]", "x/b.md": "", "y/b.md": "", "x/c.md": "", "y/c.md": ""}
    moved = Moved(texts, {"x/b.md": "x/d.md"})
    assert moved.texts["q/s.md"] == texts["q/s.md"]
    assert reasons(moved.results["q/s.md"]) == [(2, link, Reason.AMBIGUOUS)]


@pytest.mark.kind("rename")
@pytest.mark.parametrize(
    ("link", "moved"), [("[[b]]", "[[x/b]]"), ("[[b.md|t]]", "[[x/b.md|t]]"), ("[t](b.md)", "[t](x/b.md)")]
)
def test_a_link_to_a_note_that_stays_is_kept_from_becoming_ambiguous(link: str, moved: str) -> None:
    assert move({"q/s.md": link, "x/b.md": "", "y/c.md": ""}, {"y/c.md": "y/b.md"})["q/s.md"] == moved


@pytest.mark.kind("rename")
@pytest.mark.parametrize("link", ["[[b]]", "![[B#h|x]]", "[x](b.md)"])
def test_an_ambiguous_link_that_gets_one_more_candidate_is_reported(link: str) -> None:
    """Obsidian opens the new one from then on, if its path is the shortest."""
    texts = {"s.md": link, "xx/b.md": "", "yy/b.md": "", "zz/c.md": ""}
    moved = Moved(texts, {"zz/c.md": "a/b.md"})
    assert moved.texts["s.md"] == link
    assert reasons(moved.results["s.md"]) == [(1, link, Reason.AMBIGUOUS)]
    assert Moved(texts, {"zz/c.md": "a/d.md"}).results["s.md"] == Relinked()


def test_an_ambiguous_link_with_a_candidate_beyond_the_grant_is_counted_and_not_shown() -> None:
    texts = {"g/s.md": "[[b]]", "g/xx/b.md": "", "yy/b.md": "", "g/c.md": ""}
    moved = Moved(texts, {"g/c.md": "g/a/b.md"}, within=lambda path: path.startswith("g/"))
    assert moved.results["g/s.md"] == Relinked(outside=1)


@pytest.mark.kind("rename")
@pytest.mark.parametrize(
    ("new", "text", "wanted", "left"),
    [
        (
            "c$d.md",
            "costs $5 and [[b]] and [x](b.md) more\n\nfar [[b]] ![[b]] [y](b.md)\n",
            # A `$` alone is only that; a second one would end math that the first begins.
            "costs $5 and [[b]] and [x](c%24d.md) more\n\nfar [[c$d]] ![[c$d]] [y](c%24d.md)\n",
            [(1, "[[b]]")],
        ),
        (
            "c`d.md",
            "a ` tick, [[b]] and [x](<b.md>)\n\nfar [[b]] [y](b.md)\n",
            "a ` tick, [[b]] and [x](<c%60d.md>)\n\nfar [[c`d]] [y](c%60d.md)\n",
            [(1, "[[b]]")],
        ),
        (
            "50%% off.md",
            "[[b]] [x](b.md) 100%% sure\n\n[[b]]\n",
            "[[50%% off]] [x](50%25%25%20off.md) 100%% sure\n\n[[50%% off]]\n",
            [],
        ),
        (
            "a[[b]].md",
            "[x](b.md) ![y](b.md) [[b]]\n",
            "[x](a%5B%5Bb%5D%5D.md) ![y](a%5B%5Bb%5D%5D.md) [[b]]\n",
            None,
        ),
    ],
)
def test_one_link_that_would_not_be_read_as_meant_keeps_no_other_from_being_rewritten(
    new: str, text: str, wanted: str, left: list[tuple[int, str]] | None
) -> None:
    moved = Moved({"n.md": text, "b.md": ""}, {"b.md": new})
    assert moved.texts["n.md"] == wanted
    if left is None:
        assert reasons(moved.results["n.md"]) == [(1, "[[b]]", Reason.UNWRITABLE)]
    else:
        assert reasons(moved.results["n.md"]) == [(*each, Reason.MISREAD) for each in left]


def test_what_the_user_wrote_with_marks_of_the_text_keeps_them() -> None:
    text = "[x](a$b.md) [y](<a`b.md>)"
    moved = Moved({"n.md": text, "a$b.md": "", "a`b.md": ""}, {"a$b.md": "z/a$b.md", "a`b.md": "z/a`b.md"})
    assert moved.texts["n.md"] == "[x](z/a$b.md) [y](<z/a`b.md>)"


def test_so_many_links_that_would_not_be_read_as_meant_are_tried_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scans: list[str] = []
    monkeypatch.setattr(relinking, "links_of", lambda text: scans.append(text) or links_of(text))
    monkeypatch.setattr(relinking, "MOST_READ", 0)
    text = "[x](b.md)\n" + "$5 [[b]]\n\n" * 500
    moved = Moved({"n.md": text, "b.md": ""}, {"b.md": "c$d.md"})
    assert len([each for each in scans if each]) == 2 + relinking.LEAST_TRIES
    left = moved.results["n.md"].left_alone
    assert {each.reason for each in left} == {Reason.MISREAD}
    assert moved.results["n.md"].updated + len(left) == 501
    assert "[x](c%24d.md)" in moved.texts["n.md"]


@pytest.mark.kind("names")
@pytest.mark.parametrize(
    ("new", "wiki", "bare", "angles"),
    [
        ("n m.md", "[[n m]]", "[x](n%20m.md)", "[x](<n m.md>)"),
        ("\u00fc.md", "[[\u00fc]]", "[x](\u00fc.md)", "[x](<\u00fc.md>)"),
        ("u\u0308.md", "[[u\u0308]]", "[x](u\u0308.md)", "[x](<u\u0308.md>)"),
        ("\U0001f600.md", "[[\U0001f600]]", "[x](\U0001f600.md)", "[x](<\U0001f600.md>)"),
        ("50%20.md", "[[50%20]]", "[x](50%2520.md)", "[x](<50%2520.md>)"),
        ("100%.md", "[[100%]]", "[x](100%.md)", "[x](<100%.md>)"),
        ("what?.md", "[[what?]]", "[x](what%3F.md)", "[x](<what%3F.md>)"),
        ("C#.md", None, "[x](C%23.md)", "[x](<C%23.md>)"),
        ("[x].md", None, "[x]([x].md)", "[x](<[x].md>)"),
        ("a(b.md", "[[a(b]]", "[x](a%28b.md)", "[x](<a(b.md>)"),
        ("a(b).md", "[[a(b)]]", "[x](a(b).md)", "[x](<a(b).md>)"),
        ("a: b.md", "[[a: b]]", "[x](a:%20b.md)", "[x](<a: b.md>)"),
        ("ab:c.md", "[[ab:c]]", "[x](ab%3Ac.md)", "[x](<ab%3Ac.md>)"),
        ("a&amp;b.md", "[[a&amp;b]]", "[x](a%26amp;b.md)", "[x](<a%26amp;b.md>)"),
        ("v1.2.md", "[[v1.2]]", "[x](v1.2.md)", "[x](<v1.2.md>)"),
        ("a^b.md", None, "[x](a^b.md)", "[x](<a^b.md>)"),
        ("a`b.md", "[[a`b]]", "[x](a%60b.md)", "[x](<a%60b.md>)"),
        ("a$b.md", "[[a$b]]", "[x](a%24b.md)", "[x](<a%24b.md>)"),
        ("50%% off.md", "[[50%% off]]", "[x](50%25%25%20off.md)", "[x](<50%25%25 off.md>)"),
    ],
)
def test_a_name_is_written_so_that_it_is_found(new: str, wiki: str | None, bare: str, angles: str) -> None:
    for link, wanted in (("[[b]]", wiki), ("[x](b.md)", bare), ("[x](<b.md>)", angles)):
        moved = Moved({"b.md": "", "s.md": link}, {"b.md": new})
        assert moved.texts["s.md"] == (link if wanted is None else wanted)
        assert reasons(moved.results["s.md"]) == ([(1, link, Reason.UNWRITABLE)] if wanted is None else [])


@pytest.mark.kind("names")
@pytest.mark.parametrize(
    ("new", "double", "single", "plain"),
    [
        ('say "hi"', 'say \\"hi\\"', 'say "hi"', 'say "hi"'),
        ("it's", "it's", "it''s", "it's"),
        ("a: b", "a: b", "a: b", None),
        ("\u00e4 b", "\u00e4 b", "\u00e4 b", "\u00e4 b"),
    ],
)
def test_a_name_in_a_property_is_written_for_its_quotes(
    new: str, double: str, single: str, plain: str | None
) -> None:
    front = "---\nd: \"[[{}]]\"\ns: '[[{}]]'\np: see [[{}]]\n---\n"
    moved = Moved({"b.md": "", "s.md": front.format("b", "b", "b")}, {"b.md": f"{new}.md"})
    assert moved.texts["s.md"] == front.format(double, single, "b" if plain is None else plain)
    assert len(moved.results["s.md"].left_alone) == (plain is None)


@pytest.mark.kind("names")
@pytest.mark.parametrize(
    "link", ["[[caf\u00e9]]", "[[cafe\u0301]]", "[x](caf%C3%A9.md)", "[x](cafe%CC%81.md)", "[[CAF\u00c9]]"]
)
@pytest.mark.parametrize("old", ["caf\u00e9.md", "cafe\u0301.md"])
def test_either_unicode_form_is_found_and_followed(link: str, old: str) -> None:
    made = move({"s.md": link, old: ""}, {old: "tea.md"})["s.md"]
    assert made == ("[[tea]]" if link[1] == "[" else "[x](tea.md)")


def test_a_broken_relative_link_in_a_moved_note_is_reported() -> None:
    moved = Moved({"a/s.md": "[x](gone.md) [[none]] [y](../.hidden/p.png)"}, {"a/s.md": "s.md"})
    assert reasons(moved.results["a/s.md"]) == [
        (1, "[x](gone.md)", Reason.UNKNOWN),
        (1, "[y](../.hidden/p.png)", Reason.UNKNOWN),
    ]
    assert Moved({"a/s.md": "[x](gone.md)"}, {"a/s.md": "a/t.md"}).results["a/s.md"] == Relinked()


def test_a_link_out_of_a_grant_is_counted_and_neither_changed_nor_shown() -> None:
    texts = {"g/s.md": "[x](../o/t.md) [[u]] [y](u.md)", "o/t.md": "[[s]]", "g/u.md": ""}
    moved = Moved(texts, {"g/s.md": "g/h/r.md"}, lambda path: path.startswith("g/"))
    assert moved.texts["g/h/r.md"] == "[x](../o/t.md) [[u]] [y](../u.md)"
    assert (moved.results["g/s.md"].outside, moved.results["g/s.md"].left_alone) == (1, ())
    assert moved.results["o/t.md"] == Relinked(outside=1)


def test_a_name_that_another_file_has_in_another_case_is_written_with_its_folder() -> None:
    """Here it is exact, and so no question; other programs may take the two for one name."""
    files = {"a/n.md": "", "t.md": "[[n]]", "z.md": ""}
    assert move(files, {"z.md": "b/n.md"})["t.md"] == "[[a/n]]"
    assert move(files, {"z.md": "b/N.md"})["t.md"] == "[[a/n]]"
    assert move({"a/x.md": "", "t.md": "[[x]]", "c/N.md": ""}, {"a/x.md": "a/n.md"})["t.md"] == "[[a/n]]"
    # What stood beside such a name before stays as it was written.
    twins = {"a/n.md": "", "b/N.md": "", "t.md": "[[n]]", "z.md": ""}
    assert move(twins, {"z.md": "c/y.md"})["t.md"] == "[[n]]"
    assert move(twins, {"b/N.md": "c/N.md"})["t.md"] == "[[n]]"
