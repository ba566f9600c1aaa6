"""Filters of packets: which pass, of which how much, and which ports they watch."""

from __future__ import annotations

import pytest
from tests.capture.packets import answer, frame

from tidegate_server.capture.bpf import (
    HEAD_BYTES,
    FilterError,
    Instruction,
    compile_filter,
    watched_ports,
)
from tidegate_server.capture.frames import ACK

WHOLE = 0x40000


def passed(program: list[Instruction], content: bytes) -> int:
    """The bytes that a program passes of a frame, as the kernel's interpreter does."""
    at = accumulator = index = 0
    while True:
        code, yes, no, constant = program[at]
        at += 1
        match code:
            case 0x28 | 0x20 | 0x30 | 0x48:
                size = {0x28: 2, 0x48: 2, 0x20: 4, 0x30: 1}[code]
                place = constant + (index if code == 0x48 else 0)
                if place + size > len(content):
                    return 0
                accumulator = int.from_bytes(content[place : place + size])
            case 0xB1:
                index = 4 * (content[constant] & 15)
            case 0x54:
                accumulator &= constant
            case 0x15:
                at += yes if accumulator == constant else no
            case 0x45:
                at += yes if accumulator & constant else no
            case 0x06:
                return constant


@pytest.mark.parametrize(
    ("text", "there", "back"),
    [
        ("tcp dst port 80", WHOLE, HEAD_BYTES),
        ("tcp port 80", WHOLE, WHOLE),
        ("tcp dst port 81", 0, 0),
        ("tcp dst port 80 and src net 192.0.2.0/24", WHOLE, HEAD_BYTES),
        ("tcp dst port 80 and not src host 192.0.2.7", 0, 0),
        ("tcp dst port 80 and not dst host 192.0.2.7", WHOLE, HEAD_BYTES),
        ("", WHOLE, WHOLE),
    ],
)
def test_of_the_other_direction_the_heads_pass(text: str, there: int, back: int) -> None:
    """Those of the same connections, and of no others."""
    program = compile_filter(text)
    assert passed(program, frame(5, 1, ACK).content) == there
    assert passed(program, answer(5, 1).content) == back
    alone = compile_filter(text, answers=None)
    assert passed(alone, frame(5, 1, ACK).content) == there
    assert passed(alone, answer(5, 1).content) == (WHOLE if back == WHOLE else 0)


@pytest.mark.parametrize(
    ("text", "ports"),
    [
        ("tcp dst port 80", (80,)),
        ("port 443 or tcp dst port 80", (80, 443)),
        ("src port 80", ()),
        ("not dst port 22", ()),
        ("not (dst port 22 or not dst port 80)", (80,)),
        ("dst host 192.0.2.7", ()),
        ("", ()),
    ],
)
def test_the_watched_ports_are_the_destinations_that_a_filter_names(
    text: str, ports: tuple[int, ...]
) -> None:
    """One that it leaves out is not among them."""
    assert watched_ports(text) == ports


def test_the_other_direction_takes_no_room_from_a_filter() -> None:
    """As many ports fit with it as without it."""

    def most(answers: int | None) -> int:
        for count in range(1, 100):
            text = " or ".join(f"dst port {number}" for number in range(1, count + 1))
            try:
                compile_filter(text, answers=answers)
            except FilterError:
                return count - 1
        raise AssertionError("there is no bound")

    assert most(HEAD_BYTES) == most(None) > 10
