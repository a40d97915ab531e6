"""Authorization: who may do what, in which folder; and one answer for everything else."""

from __future__ import annotations

import pytest

from fsnotes.access import Access, Grant, Held, Principal, Right, Rule, Workspace
from fsnotes.calls import local_principal
from fsnotes.errors import NotAllowed
from sandbox.names import ROOT, RelPath
from sandbox.uris import FileUri

ALICE = Principal("local:alice")
BOB = Principal("local:bob")
NOTES = Workspace("notes", (FileUri.parse("file:///srv/notes"), FileUri.parse("file:///home/alice/Notes")))
OTHER = Workspace("other", (FileUri.parse("file:///srv/other"),))


def rule(principal: Principal, workspace: Workspace, folder: str, *rights: Right) -> Rule:
    return Rule(principal.name, workspace.name, RelPath.parse_folder(folder), frozenset(rights))


ACCESS = Access(
    [NOTES, OTHER],
    [
        rule(ALICE, NOTES, "", Right.READ, Right.WRITE),
        rule(BOB, NOTES, "Shared", Right.READ),
        rule(BOB, NOTES, "Shared/Inbox", Right.READ, Right.WRITE),
        rule(BOB, OTHER, "", *()),
    ],
)


@pytest.mark.parametrize(
    "uri",
    [
        "file:///srv/notes",
        "file:///srv/notes/",
        "FILE:///srv/notes",
        "file://localhost/srv/notes",
        "file:///srv/%6eotes",
        "file:///home/alice/Notes",
    ],
)
def test_every_spelling_of_a_granted_workspace_is_that_workspace(uri: str) -> None:
    grant = ACCESS.authorize(ALICE, uri, Right.READ)
    assert (grant.principal, grant.workspace, grant.right, grant.folders) == (
        ALICE,
        NOTES,
        Right.READ,
        (ROOT,),
    )


@pytest.mark.parametrize(
    "uri",
    [
        "file:///srv/notes-evil",
        "file:///srv/notes-evil/secret.md",
        "file:///srv/notes/%2e%2e/notes",
        "file:///srv/notes/../notes",
        "file:///srv/note",
        "file:///srv",
        "file:///srv/notes/Shared",
        "file:///SRV/notes",
        "file:///nowhere",
        "https://srv/notes",
        "/srv/notes",
        "notes",
        "",
        "file:///srv/notes%00",
        "file:///srv//notes",
    ],
)
def test_anything_else_is_refused_with_one_answer(uri: str) -> None:
    with pytest.raises(NotAllowed) as unknown:
        ACCESS.authorize(ALICE, uri, Right.READ)
    assert type(unknown.value) is NotAllowed


def test_a_right_that_was_not_granted_is_refused_like_an_unknown_workspace() -> None:
    with pytest.raises(NotAllowed):
        ACCESS.authorize(ALICE, "file:///srv/notes", Right.DELETE)
    assert ACCESS.authorize(ALICE, "file:///srv/notes", Right.WRITE).right is Right.WRITE


def test_writing_does_not_include_reading() -> None:
    access = Access([NOTES], [rule(ALICE, NOTES, "", Right.WRITE)])
    with pytest.raises(NotAllowed):
        access.authorize(ALICE, "file:///srv/notes", Right.READ)


def test_an_empty_list_of_rights_allows_nothing() -> None:
    with pytest.raises(NotAllowed):
        ACCESS.authorize(BOB, "file:///srv/other", Right.READ)


def test_a_grant_covers_its_folders_and_inner_ones_are_folded_into_outer_ones() -> None:
    assert ACCESS.authorize(BOB, "file:///srv/notes", Right.READ).folders == (RelPath.parse("Shared"),)
    assert ACCESS.authorize(BOB, "file:///srv/notes", Right.WRITE).folders == (RelPath.parse("Shared/Inbox"),)


def test_principals_are_compared_whole() -> None:
    with pytest.raises(NotAllowed):
        ACCESS.authorize(Principal("local:alice2"), "file:///srv/notes", Right.READ)
    with pytest.raises(NotAllowed):
        ACCESS.authorize(Principal("local:ALICE"), "file:///srv/notes", Right.READ)


def test_each_principal_sees_its_own_folders_with_their_rights() -> None:
    assert ACCESS.visible(ALICE) == (Held(NOTES, ROOT, frozenset({Right.READ, Right.WRITE})),)
    assert ACCESS.visible(BOB) == (
        Held(NOTES, RelPath.parse("Shared"), frozenset({Right.READ})),
        Held(NOTES, RelPath.parse("Shared/Inbox"), frozenset({Right.READ, Right.WRITE})),
    )
    assert ACCESS.visible(Principal("local:eve")) == ()


def test_nobody_else_can_make_a_grant() -> None:
    with pytest.raises(TypeError):
        Grant(ALICE, NOTES, Right.DELETE, (ROOT,), mint=object())


def test_the_local_principal_comes_from_the_uid_and_not_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("USER", "mallory")
    monkeypatch.setenv("LOGNAME", "mallory")
    assert local_principal(0) == Principal("local:root")
    assert local_principal(3_999_999_999) == Principal("local:#3999999999")


def test_what_a_principal_holds_is_granted_by_workspace_and_right() -> None:
    assert [
        (grant.workspace, grant.folders)
        for grant in (*ACCESS.held(ALICE, Right.READ), *ACCESS.held(BOB, Right.WRITE))
    ] == [(NOTES, (ROOT,)), (NOTES, (RelPath(("Shared", "Inbox")),))]
    assert ACCESS.held(BOB, Right.DELETE) == ()
    assert ACCESS.held(Principal("local:carol"), Right.READ) == ()


@pytest.mark.parametrize(
    ("uri", "below"),
    [
        ("file:///srv/notes/a/b.md", [("a", "b.md")]),
        ("FILE://localhost/home/alice/%4Eotes/a.md", [("a.md",)]),
        ("file:///srv/notes", []),
        ("file:///srv/notes/a.md/", []),
        ("file:///srv/notesX/a.md", []),
        ("file:///srv/notes/../notes/a.md", []),
        ("file:///srv/other/a.md", []),
        ("https://example.org/srv/notes/a.md", []),
    ],
)
def test_a_uri_lies_beneath_the_workspaces_that_are_held_and_no_others(
    uri: str, below: list[tuple[str, ...]]
) -> None:
    for principal in (ALICE, BOB):
        assert [parts for _, parts in ACCESS.beneath(principal, uri, Right.READ)] == below
    assert ACCESS.beneath(Principal("local:carol"), uri, Right.READ) == ()


def test_of_workspaces_within_each_other_the_innermost_comes_first() -> None:
    inner = Workspace("inner", (FileUri.parse("file:///srv/notes/a"),))
    access = Access([NOTES, inner], [rule(BOB, NOTES, "", Right.READ), rule(BOB, inner, "", Right.READ)])
    found = access.beneath(BOB, "file:///srv/notes/a/b.md", Right.READ)
    assert [(grant.workspace, parts) for grant, parts in found] == [
        (inner, ("b.md",)),
        (NOTES, ("a", "b.md")),
    ]


@pytest.mark.parametrize("name", ["", "local:a\n", "local:\u202ea", "\0"])
def test_a_principal_has_a_name_that_can_be_shown(name: str) -> None:
    with pytest.raises(ValueError, match="principal"):
        Principal(name)
    assert Principal("local:é b").name == "local:é b"


def test_a_workspace_has_a_uri_and_shows_the_canonical_one() -> None:
    with pytest.raises(ValueError, match="URI"):
        Workspace("none", ())
    assert (NOTES.uri, OTHER.uri) == ("file:///srv/notes", "file:///srv/other")


def test_two_workspaces_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="unique"):
        Access((NOTES, OTHER, Workspace("notes", OTHER.uris)), ())
    assert Access((NOTES, OTHER), ()).visible(ALICE) == ()


def test_rights_are_called_as_in_the_configuration() -> None:
    assert [right.value for right in Right] == ["read", "write", "delete"]


def test_a_workspace_is_named_for_those_alone_who_hold_something_there() -> None:
    access = Access(
        (NOTES, OTHER),
        (
            Rule("local:alice", "notes", RelPath(("a",)), frozenset({Right.WRITE})),
            Rule("local:bob", "notes", ROOT, frozenset()),
            Rule("local:bob", "other", ROOT, frozenset({Right.READ})),
        ),
    )
    assert access.name_of(ALICE, "file:///home/alice/Notes/") == "notes"
    assert access.name_of(BOB, "file:///srv/other") == "other"
    for principal, uri in (
        (ALICE, "file:///srv/other"),
        (ALICE, "file:///srv/notes/a"),
        (ALICE, "file:///srv/note"),
        (ALICE, "notes"),
        (BOB, "file:///srv/notes"),
        (Principal("local:carol"), "file:///srv/notes"),
    ):
        assert access.name_of(principal, uri) is None


def test_a_grant_is_shown_by_what_it_says() -> None:
    (grant, *_) = ACCESS.held(ALICE, Right.READ)
    assert repr(grant) == "<Grant read in 'notes' for 'local:alice'>"
