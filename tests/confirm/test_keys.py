"""Which keys seal and unseal, who may read them, and what a rotation keeps."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fsnotes.confirm import MAX_TTL, KeyRing
from fsnotes.confirm.keys import MAX_KEYS, RETIRED_SECONDS
from fsnotes.confirm.sealing import seal, unseal
from fsnotes.errors import ConfigurationError, InvalidState, Unavailable

NOW = 1_800_000_000.0


def _open(path: Path) -> KeyRing:
    return KeyRing.open(path, clock=lambda: NOW)


def _text(*secrets: bytes) -> str:
    return ",".join(base64.b64encode(secret).decode() for secret in secrets)


def _secret(seed: int) -> bytes:
    return bytes((seed + 7 * index) % 256 for index in range(32))


# -- the file ----------------------------------------------------------------------------------------


def test_the_keys_file_is_made_private_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "private" / "keys.json"
    made = _open(path)
    assert [oct(path.stat().st_mode), oct(path.parent.stat().st_mode)] == ["0o100600", "0o40700"]
    assert os.listdir(path.parent) == ["keys.json"]
    assert _open(path).keys == made.keys
    assert [key.created for key in made.keys] == [NOW]


def test_the_keys_file_has_the_documented_shape(tmp_path: Path) -> None:
    key = _open(tmp_path / "keys.json").sealing
    assert json.loads((tmp_path / "keys.json").read_bytes()) == {
        "version": 1,
        "keys": [
            {"id": key.id.hex(), "secret": base64.b64encode(key.secret).decode(), "created": int(NOW)},
        ],
    }


def test_a_secret_never_appears_in_a_repr(tmp_path: Path) -> None:
    key = _open(tmp_path / "keys.json").sealing
    assert repr(key) == f"Key(id={key.id!r}, created={int(NOW)})"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610, 0o601])
def test_a_keys_file_open_to_others_is_refused_and_left_alone(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "keys.json"
    _open(path)
    before = path.read_bytes()
    path.chmod(mode)
    with pytest.raises(ConfigurationError):
        _open(path)
    assert path.read_bytes() == before
    path.chmod(0o400)
    assert len(_open(path).keys) == 1


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o777, 0o701])
def test_a_folder_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "private"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(ConfigurationError):
        _open(folder / "keys.json")
    assert os.listdir(folder) == []


def test_a_link_in_the_place_of_the_keys_file_is_refused_and_its_target_is_untouched(tmp_path: Path) -> None:
    target = tmp_path / "target.json"
    _open(target)
    before = target.read_bytes()
    for name, destination in (("link.json", target), ("dangling.json", tmp_path / "nothing.json")):
        (tmp_path / name).symlink_to(destination)
        with pytest.raises(ConfigurationError):
            _open(tmp_path / name)
    assert target.read_bytes() == before
    assert not (tmp_path / "nothing.json").exists()


def test_a_link_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "private").symlink_to("real")
    with pytest.raises(ConfigurationError):
        _open(tmp_path / "private" / "keys.json")
    assert os.listdir(tmp_path / "real") == []


@pytest.mark.timeout(5)
def test_a_fifo_in_the_place_of_the_keys_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "keys.json", 0o600)
    with pytest.raises(ConfigurationError):
        _open(tmp_path / "keys.json")


def test_a_keys_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _open(tmp_path / "keys.json")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(ConfigurationError):
        _open(tmp_path / "keys.json")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff",
        b'{"version": 1, "keys": []}',
        b'{"version": 2, "keys": [{"id": "00000000", "secret": "AAAA", "created": 1}]}',
        b'{"version": 1, "keys": [{"id": "00000000", "secret": "AAAA", "created": 1}]}',
        b'{"version": 1, "keys": [{"id": "00000000", "created": 1}]}',
        b"[" * 50_000,
        b" " * 70_000,
    ],
)
def test_a_damaged_keys_file_is_refused_and_never_replaced(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "keys.json"
    path.touch(0o600)
    path.write_bytes(data)
    with pytest.raises(ConfigurationError):
        _open(path)
    assert path.read_bytes() == data


def test_a_key_whose_id_does_not_belong_to_its_secret_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    key = _open(path).sealing
    path.write_bytes(path.read_bytes().replace(key.id.hex().encode(), b"00000000"))
    with pytest.raises(ConfigurationError):
        _open(path)


_OPEN_AT_ONCE = """
import sys
from fsnotes.confirm import KeyRing
print("ready", flush=True)
sys.stdin.readline()
print(KeyRing.open(sys.argv[1]).sealing.id.hex(), flush=True)
"""


def test_eight_processes_that_make_the_keys_at_once_agree(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    children = [
        subprocess.Popen(
            [sys.executable, "-c", _OPEN_AT_ONCE, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    ids = [child.communicate(timeout=30)[0].strip() for child in children]
    assert ids == [_open(path).sealing.id.hex()] * 8
    assert os.listdir(tmp_path) == ["keys.json"]


def test_what_a_killed_process_left_beside_the_keys_is_removed(tmp_path: Path) -> None:
    (tmp_path / "keys.json.new").write_bytes(b"half a k")
    _open(tmp_path / "keys.json").rotate(NOW)
    assert os.listdir(tmp_path) == ["keys.json"]


# -- rotation ----------------------------------------------------------------------------------------


def test_rotation_seals_with_a_fresh_key_and_unseals_what_is_in_flight(tmp_path: Path) -> None:
    ring = _open(tmp_path / "keys.json")
    old, token = ring.sealing, seal(ring, b"in flight")
    fresh = ring.rotate(NOW + 10)
    assert ring.keys == (fresh, old)
    assert ring.sealing == fresh
    assert unseal(ring, token) == b"in flight"
    assert unseal(ring, seal(ring, b"after")) == b"after"
    assert oct((tmp_path / "keys.json").stat().st_mode) == "0o100600"


def test_a_running_process_notices_the_rotation_of_another(tmp_path: Path) -> None:
    ours, theirs = _open(tmp_path / "keys.json"), _open(tmp_path / "keys.json")
    before = seal(ours, b"before")
    fresh = theirs.rotate(NOW + 10)
    token = seal(theirs, b"after")
    assert unseal(ours, token) == b"after"
    assert unseal(ours, before) == b"before"
    assert ours.sealing == fresh


def test_a_key_is_dropped_once_nothing_that_it_sealed_can_be_alive(tmp_path: Path) -> None:
    ring = _open(tmp_path / "keys.json")
    first = ring.sealing
    # The first key sealed until the second came, a year later: its age alone says nothing.
    second = ring.rotate(NOW + 31_536_000)
    third = ring.rotate(second.created + RETIRED_SECONDS - 1)
    assert ring.keys == (third, second, first)
    fourth = ring.rotate(second.created + RETIRED_SECONDS)
    assert ring.keys == (fourth, third, second)
    assert RETIRED_SECONDS > MAX_TTL


def test_a_state_sealed_by_a_dropped_key_is_refused(tmp_path: Path) -> None:
    ring = _open(tmp_path / "keys.json")
    token = seal(ring, b"old")
    ring.rotate(NOW + 1)
    ring.rotate(NOW + 1 + RETIRED_SECONDS)
    with pytest.raises(InvalidState, match="unknown key"):
        unseal(ring, token)


def test_a_clock_set_back_drops_no_key_too_early(tmp_path: Path) -> None:
    ring = _open(tmp_path / "keys.json")
    first = ring.sealing
    second = ring.rotate(NOW - 1_000_000)
    third = ring.rotate(NOW - 999_999)
    assert ring.keys == (third, second, first)


def test_a_ring_stays_bounded_however_often_it_is_rotated(tmp_path: Path) -> None:
    ring = _open(tmp_path / "keys.json")
    made = [ring.rotate(NOW + second) for second in range(MAX_KEYS + 5)]
    assert ring.keys == tuple(reversed(made))[:MAX_KEYS]


@pytest.mark.parametrize("now", [float("nan"), float("inf"), "1", True, None])
def test_a_rotation_at_no_time_is_refused_and_changes_nothing(tmp_path: Path, now: float) -> None:
    ring = _open(tmp_path / "keys.json")
    before = (tmp_path / "keys.json").read_bytes()
    with pytest.raises(ValueError, match="not a time"):
        ring.rotate(now)
    assert (tmp_path / "keys.json").read_bytes() == before


def test_removing_the_file_revokes_every_state_in_flight(tmp_path: Path) -> None:
    ring = _open(tmp_path / "keys.json")
    old, token = ring.sealing, seal(ring, b"in flight")
    (tmp_path / "keys.json").unlink()
    with pytest.raises(InvalidState, match="unknown key"):
        unseal(ring, token)
    assert ring.sealing != old
    assert _open(tmp_path / "keys.json").keys == ring.keys


def test_a_running_process_uses_no_key_that_others_can_read(tmp_path: Path) -> None:
    ring = _open(tmp_path / "keys.json")
    token = seal(ring, b"x")
    (tmp_path / "keys.json").chmod(0o644)
    with pytest.raises(Unavailable):
        seal(ring, b"x")
    with pytest.raises(Unavailable):
        unseal(ring, token)
    (tmp_path / "keys.json").chmod(0o600)
    assert unseal(ring, token) == b"x"


# -- keys from the environment -----------------------------------------------------------------------


def test_keys_from_text_seal_with_the_first_and_unseal_with_all() -> None:
    old = KeyRing.from_text(_text(_secret(1)))
    both = KeyRing.from_text(_text(_secret(2), _secret(1)))
    assert [key.secret for key in both.keys] == [_secret(2), _secret(1)]
    assert unseal(both, seal(old, b"x")) == b"x"
    with pytest.raises(InvalidState):
        unseal(old, seal(both, b"x"))


def test_keys_from_text_may_use_either_base64_alphabet_with_or_without_padding() -> None:
    secret = bytes(range(224, 256))
    standard, safe = base64.b64encode(secret).decode(), base64.urlsafe_b64encode(secret).decode()
    assert standard != safe
    for text in (standard, safe, standard.rstrip("="), safe.rstrip("="), f" {standard} \n"):
        assert [key.secret for key in KeyRing.from_text(text).keys] == [secret]


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "not base64!",
        _text(b"short"),
        _text(b"x" * 31),
        _text(bytes(range(33))),
        _text(b"\0" * 32),
        _text(b"ab" * 16),
        _text(_secret(1)) + ",",
        _text(_secret(1), _secret(1)),
        _text(*(_secret(seed) for seed in range(MAX_KEYS + 1))),
    ],
)
def test_text_that_is_no_ring_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        KeyRing.from_text(text)
    assert len(text) < 20 or text[:20] not in str(caught.value)


def test_keys_from_text_are_not_rotated_here() -> None:
    with pytest.raises(ConfigurationError):
        KeyRing.from_text(_text(_secret(1))).rotate(NOW)
