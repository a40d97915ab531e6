"""What a product holds open, and what it lets go of."""

from __future__ import annotations

import os

import pytest

from fsnotes import wiring
from fsnotes.errors import Unavailable
from fsnotes.outcomes import Deletion
from sandbox import Root
from sandbox.records import replace
from tests.service.conftest import ALICE, Household, accept, answer, ask


def open_files() -> dict[str, str]:
    """Return what is open here, but for what the keepers of shared workers look at, a moment each."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # the one of this very listing
        if not target.startswith("/proc/"):
            found[name] = target
    return found


def test_a_closed_product_holds_nothing_open(inline: Household) -> None:
    """Workers are shared by tests, so this is for the inline runner; that a jail ends is tested where it is made."""
    household = inline
    household.write("a.md", "x")
    before = open_files()
    product = household.product()
    service, uri = product.service, household.uri
    service.create(ALICE, uri, "b", "x")
    asked = ask(service, ALICE, uri, "a.md")
    deletion = answer(service, ALICE, uri, "a.md", asked, accept("a.md"))
    assert isinstance(deletion, Deletion)
    service.answered(deletion)
    service.restore(ALICE, uri, str(deletion.trash_id))
    product.sweep()
    product.close()
    assert open_files() == before
    with pytest.raises(Unavailable):
        service.read(ALICE, uri, "b")
    with pytest.raises(Unavailable):
        ask(service, ALICE, uri, "a.md")


@pytest.mark.parametrize("part", ["keys.json", "ledger.sqlite3"])
@pytest.mark.parametrize("damage", ["open to others", "a link", "a folder", "not what it should be"])
def test_keys_and_a_ledger_that_cannot_be_trusted_delete_nothing(
    household: Household, part: str, damage: str
) -> None:
    household.write("a.md", "x")
    asked = ask(household.service(), ALICE, household.uri, "a.md")
    place = household.top / "state/private" / part
    aside = household.top / "aside"
    match damage:
        case "open to others":
            place.chmod(0o644)
        case "a link":
            place.rename(aside)
            place.symlink_to(aside)
        case "a folder":
            place.rename(aside)
            place.mkdir(0o700)
        case _:
            place.write_bytes(b"{]")
    service = household.service()
    with pytest.raises(Unavailable) as caught:
        answer(service, ALICE, household.uri, "a.md", asked, accept("a.md"))
    assert str(household.top) not in caught.value.why
    assert household.files() == {"a.md": b"x"}
    assert service.read(ALICE, household.uri, "a").text == "x"  # what asks nobody goes on


def test_a_weaker_file_system_is_among_the_notices_where_it_is_tried(
    inline: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Root.features
    monkeypatch.setattr(Root, "features", lambda root: replace(real(root), lock="file"))
    settings = inline.product().settings
    tried, plain = wiring.build(settings, environ={}, inspect="try"), wiring.build(settings, environ={})
    tried.close()
    plain.close()
    assert plain.notices == ()
    assert tried.notices == (
        "workspace 'Notes': folders cannot be locked: a lock file in the state folder stands in",
    )
