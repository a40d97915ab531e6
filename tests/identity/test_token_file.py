"""The file of hashes: who may read it, what it never holds, what a kill leaves, and what is refused whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fsnotes.errors import Busy, ConfigurationError, InvalidArgument, NoteNotFound
from fsnotes.identity import token_text
from fsnotes.identity.token_file import MAX_TOKENS, Token, TokenFile

ROOT = Path(__file__).resolve().parents[2]
NOW = 1_800_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "private" / "tokens.json"


def _open(path: Path) -> TokenFile:
    return TokenFile(path, clock=lambda: NOW + 0.9)


def _names(path: Path) -> list[str]:
    return [token.name for token in _open(path).read().tokens]


def test_no_file_is_no_token_and_reading_makes_none(path: Path) -> None:
    file = _open(path)
    assert (file.read().tokens, file.version(), path.exists()) == ((), None, False)


def test_what_is_added_is_read_by_every_other_and_only_its_hash_is_kept(path: Path) -> None:
    made, text = _open(path).add("ci")
    assert made == Token(made.id, "ci", token_text.digest(text), NOW)
    assert (made.principal.name, _open(path).read().tokens) == ("token:ci", (made,))
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert text[8:72] not in path.read_text()
    assert (text in repr(made), token_text.digest(text).hex() in repr(made)) == (False, False)


def test_one_name_may_have_several_tokens_until_they_are_revoked_by_id_or_by_name(path: Path) -> None:
    file = _open(path)
    old, new, other = (file.add(name)[0] for name in ("ci", "ci", "laptop"))
    assert file.read().tokens == (old, new, other)
    assert (file.revoke(old.id), file.read().tokens) == ((old,), (new, other))
    again = file.add("ci")[0]
    assert (file.revoke("ci"), file.read().tokens) == ((new, again), (other,))


def test_every_token_is_another_one(path: Path) -> None:
    file = _open(path)
    made = [file.add("ci") for _ in range(8)]
    assert len({text for _, text in made}) == len({token.id for token, _ in made}) == 8


def test_an_id_that_is_taken_is_not_given_again(path: Path) -> None:
    ids = iter([b"aaaa", b"aaaa", b"bbbb"])
    file = TokenFile(path, random=lambda size: os.urandom(size) if size == 32 else next(ids))
    assert [file.add("ci")[0].id for _ in range(2)] == ["61616161", "62626262"]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x" * 65,
        "-ci",
        ".ci",
        "_ci",
        "a b",
        "a/b",
        "a:b",
        "a|b",
        "a\n",
        "é",
        "a\x00",
        "*",
        "0123abcd",
        "deadbeef",
    ],
)
def test_a_name_that_could_be_taken_for_something_else_is_refused(path: Path, name: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        _open(path).add(name)
    assert (caught.value.argument, path.exists()) == ("NAME", False)


@pytest.mark.parametrize("name", ["a", "x" * 64, "ci-2.main_x", "0", "0123abc", "0123ABCD", "deadbeef0"])
def test_the_nearest_names_are_taken(path: Path, name: str) -> None:
    assert _open(path).add(name)[0].principal.name == f"token:{name}"
    assert [token.name for token in _open(path).revoke(name)] == [name]


def test_what_is_not_there_cannot_be_revoked_and_nothing_changes(path: Path) -> None:
    file = _open(path)
    file.add("ci")
    before = file.version()
    for absent in ("cI", "c", "00000000"):
        with pytest.raises(NoteNotFound):
            file.revoke(absent)
    assert file.version() == before


def test_a_token_that_is_taken_for_its_name_is_not_repeated(path: Path) -> None:
    _, text = _open(path).add("ci")
    for act in (_open(path).add, _open(path).revoke):
        with pytest.raises(InvalidArgument) as caught:
            act(text)
        assert text[8:] not in f"{caught.value}{caught.value.args}"


def test_most_tokens_of_the_longest_names_fit_and_one_more_is_refused(path: Path) -> None:
    file = TokenFile(path, clock=lambda: 10_000_000_000)
    path.parent.mkdir(mode=0o700)
    items = [
        {"id": f"{number:08x}", "name": "x" * 64, "sha256": f"{number:064x}", "created": 10_000_000_000}
        for number in range(MAX_TOKENS - 1)
    ]
    _plant(path, json.dumps({"version": 1, "tokens": items}))
    file.add("x" * 64)
    before = path.read_bytes()
    with pytest.raises(ConfigurationError):
        file.add("one-more")
    assert (len(file.read().tokens), path.read_bytes()) == (MAX_TOKENS, before)


def _plant(path: Path, text: str | bytes) -> None:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(0o600)


_GOOD: dict[str, Any] = {"id": "00000001", "name": "ci", "sha256": "0" * 64, "created": NOW}


def _item(**changes: Any) -> str:
    return json.dumps({"version": 1, "tokens": [{**_GOOD, **changes}]})


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"[]", b"null", b"\xff", b"\x00" * 10, b"[" * 60_000,
        '{"version": 1}', '{"version": 2, "tokens": []}', '{"version": 1, "tokens": {}}',
        '{"version": 1, "tokens": [], "more": 1}', '{"version": 1, "tokens": [], "tokens": []}',
        '{"version": 1, "tokens": [null]}', '{"version": 1, "tokens": [{}]}',
        _item(id="0000001"), _item(id=1), _item(id="0000000G"), _item(name=""), _item(name="a b"),
        _item(name="deadbeef"), _item(name="a\n"), _item(sha256="0" * 63), _item(sha256="G" * 64),
        _item(sha256=None), _item(created=-1), _item(created=1.5), _item(created="1"), _item(created=True),
        _item(more=1),
        json.dumps({"version": 1, "tokens": [_GOOD, {**_GOOD, "id": "00000002"}]}),
        json.dumps({"version": 1, "tokens": [_GOOD, {**_GOOD, "sha256": "1" * 64}]}),
        _item(name="ci")[:-3], " " * 70_000,
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused_whole_and_left_as_it_is(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(mode=0o700)
    _plant(path, text)
    before = path.read_bytes()
    file = _open(path)
    for act in (file.read, lambda: file.add("new"), lambda: file.revoke("ci")):
        with pytest.raises(ConfigurationError) as caught:
            act()
        assert len(str(caught.value).splitlines()) == 1
    assert path.read_bytes() == before


def test_the_nearest_file_is_read(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    _plant(path, _item())
    assert _names(path) == ["ci"]


def _link(path: Path) -> None:
    path.rename(path.with_name("real"))
    path.symlink_to("real")


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _linked_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("real"))
    path.parent.symlink_to("real")


@pytest.mark.parametrize(
    "attack",
    [
        _link,
        _fifo,
        _folder,
        _linked_folder,
        lambda path: path.chmod(0o604),
        lambda path: path.chmod(0o640),
        lambda path: path.chmod(0o620),
        lambda path: path.parent.chmod(0o701),
        lambda path: path.parent.chmod(0o770),
    ],
    ids=["link", "fifo", "folder", "linked folder", "0604", "0640", "0620", "folder 0701", "folder 0770"],
)
def test_a_file_that_is_not_private_is_refused_and_a_private_one_read(
    path: Path, attack: Callable[[Path], object]
) -> None:
    file = _open(path)
    file.add("ci")
    path.chmod(0o400)
    assert _names(path) == ["ci"]
    attack(path)
    for act in (file.read, lambda: file.add("new"), lambda: file.revoke("ci")):
        with pytest.raises(ConfigurationError) as caught:
            act()
        assert len(str(caught.value).splitlines()) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_belongs_to_another_user_is_refused(path: Path, what: str) -> None:
    file = _open(path)
    file.add("ci")
    given = path if what == "file" else path.parent
    os.chown(given, 1234, 1234)
    with pytest.raises(ConfigurationError, match="another user"):
        file.read()
    os.chown(given, 0, 0)
    assert _names(path) == ["ci"]


@pytest.mark.parametrize("where", ["fsync", "rename"])
@pytest.mark.parametrize("act", ["add('new')", "revoke('ci')"])
def test_a_writer_that_is_killed_leaves_the_former_file_and_nothing_that_stops_the_next(
    path: Path, where: str, act: str
) -> None:
    _open(path).add("ci")
    before = path.read_bytes()
    code = (
        "import os, signal\n"
        "from fsnotes.identity.token_file import TokenFile\n"
        f"os.{where} = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"TokenFile({str(path)!r}).{act}\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False)
    assert (done.returncode, path.read_bytes()) == (-signal.SIGKILL, before)
    assert sorted(os.listdir(path.parent)) == ["tokens.json", "tokens.json.new"]
    _open(path).add("next")
    assert (_names(path), os.listdir(path.parent)) == (["ci", "next"], ["tokens.json"])


def test_a_disk_that_fails_leaves_the_former_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = _open(path)
    file.add("ci")
    before = path.read_bytes()
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        for act in (lambda: file.add("new"), lambda: file.revoke("ci")):
            with pytest.raises(ConfigurationError):
                act()
    assert path.read_bytes() == before
    file.revoke("ci")
    assert _names(path) == []


def test_writers_of_several_threads_lose_nothing(path: Path) -> None:
    names = [f"n{number}" for number in range(16)]
    threads = [threading.Thread(target=_patient, args=(path, name)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert sorted(_names(path)) == sorted(names)


def _patient(path: Path, name: str) -> None:
    for _ in range(20):
        try:
            _open(path).add(name)
        except Busy:
            continue
        return
