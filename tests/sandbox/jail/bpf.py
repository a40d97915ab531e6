"""A small interpreter of classic BPF, to ask a seccomp filter about calls without making them."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sandbox.jail.seccomp import JUMP_ANY_BIT, JUMP_AT_LEAST, JUMP_EQUAL, LOAD, RETURN

MOST_INSTRUCTIONS = 4096


def run(program: bytes, *, architecture: int, number: int, arguments: Sequence[int] = ()) -> int:
    """Return the filter's answer to one call. Fails on anything that the kernel would refuse to load."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, architecture, 0, *padded)
    steps = [struct.unpack_from("HBBI", program, at) for at in range(0, len(program), 8)]
    assert 0 < len(steps) <= MOST_INSTRUCTIONS
    accumulator, at = 0, 0
    while True:
        code, if_true, if_false, constant = steps[at]
        at += 1
        if code == RETURN:
            return int(constant)
        if code == LOAD:
            assert constant % 4 == 0
            (accumulator,) = struct.unpack_from("<I", data, constant)
            continue
        holds = {
            JUMP_EQUAL: accumulator == constant,
            JUMP_AT_LEAST: accumulator >= constant,
            JUMP_ANY_BIT: bool(accumulator & constant),
        }[code]
        at += if_true if holds else if_false
