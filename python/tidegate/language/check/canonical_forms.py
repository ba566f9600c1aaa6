"""The texts that a field can have over HTTP, as automata.

The encoder gives some fields a canonical form: a path has no dot segments, an address is in its
shortest spelling. An automaton accepts every text of that form, and perhaps others: the field is
never a text that the automaton rejects. A few texts are excluded although an API caller could send
them: a path without a leading slash, a host with a slash, and a question mark in a path, which
occurs only if a client has written `%3F`.
"""

from __future__ import annotations

import ipaddress
from abc import ABC, abstractmethod
from functools import cache
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from tidegate.functions.addresses import CLIENT_BITS, parse_address, parse_network

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

State: TypeAlias = tuple[object, ...]
Pattern: TypeAlias = "Sequence[str | None]"
"""Consecutive texts; None means any text, including the empty one."""
_HEX = "0123456789abcdef"
_SUBNET_BITS = {4: 24, 6: 48}


class Form(ABC):
    """A form of texts.

    Attributes:
        alphabet: one character of each kind that the form distinguishes.
        start: the states before the first character.
        case: the case of ASCII letters in the form; None for both.
    """

    alphabet: ClassVar[str]
    start: ClassVar[tuple[State, ...]] = ((),)
    case: ClassVar[str | None] = None

    @abstractmethod
    def step(self, state: State, character: str) -> tuple[State, ...]:
        """The states after a character."""

    @abstractmethod
    def accepts(self, state: State) -> bool:
        """Whether the text may end here."""

    def may_be(self, text: str) -> bool:
        """Whether a field can be exactly this text."""
        return self.may_match([text])

    def may_match(self, pattern: Pattern) -> bool:
        """Whether a field can be a text matching the pattern."""
        states = frozenset(self.start)
        for part in pattern:
            if part is None:
                states = self._reachable(states)
                continue
            for character in part:
                states = frozenset(each for state in states for each in self.step(state, character))
                if not states:
                    return False
        return any(map(self.accepts, states))

    @cache  # noqa: B019 - the forms are few and live as long as the program
    def _reachable(self, states: frozenset[State]) -> frozenset[State]:
        known, new = set(states), list(states)
        while new:
            state = new.pop()
            for character in self.alphabet:
                found = [each for each in self.step(state, character) if each not in known]
                known.update(found)
                new += found
        return frozenset(known)


class Path(Form):
    """A slash, and segments between slashes; ``*`` alone is that of ``OPTIONS *``."""

    alphabet = "/.?*a"

    def step(self, state: State, character: str) -> tuple[State, ...]:
        if not state:
            return {"/": (("/",),), "*": (("*",),)}.get(character, ())
        if state == ("*",):
            return ()
        if character == "/":
            return (("/",),) if state == ("a",) else ()
        return _within_segment(state, character)

    def accepts(self, state: State) -> bool:
        return state not in ((".",), ("..",))


class OneOf(Form):
    """One of a few words.

    Args:
        words: the words.
    """

    start = (("",),)

    def __init__(self, *words: str) -> None:
        self._words = words
        self.alphabet = "".join(sorted(set("".join(words))))  # type: ignore[misc]

    def step(self, state: State, character: str) -> tuple[State, ...]:
        text = f"{state[0]}{character}"
        return ((text,),) if any(word.startswith(text) for word in self._words) else ()

    def accepts(self, state: State) -> bool:
        return state[0] in self._words


class Segment(Form):
    """The part between two slashes of a path; only the last one can be empty."""

    alphabet = "/.?a"
    start = (("/",),)

    def step(self, state: State, character: str) -> tuple[State, ...]:
        return () if character == "/" else _within_segment(state, character)

    def accepts(self, state: State) -> bool:
        return state not in ((".",), ("..",))


def _within_segment(state: State, character: str) -> tuple[State, ...]:
    if character == "?":
        return ()
    if character != ".":
        return (("a",),)
    return ({"/": (".",), ".": ("..",)}.get(str(state[0]), ("a",)),)


class Extension(Form):
    """The part after the last dot of a path's last segment."""

    alphabet = "/.?a"
    case = "lower"

    def step(self, state: State, character: str) -> tuple[State, ...]:
        return () if character in "/.?" or "A" <= character <= "Z" else (state,)

    def accepts(self, state: State) -> bool:  # noqa: ARG002
        return True


class Host(Form):
    """A name or address, without a port."""

    alphabet = "a:[]/"
    case = "lower"

    def step(self, state: State, character: str) -> tuple[State, ...]:
        return () if character in "/@?# \t" or "A" <= character <= "Z" else (state,)

    def accepts(self, state: State) -> bool:  # noqa: ARG002
        return True

    def may_be(self, text: str) -> bool:
        name, colon, port = text.rpartition(":")
        in_brackets = name.startswith("[") and name.endswith("]") and "]" not in name[1:-1]
        has_port = bool(colon) and not port.strip("0123456789")
        is_name = in_brackets or (not name.startswith("[") and ":" not in name)
        return super().may_be(text) and not (has_port and is_name)


class Country(Form):
    """Two letters, as in ISO 3166."""

    alphabet = "A1"
    case = "upper"

    def step(self, state: State, character: str) -> tuple[State, ...]:
        fits = character.isascii() and (character.isdigit() or character.isupper())
        return ((*state, "A"),) if fits and len(state) < 2 else ()

    def accepts(self, state: State) -> bool:
        return len(state) in (0, 2)


class AddressForm(Form):
    """An address in its canonical text."""

    alphabet = f"{_HEX}.:/"
    start = ((), (4, 0, ""), (6, "first"))
    case = "lower"

    def step(self, state: State, character: str) -> tuple[State, ...]:
        if not state:
            return ()
        return tuple(_step_4(state, character) if state[0] == 4 else _step_6(state, character))

    def accepts(self, state: State) -> bool:
        return not state or _is_whole(state)

    def may_be(self, text: str) -> bool:
        return not text or str(parse_address(text)) == text


class NetworkForm(AddressForm):
    """The network of an address.

    Args:
        bits: prefix length of the network, by IP version.
    """

    def __init__(self, bits: Mapping[int, int]) -> None:
        self._bits = bits

    def step(self, state: State, character: str) -> tuple[State, ...]:
        if state and state[0] == "/":
            bits, rest = state[1], str(state[2])
            return (("/", bits, rest[1:]),) if rest.startswith(character) else ()
        if character == "/" and state and _is_whole(state):
            return (("/", state[0], str(self._bits[4 if state[0] == 4 else 6])),)
        return super().step(state, character)

    def accepts(self, state: State) -> bool:
        return not state or (state[0] == "/" and not state[2])

    def may_be(self, text: str) -> bool:
        network = parse_network(text)
        if network is None:
            return not text
        bits = self._bits[network.version]
        return ipaddress.ip_network((network.ip, bits), strict=False).with_prefixlen == text


_OCTETS = {
    "": {"0": "end", "1": "1", "2": "2", **dict.fromkeys("3456789", "two")},
    "1": dict.fromkeys("0123456789", "two"),
    "2": {**dict.fromkeys("01234", "two"), "5": "25", **dict.fromkeys("6789", "end")},
    "25": dict.fromkeys("012345", "end"),
    "two": dict.fromkeys("0123456789", "end"),
}
"""How an octet can continue, by its digits so far."""


def _step_4(state: State, character: str) -> Iterable[State]:
    _, number, octet = state
    if character == ".":
        if octet and isinstance(number, int) and number < 3:
            yield 4, number + 1, ""
        return
    following = _OCTETS.get(str(octet), {}).get(character)
    if following is not None:
        yield 4, number, following


def _step_6(state: State, character: str) -> Iterable[State]:
    """States are the kind of place, the groups so far, whether `::` has occurred, digits left."""
    kind, groups, short, left = (*state[1:], 0, False, 0)[:4]
    count = groups if isinstance(groups, int) else 0
    if character == ":":
        if kind == "first":
            yield 6, "one"
        elif kind == "one":
            yield 6, "double", 0, True, 0
        elif kind == "group" and count < 8:
            yield 6, "colon", count, short, 0
        elif kind == "colon" and not short and count <= 6:
            yield 6, "double", count, True, 0
    elif character in _HEX and character:
        if kind == "group":
            if isinstance(left, int) and left:
                yield 6, "group", count, short, left - 1
        elif kind != "one" and count < (6 if short else 8):
            # Leading zeros are dropped, so a group that begins with a zero ends there.
            yield 6, "group", count + 1, short, 0 if character == "0" else 3


def _is_whole(state: State) -> bool:
    if state[0] == 4:
        return state[1] == 3 and bool(state[2])
    if state[0] != 6 or len(state) < 3:
        return False
    return state[1] == "double" or (state[1] == "group" and (state[3] is True or state[2] == 8))


FORMS: dict[str, Form] = {
    "request.path": Path(),
    "derived.lenient_path": Path(),
    "request.host": Host(),
    "request.client_ip": AddressForm(),
    "derived.ip_subnet": NetworkForm(_SUBNET_BITS),
    "derived.client_network": NetworkForm(CLIENT_BITS),
    "derived.path_extension": Extension(),
    "derived.country": Country(),
    "agent.proof": OneOf("signature", "range", "dns", "name", "none"),
    "agent.purpose": OneOf("search", "training", "user", "monitoring", "feed", "other", ""),
}
"""The forms of text fields."""
SEGMENT = Segment()
"""The form of each of ``derived.path_segments``."""
