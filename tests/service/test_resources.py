"""Notes as resources: their URIs, lists and texts, what completes them, and who sees which."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fsnotes import completions, resources
from fsnotes.access import Right
from fsnotes.calls import Call
from fsnotes.config import WorkspaceSettings
from fsnotes.errors import InvalidArgument, NotAllowed, NoteNotFound, NotText, ResourceTooLarge
from fsnotes.freshness import Progress, Standing
from fsnotes.notes.index_commands import KeepIndex
from fsnotes.service import Service
from sandbox.policy import Policy
from tests.service.conftest import ALICE, BOB, Household


def listed(service: Service, call: Call) -> list[str]:
    """The URIs of all pages."""
    found: list[str] = []
    cursor = None
    for _ in range(200):
        page = service.resources(call, cursor=cursor)
        found += [each["uri"] for each in page.document()["resources"]]
        cursor = page.cursor
        if cursor is None:
            return found
    pytest.fail("the pages never end")


def completed(service: Service, call: Call, template: str, value: str) -> list[str]:
    values: list[str] = service.complete_uri(call, template, "path", value).document()["completion"]["values"]
    return values


def shared(household: Household) -> None:
    """Give BOB one folder of the vault to read."""
    household.grant(BOB, Right.READ, folder="shared")
    for path in ("private.md", "shared/a.md", "shared/deep/b.md", "sharedness.md", "z.md"):
        household.write(path, f"text of {path}\n")


def test_every_note_is_listed_once_with_its_uri_and_what_a_listing_shows(household: Household) -> None:
    household.write("b c.md", "---\ntitle: Bee\n---\n")
    household.write("caf\u00e9/%41#?.md", "# Title\n")
    household.write("picture.png")
    household.write(".hidden.md")
    document = household.service().resources(ALICE).document()
    shown = [{**each, "annotations": sorted(each["annotations"])} for each in document["resources"]]
    assert shown == [
        {
            "annotations": ["lastModified"],
            "mimeType": "text/markdown",
            "name": "b c.md",
            "size": 19,
            "title": "Bee",
            "uri": f"{household.uri}/b%20c.md",
        },
        {
            "annotations": ["lastModified"],
            "mimeType": "text/markdown",
            "name": "caf\u00e9/%41#?.md",
            "size": 8,
            "title": "Title",
            "uri": f"{household.uri}/caf%C3%A9/%2541%23%3F.md",
        },
    ]
    assert document.keys() == {"resources"}


def test_pages_hold_every_note_of_every_workspace_in_order(
    household: Household, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if household.is_jailed:
        pytest.skip("a second workspace would need workers of its own")
    other = tmp_path / "Other"
    other.mkdir()
    (other / "o.md").write_text("other")
    household.others.append(WorkspaceSettings("Other", str(other), str(other), Policy()))
    household.grant(ALICE, *Right, workspace="Other")
    names = [f"{number:02}.md" for number in range(30)]
    for name in names:
        household.write(f"deep/{name}")
    service = household.service()
    expected = [*(f"{household.uri}/deep/{name}" for name in names), f"{other.as_uri()}/o.md"]
    for size in (1, 7, 30, 100):
        monkeypatch.setattr(resources, "PAGE_NOTES", size)
        assert listed(service, ALICE) == expected
    monkeypatch.setattr(resources, "PAGE_SCANS", 1)
    assert listed(service, ALICE) == expected


def test_a_workspace_that_has_moved_away_does_not_hide_the_others(inline: Household, tmp_path: Path) -> None:
    other = tmp_path / "Other"
    other.mkdir()
    (other / "o.md").write_text("other")
    inline.others.append(WorkspaceSettings("Other", str(other), str(other), Policy()))
    inline.grant(ALICE, *Right, workspace="Other")
    inline.write("a.md")
    service = inline.service()
    inline.vault.rename(inline.top / "Elsewhere")
    assert listed(service, ALICE) == [f"{other.as_uri()}/o.md"]


def test_what_is_listed_can_be_read_byte_for_byte(household: Household) -> None:
    texts = {
        "plain.md": b"text",
        "empty.md": b"",
        "marked.md": b"\xef\xbb\xbf# Title\r\n\r\ntext\rmore\n\n",
        "caf\u00e9 %2F#.md": "\u2028 \U0001f600 \x00\x1b".encode(),
        "long line.markdown": b"x" * 90_000,
    }
    for path, data in texts.items():
        household.write(path, data)
    service = household.service()
    read = {uri: service.resource(ALICE, uri).document()["contents"] for uri in listed(service, ALICE)}
    assert sorted(content["text"].encode() for (content,) in read.values()) == sorted(texts.values())
    assert all(
        (content["uri"], content["mimeType"]) == (uri, "text/markdown") for uri, (content,) in read.items()
    )


@pytest.mark.parametrize("text", ["x" * 1_048_576, "\u65e5\n" * 262_144])
def test_a_note_of_a_mebibyte_is_read_whole(household: Household, text: str) -> None:
    household.write("large.md", text)
    assert household.service().resource(ALICE, f"{household.uri}/large.md").text == text


def test_a_note_that_is_larger_is_refused_and_read_in_parts_as_ever(inline: Household) -> None:
    inline.policy = Policy(max_file_bytes=2_000_000)
    inline.write("large.md", "x" * 1_048_577)
    service = inline.service()
    with pytest.raises(ResourceTooLarge):
        service.resource(ALICE, f"{inline.uri}/large.md")
    assert service.read(ALICE, inline.uri, "large.md").reply.size == 1_048_577


def test_a_note_that_is_no_text_is_refused(household: Household) -> None:
    household.write("bad.md", b"\xff")
    service = household.service()
    with pytest.raises(NotText):
        service.resource(ALICE, f"{household.uri}/bad.md")


def test_a_note_that_changes_while_it_is_read_in_parts_is_read_again(
    inline: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "PART_CHARACTERS", 10)
    inline.write("a.md", "1" * 30)
    service = inline.service()
    run, calls = service._runner.run, []

    def racing(*args: Any, **more: Any) -> Any:
        reply = run(*args, **more)
        calls.append(reply.text)
        if len(calls) == 2:
            inline.write("a.md", "2" * 25)
        return reply

    monkeypatch.setattr(service._runner, "run", racing)
    monkeypatch.setattr(resources, "MOST_PARTS", 5)
    assert service.resource(ALICE, f"{inline.uri}/a.md").text == "2" * 25


HOSTILE = [
    "",
    "$",
    "$/",
    "$/a.md/",
    "$//a.md",
    "$/./a.md",
    "$/../Notes/a.md",
    "$/%2e%2e/Notes/a.md",
    "$/x%2F..%2Fa.md",
    "$/%2561.md",
    "$/a.md?x",
    "$/a.md#x",
    "$/a.md%00",
    "$/a\x00.md",
    "$/a",
    "$/picture.png",
    "$/.hidden.md",
    "$/.git/a.md",
    "$/none.md",
    "$/%FF.md",
    "$/%zz.md",
    "$/folder.md",
    "$/link.md",
    "$ness/a.md",
    "$/" + "x/" * 200 + "a.md",
    "$/" + "x" * 30_000 + ".md",
    "file://other/a.md",
    "file:/a.md",
    "https://example.org/a.md",
    "file:///etc/passwd.md",
    "$/\ud800.md",
]


def test_hostile_uris_name_nothing(household: Household) -> None:
    household.write("a.md", "text")
    household.write("picture.png")
    household.write(".hidden.md")
    household.write(".git/a.md")
    (household.vault / "folder.md").mkdir()
    (household.vault / "link.md").symlink_to("a.md")
    before = household.tree()
    service = household.service()
    for uri in HOSTILE:
        with pytest.raises((NotAllowed, NoteNotFound)):
            pytest.fail(repr((uri, service.resource(ALICE, uri.replace("$", household.uri)))))
    assert household.tree() == before
    assert service.resource(ALICE, f"{household.uri}/a.md").text == "text"


@pytest.mark.parametrize("spelling", ["$/a%20b.md", "$/a b.md", "$/%61%20b.md", "FILE://localhost$/a%20b.md"])
def test_every_spelling_of_a_uri_names_the_same_note(household: Household, spelling: str) -> None:
    household.write("a b.md", "text")
    uri = spelling.replace(
        "$", household.uri.removeprefix("file://") if "local" in spelling else household.uri
    )
    read = household.service().resource(ALICE, uri)
    assert (read.uri, read.text) == (uri, "text")


def test_the_innermost_workspace_whose_grant_covers_a_note_has_it(inline: Household) -> None:
    inner = inline.vault / "Inner"
    inline.write("Inner/a.md", "in")
    inline.write("Inner/b.md", "out")
    inline.others.append(WorkspaceSettings("Inner", str(inner), str(inner), Policy(), ("a.md",)))
    inline.grant(ALICE, Right.READ, folder="sub", workspace="Inner")
    inline.grant(BOB, Right.READ, workspace="Inner")
    service = inline.service()
    assert service.resource(ALICE, f"{inner.as_uri()}/a.md").text == "in"
    with pytest.raises(NotAllowed):
        service.resource(BOB, f"{inner.as_uri()}/a.md")
    assert service.resource(BOB, f"{inner.as_uri()}/b.md").text == "out"


def test_what_a_workspace_ignores_is_no_resource_anywhere(household: Household) -> None:
    household.ignore = ("Archive/**", "**/*.draft.md")
    for path in ("Archive/deep/a.md", "a.draft.md", "a.md", "Archives/a.md"):
        household.write(path, path)
    service = household.service()
    served = [f"{household.uri}/Archives/a.md", f"{household.uri}/a.md"]
    assert sorted(listed(service, ALICE)) == served
    template = f"{household.uri}/{{+path}}"
    assert sorted(completed(service, ALICE, template, "a")) == ["Archives/a.md", "a.md"]
    assert service.complete_folder(ALICE, household.uri, "").values == ("Archives",)
    for path in ("Archive/deep/a.md", "a.draft.md", "Archive/none.md"):
        with pytest.raises(NotAllowed):
            service.resource(ALICE, f"{household.uri}/{path}")
    assert service.resource(ALICE, served[0]).text == "Archives/a.md"


def test_a_note_that_the_innermost_workspace_ignores_is_read_where_it_is_listed(inline: Household) -> None:
    """That one workspace leaves it out takes nothing away from what another one serves."""
    inner = inline.vault / "inner"
    inline.write("inner/Drafts/a.md", "text")
    inline.others.append(WorkspaceSettings("Inner", str(inner), str(inner), Policy(), ("Drafts/**",)))
    inline.grant(BOB, Right.READ, workspace="Inner")
    inline.grant(ALICE, Right.READ, workspace="Inner")
    service, uri = inline.service(), f"{inner.as_uri()}/Drafts/a.md"
    assert (listed(service, ALICE), listed(service, BOB)) == ([uri], [])
    assert service.resource(ALICE, uri).text == "text"
    with pytest.raises(NotAllowed):
        service.resource(BOB, uri)


def test_two_principals_interleaved_see_what_they_were_granted(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared(household)
    monkeypatch.setattr(resources, "PAGE_NOTES", 1)
    service, template = household.service(), f"{household.uri}/{{+path}}"
    pages: dict[str, list[str]] = {"alice": [], "bob": []}
    cursors: dict[str, str | None] = {"alice": None, "bob": None}
    callers = {"alice": ALICE, "bob": BOB}
    given: list[tuple[str, str]] = []
    for _ in range(20):
        for name, call in callers.items():
            if cursors[name] is None and pages[name]:
                continue
            page = service.resources(call, cursor=cursors[name])
            pages[name] += [each["name"] for each in page.document()["resources"]]
            cursors[name] = page.cursor
            if page.cursor is not None:
                given.append((name, page.cursor))
    assert pages == {
        "alice": ["private.md", "shared/a.md", "shared/deep/b.md", "sharedness.md", "z.md"],
        "bob": ["shared/a.md", "shared/deep/b.md"],
    }
    for name, cursor in given:
        other = BOB if name == "alice" else ALICE
        with pytest.raises(InvalidArgument):
            service.resources(other, cursor=cursor)
        service.resources(callers[name], cursor=cursor)
    assert completed(service, ALICE, template, "") == [
        "z.md", "private.md", "shared/a.md", "sharedness.md", "shared/deep/b.md"
    ]  # fmt: skip
    assert completed(service, BOB, template, "") == ["shared/a.md", "shared/deep/b.md"]
    assert completed(service, BOB, template, "private") == []
    assert service.complete_folder(BOB, household.uri, "").values == ("shared", "shared/deep")


def test_what_is_not_granted_is_refused_as_what_is_not_there_and_audited(household: Household) -> None:
    shared(household)
    service = household.service()
    assert service.resource(BOB, f"{household.uri}/shared/a.md").text == "text of shared/a.md\n"
    for path in ("private.md", "none.md", "sharedness.md"):
        with pytest.raises(NotAllowed):
            service.resource(BOB, f"{household.uri}/{path}")
    with pytest.raises(NotAllowed):
        service.complete_uri(BOB, "file:///elsewhere/{+path}", "path", "")
    lines = household.audit()
    assert [(line["principal"], line["tool"], line["outcome"]) for line in lines] == [
        ("local:bob", "resources/read", "not_allowed"),
        ("local:bob", "resources/read", "not_allowed"),
        ("local:bob", "resources/read", "not_allowed"),
        ("local:bob", "completion/complete", "not_allowed"),
    ]
    assert lines[0]["workspace"] == f"{household.uri}/private.md"


def test_a_right_to_write_is_none_to_read(household: Household) -> None:
    household.write("a.md", "text")
    household.grant(BOB, Right.WRITE, Right.DELETE)
    service = household.service()
    assert service.resources(BOB).document() == {"resources": []}
    assert service.templates(BOB).document() == {"resourceTemplates": []}
    for refused in (
        lambda: service.resource(BOB, f"{household.uri}/a.md"),
        lambda: service.complete_uri(BOB, f"{household.uri}/{{+path}}", "path", ""),
        lambda: service.complete_note(BOB, household.uri, ""),
        lambda: service.readable_uri(BOB, household.uri),
    ):
        with pytest.raises(NotAllowed):
            refused()
    assert service.resource(ALICE, f"{household.uri}/a.md").text == "text"


def test_there_is_one_template_for_each_workspace_of_the_caller(household: Household) -> None:
    household.grant(BOB, Right.READ, folder="a")
    household.grant(BOB, Right.READ, folder="b")
    service = household.service()
    template = {
        "description": "A note by its path in the workspace, with its suffix.",
        "mimeType": "text/markdown",
        "name": "Notes",
        "uriTemplate": f"{household.uri}/{{+path}}",
    }
    for call in (ALICE, BOB):
        assert service.templates(call).document() == {"resourceTemplates": [template]}
    with pytest.raises(InvalidArgument):
        service.templates(ALICE, cursor="")


@pytest.mark.parametrize("cursor", ["", "x", "\u00e9", "AAAA", "x" * 10_000])
def test_a_cursor_that_was_never_given_out_is_refused(inline: Household, cursor: str) -> None:
    with pytest.raises(InvalidArgument):
        inline.service().resources(ALICE, cursor=cursor)


# -- completion --------------------------------------------------------------------------------------


def garden(household: Household) -> None:
    for path in (
        "garden.md", "Gardening/tools.md", "plans/garden 2026.md", "plans/kindergarten.md", "go-around-den.md",
        "caf\u00e9.md", "a%b.md",
    ):  # fmt: skip
        household.write(path)


EXPECTED = {
    "garden": ["garden.md", "Gardening/tools.md", "plans/garden%202026.md", "go-around-den.md"],
    "GARDEN 2": ["plans/garden%202026.md"],
    "plans/": ["plans/garden%202026.md", "plans/kindergarten.md"],
    "plans/garden%20": ["plans/garden%202026.md"],
    "plans/garden%2": ["plans/garden%202026.md"],
    "gdn26": ["plans/garden%202026.md"],
    "caf%C3%A9": ["caf%C3%A9.md"],
    "cafe\u0301": ["caf%C3%A9.md"],
    "caf%C3": ["caf%C3%A9.md"],
    "a%25b": ["a%25b.md"],
    "nothing like it": [],
    "../": [],
}  # fmt: skip


@dataclass
class Settled:
    """An index that is settled, but for some paths."""

    generation: str
    paths: tuple[str, ...] = ()
    losses: list[str] = field(default_factory=list)

    def standing(self) -> Standing:
        return Standing(settled=True, paths=self.paths, generation=self.generation)

    def lost(self) -> None:
        self.losses.append("lost")

    def progress(self) -> Progress | None:
        return None


def test_what_is_typed_is_completed_by_prefix_first_and_then_by_its_letters(household: Household) -> None:
    garden(household)
    service, template = household.service(), f"{household.uri}/{{+path}}"
    assert {value: completed(service, ALICE, template, value) for value in EXPECTED} == EXPECTED


def test_values_that_the_template_is_filled_with_are_uris_of_notes(household: Household) -> None:
    garden(household)
    service, template = household.service(), f"{household.uri}/{{+path}}"
    uris = [template.replace("{+path}", value) for value in completed(service, ALICE, template, "")]
    assert sorted(uris) == sorted(listed(service, ALICE))
    for uri in uris:
        assert service.resource(ALICE, uri).text == "x\n"


def test_an_index_gives_the_same_values(household: Household, monkeypatch: pytest.MonkeyPatch) -> None:
    garden(household)
    household.write("gone garden.md")
    household.grant(BOB, Right.READ, folder="plans")
    product = household.product()
    product.build_index("Notes", lambda _: None)
    service, template = product.service, f"{household.uri}/{{+path}}"
    generation = product._runner.keep("Notes", KeepIndex()).generation
    (household.vault / "gone garden.md").unlink()
    household.write("new garden.md")
    index = Settled(generation, ("gone garden.md", "new garden.md"))
    monkeypatch.setattr(service, "_freshness", {"Notes": index})

    def unused(*_: Any) -> Any:
        pytest.fail("the workspace was walked through")

    with monkeypatch.context() as patch:
        patch.setattr(completions.Completion, "_walk", unused)
        found = {value: completed(service, ALICE, template, value) for value in EXPECTED}
        assert found["garden"] == [*EXPECTED["garden"][:3], "new%20garden.md", *EXPECTED["garden"][3:]]
        assert {**found, "garden": EXPECTED["garden"]} == EXPECTED
        assert service.complete_uri(ALICE, template, "path", "").total == 8
        assert completed(service, BOB, template, "") == ["plans/garden%202026.md", "plans/kindergarten.md"]
    index.generation = "f" * 16
    assert completed(service, ALICE, template, "GARDEN 2") == ["plans/garden%202026.md"]
    assert index.losses == ["lost"]


def test_what_an_index_was_known_to_have_is_forgotten_once_it_has_changed(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(130):
        household.write(f"n{number:03}.md")
    monkeypatch.setattr("fsnotes.notes.known_ids.STRETCH", 40)
    product = household.product()
    product.build_index("Notes", lambda _: None)
    service, template = product.service, f"{household.uri}/{{+path}}"
    index = Settled(product._runner.keep("Notes", KeepIndex()).generation)
    monkeypatch.setattr(service, "_freshness", {"Notes": index})
    expected = [f"n{number:03}.md" for number in range(100)]
    for _ in range(3):
        assert completed(service, ALICE, template, "n") == expected
        assert completed(service, ALICE, template, "129") == ["n129.md"]
    many = service.complete_uri(ALICE, template, "path", "n")
    assert (many.total, many.has_more) == (None, True)
    household.write("n.md")
    (household.vault / "n129.md").unlink()
    product.build_index("Notes", lambda _: None)
    for _ in range(3):
        assert completed(service, ALICE, template, "n") == ["n.md", *expected[:99]]
        assert completed(service, ALICE, template, "129") == []


def test_a_hundred_values_at_most_and_how_many_there_are(household: Household) -> None:
    for number in range(130):
        household.write(f"n{number:03}.md")
    done = household.service().complete_uri(ALICE, f"{household.uri}/{{+path}}", "path", "n").document()
    assert done["completion"]["values"] == [f"n{number:03}.md" for number in range(100)]
    assert (done["completion"]["total"], done["completion"]["hasMore"]) == (130, True)


def test_a_walk_that_takes_long_ends_with_what_was_found(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        household.write(f"{number:02}/n.md")
    monkeypatch.setattr(completions, "SCAN_BUDGET", 10)
    monkeypatch.setattr(completions, "SECONDS", -1.0)
    service = household.service()
    done = service.complete_uri(ALICE, f"{household.uri}/{{+path}}", "path", "n").document()["completion"]
    assert (done["hasMore"], "total" in done, 0 < len(done["values"]) < 30) == (True, False, True)
    assert service.complete_folder(ALICE, household.uri, "").has_more
    monkeypatch.setattr(completions, "SECONDS", 60.0)
    assert service.complete_uri(ALICE, f"{household.uri}/{{+path}}", "path", "n").total == 30
    assert service.complete_folder(ALICE, household.uri, "").total == 30


def test_templates_have_no_other_argument(household: Household) -> None:
    with pytest.raises(InvalidArgument):
        household.service().complete_uri(ALICE, f"{household.uri}/{{+path}}", "folder", "")
