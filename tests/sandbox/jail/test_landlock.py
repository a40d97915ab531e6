"""Landlock's table, and which rights each kind of worker is given."""

from __future__ import annotations

import struct

import pytest

from sandbox.jail.landlock import KEEP_DATABASE, READ, TABLE, WRITE, Right, attributes, known, rights_of
from sandbox.jail.report import KINDS

NEVER = (
    Right.EXECUTE
    | Right.MAKE_CHAR
    | Right.MAKE_BLOCK
    | Right.MAKE_FIFO
    | Right.MAKE_SOCK
    | Right.MAKE_SYM
    | Right.IOCTL_DEV
)


@pytest.mark.parametrize("abi", TABLE)
def test_everything_that_a_version_can_guard_is_denied(abi: int) -> None:
    sizes = {1: 8, 2: 8, 3: 8, 4: 16, 5: 16, 6: 24, 7: 24}
    whole = attributes(abi)
    assert len(whole) == sizes[abi]
    fields = struct.unpack(f"{len(whole) // 8}Q", whole)
    bits = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16, 6: 16, 7: 16}
    assert fields == ((1 << bits[abi]) - 1, 3, 3)[: len(fields)]


def test_versions_past_the_table_are_taken_as_its_last() -> None:
    assert known(8) == known(1000) == TABLE[7]
    assert attributes(8) == attributes(7)


def test_each_version_guards_at_least_what_the_one_before_did() -> None:
    for abi in range(2, 8):
        assert TABLE[abi].files & TABLE[abi - 1].files == TABLE[abi - 1].files
        assert (TABLE[abi].net, TABLE[abi].scope) >= (TABLE[abi - 1].net, TABLE[abi - 1].scope)


def test_nobody_may_run_programs_or_make_links_pipes_sockets_and_devices() -> None:
    for kind in KINDS:
        for rights in rights_of(kind):
            assert rights & NEVER == Right(0)


def test_rights_follow_the_kind() -> None:
    assert {kind: rights_of(kind) for kind in KINDS} == {
        "ro": (READ, READ),
        "rw": (WRITE, KEEP_DATABASE),
        "index": (READ, KEEP_DATABASE),
    }
    assert READ == Right.READ_FILE | Right.READ_DIR
    assert Right(0) == KEEP_DATABASE & (Right.MAKE_DIR | Right.REMOVE_DIR | Right.REFER)
