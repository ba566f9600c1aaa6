"""Packet filters: a small part of tcpdump's language, compiled to a program for the kernel.

``[tcp] [src|dst] port N``, ``[src|dst] host A``, ``[src|dst] net A/N``, joined by ``and``, ``or``,
``not`` and parentheses.  The program is classic BPF for Ethernet frames (McCanne and Jacobson,
1993; Linux's ``filter.txt``).  IPv4 fragments after the first never match a port test.

A connection has two directions, and a filter such as ``tcp dst port 80`` names one.  The program
also passes the headers of the other direction, which show what the server received.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from ipaddress import IPv4Network, ip_network
from typing import TypeAlias

import attrs

from tidegate.errors import TidegateError

MAX_TEXT = 1_000
MAX_TESTS = 60
"""A program's jumps reach at most 255 instructions."""
MAX_DEPTH = 20
_TOKEN = re.compile(r"\s*(\(|\)|[^\s()]+)")
_WHOLE_FRAME = 0x40000
HEAD_BYTES = 256
"""Bytes of a frame in the other direction: all headers up to TCP's."""

_LOAD_HALF, _LOAD_WORD, _LOAD_BYTE = 0x28, 0x20, 0x30
_LOAD_HALF_X, _LOAD_LENGTH_X = 0x48, 0xB1
_AND, _JEQ, _JSET, _RETURN = 0x54, 0x15, 0x45, 0x06
_IPV4, _IPV6, _TCP = 0x0800, 0x86DD, 6
_OTHER_SIDE = {"src": "dst", "dst": "src"}


class FilterError(TidegateError):
    """A filter is invalid; the message says where."""

    code = "invalid-filter"


@attrs.frozen
class _Port:
    port: int
    sides: tuple[str, ...]


@attrs.frozen
class _Net:
    network: str
    sides: tuple[str, ...]


@attrs.frozen
class _Tcp:
    pass


@attrs.frozen
class _Not:
    of: _Node


@attrs.frozen
class _Both:
    left: _Node
    right: _Node


@attrs.frozen
class _Either:
    left: _Node
    right: _Node


_Node: TypeAlias = "_Port | _Net | _Tcp | _Not | _Both | _Either"
Instruction: TypeAlias = tuple[int, int, int, int]
"""Operation, jump if true, jump if false, constant."""


def compile_filter(text: str, *, answers: int | None = HEAD_BYTES) -> list[Instruction]:
    """Compile a filter.

    Args:
        text: the filter.
        answers: bytes to pass of each frame in the other direction; None to drop these frames.

    Raises:
        FilterError: it is invalid, or too large.
    """
    tree = _parsed(text)
    program = _Program()
    program.test(tree, "accept", "reject" if answers is None else "other")
    program.end("accept", _WHOLE_FRAME)
    if answers is not None:
        program.here("other")
        program.test(_mirrored(tree), "answer", "reject")
        program.end("answer", answers)
    program.end("reject", 0)
    return program.assembled()


def watched_ports(text: str) -> tuple[int, ...]:
    """The destination ports in a filter; empty if it passes any port.

    Raises:
        FilterError: it is invalid.
    """
    return tuple(sorted(_watched(_parsed(text), is_wanted=True)))


def _parsed(text: str) -> _Node:
    if len(text) > MAX_TEXT or not text.isascii():
        raise FilterError(f"a filter is ASCII of at most {MAX_TEXT} characters")
    return _Parser(text).parse()


def _mirrored(node: _Node) -> _Node:
    """The filter for frames in the other direction."""
    match node:
        case _Port(port, sides):
            return _Port(port, tuple(_OTHER_SIDE[side] for side in sides))
        case _Net(network, sides):
            return _Net(network, tuple(_OTHER_SIDE[side] for side in sides))
        case _Not(of):
            return _Not(_mirrored(of))
        case _Both(left, right):
            return _Both(_mirrored(left), _mirrored(right))
        case _Either(left, right):
            return _Either(_mirrored(left), _mirrored(right))
        case _Tcp():
            return node


def _watched(node: _Node, *, is_wanted: bool) -> set[int]:
    match node:
        case _Port(port, sides):
            return {port} if is_wanted and "dst" in sides else set()
        case _Not(of):
            return _watched(of, is_wanted=not is_wanted)
        case _Both(left, right) | _Either(left, right):
            both = (_watched(each, is_wanted=is_wanted) for each in (left, right))
            return set().union(*both)
        case _:
            return set()


def packed(program: list[Instruction]) -> bytes:
    """A program's instructions as ``SO_ATTACH_FILTER`` expects them."""
    return b"".join(struct.pack("=HBBI", *each) for each in program)


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = [match[1].lower() for match in _TOKEN.finditer(text)]
        self._place = 0
        self._tests = 0

    def parse(self) -> _Node:
        if not self._tokens:
            return _Tcp()
        found = self._either(0)
        if self._next() is not None:
            raise FilterError(f"`{self._next()}` is one word too many")
        return found

    def _either(self, depth: int) -> _Node:
        if depth > MAX_DEPTH:
            raise FilterError("it is nested too deeply")
        left = self._both(depth)
        while self._takes("or"):
            left = _Either(left, self._both(depth))
        return left

    def _both(self, depth: int) -> _Node:
        left = self._one(depth)
        while self._takes("and"):
            left = _Both(left, self._one(depth))
        return left

    def _one(self, depth: int) -> _Node:
        self._tests += 1
        if self._tests > MAX_TESTS:
            raise FilterError(f"it has more than {MAX_TESTS} tests")
        if self._takes("not"):
            if depth > MAX_DEPTH:
                raise FilterError("it is nested too deeply")
            return _Not(self._one(depth + 1))
        if self._takes("("):
            inner = self._either(depth + 1)
            if not self._takes(")"):
                raise FilterError("a `)` is missing")
            return inner
        if self._takes("tcp"):
            follows = self._next() in ("src", "dst", "port")
            return _Both(_Tcp(), self._test()) if follows else _Tcp()
        return self._test()

    def _test(self) -> _Node:
        side = next((each for each in ("src", "dst") if self._takes(each)), None)
        sides = (side,) if side else ("src", "dst")
        kind, value = self._take(), self._take()
        if kind == "port":
            if not value.isdecimal() or not 0 < int(value) < 65_536:
                raise FilterError(f"`{value}` isn't a port")
            return _Port(int(value), sides)
        if kind in ("host", "net"):
            try:
                return _Net(str(ip_network(value)), sides)
            except ValueError:
                raise FilterError(f"`{value}` isn't a {kind}") from None
        raise FilterError(f"`{kind}` is not known: tcp, port, host, net")

    def _next(self) -> str | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _take(self) -> str:
        found = self._next()
        if found is None:
            raise FilterError("it ends too soon")
        self._place += 1
        return found

    def _takes(self, word: str) -> bool:
        if self._next() != word:
            return False
        self._place += 1
        return True


class _Program:
    """Instructions that jump to labels, which get positions when the program is complete."""

    def __init__(self) -> None:
        self._code: list[tuple[int, str | None, str | None, int]] = []
        self._labels: dict[str, int] = {}
        self._count = 0

    def test(self, node: _Node, yes: str, no: str) -> None:
        """Jump to one label if a test holds, and to another if not."""
        match node:
            case _Not(of):
                self.test(of, no, yes)
            case _Both(left, right):
                between = self._label()
                self.test(left, between, no)
                self.here(between)
                self.test(right, yes, no)
            case _Either(left, right):
                between = self._label()
                self.test(left, yes, between)
                self.here(between)
                self.test(right, yes, no)
            case _Tcp():
                self._by_version(self._tcp4, self._tcp6, yes, no)
            case _Port(port, sides):
                self._by_version(
                    lambda y, n: self._port4(port, sides, y, n),
                    lambda y, n: self._port6(port, sides, y, n),
                    yes,
                    no,
                )
            case _Net(network, sides):
                self._net(network, sides, yes, no)

    def here(self, label: str) -> None:
        """Label the next instruction."""
        self._labels[label] = len(self._code)

    def end(self, label: str, size: int) -> None:
        """At a label, pass this many bytes of a frame."""
        self.here(label)
        self._add(_RETURN, size)

    def assembled(self) -> list[Instruction]:
        """The program with labels replaced by distances."""
        made = []
        for place, (code, yes, no, constant) in enumerate(self._code):
            jumps = [0 if to is None else self._labels[to] - place - 1 for to in (yes, no)]
            if max(jumps) > 255:
                raise FilterError("it is too large for one program")
            made.append((code, *jumps, constant))
        return made  # type: ignore[return-value]

    def _by_version(
        self,
        four: Callable[[str, str], None],
        six: Callable[[str, str], None],
        yes: str,
        no: str,
    ) -> None:
        is_four, other, is_six = self._label(), self._label(), self._label()
        self._add(_LOAD_HALF, 12)
        self._jump(_JEQ, _IPV4, is_four, other)
        self.here(is_four)
        four(yes, no)
        self.here(other)
        self._jump(_JEQ, _IPV6, is_six, no)
        self.here(is_six)
        six(yes, no)

    def _tcp4(self, yes: str, no: str) -> None:
        self._add(_LOAD_BYTE, 23)
        self._jump(_JEQ, _TCP, yes, no)

    def _tcp6(self, yes: str, no: str) -> None:
        self._add(_LOAD_BYTE, 20)
        self._jump(_JEQ, _TCP, yes, no)

    def _port4(self, port: int, sides: tuple[str, ...], yes: str, no: str) -> None:
        whole, first = self._label(), self._label()
        self._tcp4(whole, no)
        self.here(whole)
        self._add(_LOAD_HALF, 20)
        self._jump(_JSET, 0x1FFF, no, first)
        self.here(first)
        self._add(_LOAD_LENGTH_X, 14)
        self._any_of([(_LOAD_HALF_X, 14 if side == "src" else 16, port) for side in sides], yes, no)

    def _port6(self, port: int, sides: tuple[str, ...], yes: str, no: str) -> None:
        tcp = self._label()
        self._tcp6(tcp, no)
        self.here(tcp)
        self._any_of([(_LOAD_HALF, 54 if side == "src" else 56, port) for side in sides], yes, no)

    def _any_of(self, tests: list[tuple[int, int, int]], yes: str, no: str) -> None:
        for number, (load, place, value) in enumerate(tests):
            is_last = number == len(tests) - 1
            following = no if is_last else self._label()
            self._add(load, place)
            self._jump(_JEQ, value, yes, following)
            if not is_last:
                self.here(following)

    def _net(self, network: str, sides: tuple[str, ...], yes: str, no: str) -> None:
        wanted = ip_network(network)
        is_version = self._label()
        is_four = isinstance(wanted, IPv4Network)
        self._add(_LOAD_HALF, 12)
        self._jump(_JEQ, _IPV4 if is_four else _IPV6, is_version, no)
        self.here(is_version)
        places = {"src": 26, "dst": 30} if is_four else {"src": 22, "dst": 38}
        address, mask = wanted.network_address.packed, wanted.netmask.packed
        for number, side in enumerate(sides):
            is_last = number == len(sides) - 1
            following = no if is_last else self._label()
            for start in range(0, len(address), 4):
                bits = int.from_bytes(mask[start : start + 4])
                if not bits and start:
                    break
                self._add(_LOAD_WORD, places[side] + start)
                self._add(_AND, bits)
                goes_on = start + 4 < len(address) and any(mask[start + 4 :])
                matched = self._label() if goes_on else yes
                value = int.from_bytes(address[start : start + 4])
                self._jump(_JEQ, value, matched, following)
                if goes_on:
                    self.here(matched)
            if not is_last:
                self.here(following)

    def _label(self) -> str:
        self._count += 1
        return f"l{self._count}"

    def _add(self, code: int, constant: int) -> None:
        self._code.append((code, None, None, constant))

    def _jump(self, code: int, constant: int, yes: str, no: str) -> None:
        self._code.append((code, yes, no, constant))
