"""Values recognised as secrets by their form, whatever their names.

See docs/fields.md, "What is kept of an event".
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from itertools import pairwise
from typing import TYPE_CHECKING

from tidegate.errors import EventError
from tidegate.evaluation.json_text import read_json
from tidegate.evaluation.secrets import families
from tidegate.functions.text import lower

if TYPE_CHECKING:
    from collections.abc import Iterator

_JWT_STARTS = ("eyJ", "eyI", "eyA", "eyB", "ewo", "ewp", "ew0", "ew1", "ewk", "ewl")
"""The base64 of ``{`` and a quote or space."""
_PEM = "-----BEGIN "
_PREFIXES = {text: int(least) for text, least in families.numbered("prefixes")}
_ADDRESSES = {text: int(least) for text, least in families.numbered("addresses")}
_SCHEMES = frozenset(families.entries("schemes"))
_ANCHORS = re.compile(
    "(?<![A-Za-z0-9_+~-])(?:"
    + "|".join(
        re.escape(each)
        for each in sorted(
            [_PEM, *_JWT_STARTS, *_PREFIXES, *_ADDRESSES, *_SCHEMES], key=lambda e: (-len(e), e)
        )
    )
    + ")",
    re.IGNORECASE | re.ASCII,
)
"""The prefixes of secret values, at the beginning of a word. Those of schemes match in either case.
Requiring the beginning of a word also keeps the time for a text linear."""
_SEGMENT = re.compile(r"[A-Za-z0-9_\-]*")
_TAIL = re.compile(r"[A-Za-z0-9_\-.=~]*")
_BODY = re.compile(r"[A-Za-z0-9_\-.]*")
_PATH = re.compile(r"[A-Za-z0-9_\-.:/]*")
_SPACE = re.compile(r"[ \t+]+")
_TOKEN = re.compile(r"([A-Za-z0-9\-._~+/]*)=*")
_LABEL = re.compile(r"([A-Z0-9 ]{0,64})-----")
_PUBLIC = (
    "CERTIFICATE",
    "CERTIFICATE REQUEST",
    "NEW CERTIFICATE REQUEST",
    "PUBLIC KEY",
    "X509 CRL",
)
_PEM_END = re.compile("-----END [^-]*-----")
_DIGITS = re.compile("[0-9]+")
_GROUPS = ((4, 4, 4, 4, 3), (4, 4, 4, 4), (4, 6, 5), (4, 6, 4))
"""How the digits of a card are printed."""
_CARDS = [
    (*map(int, first.split("-")), *map(int, lengths.split("-")))
    for first, lengths in families.numbered("cards")
]
_SHORTEST_CARD = 13


def spans(text: str) -> list[tuple[int, int]]:
    """The ranges of secret values in a text, in order and disjoint."""
    found = sorted([*_credentials(text), *_cards(text)])
    apart: list[tuple[int, int]] = []
    for start, end in found:
        if not apart or start >= apart[-1][1]:
            apart.append((start, end))
    return apart


def is_card(digits: str) -> bool:
    """Whether digits are a payment card number, by issuer, length and check digit."""
    return (
        digits.isascii()
        and digits.isdigit()
        and any(
            shortest <= len(digits) <= longest and low <= int(digits[: len(str(low))]) <= high
            for low, high, shortest, longest in _CARDS
        )
        and _has_check_digit(digits)
    )


def _has_check_digit(digits: str) -> bool:
    total = 0
    for at, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + at % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _credentials(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for found in _ANCHORS.finditer(text):
        start = found.start()
        if start < at:
            continue
        end = _end(text, start, found.end(), found[0])
        if end is not None:
            begins, at = end
            yield begins, at


def _end(text: str, start: int, after: int, anchor: str) -> tuple[int, int] | None:
    """Where the credentials after an anchor begin and end; None if there aren't any."""
    if anchor == _PEM:
        return _pem(text, start, after)
    if anchor in _JWT_STARTS:
        return _jwt(text, start)
    if anchor in _PREFIXES:
        end = _end_of(_BODY, text, after)
        return (start, end) if end - after >= _PREFIXES[anchor] else None
    if anchor in _ADDRESSES:
        end = _end_of(_PATH, text, after)
        return (after, end) if end - after >= _ADDRESSES[anchor] else None
    return _scheme(text, after, anchor) if lower(anchor) in _SCHEMES else None


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    assert found is not None
    return found.end()


def _pem(text: str, start: int, after: int) -> tuple[int, int] | None:
    label = _LABEL.match(text, after)
    if label is None or label[1] in _PUBLIC:
        return None
    end = _PEM_END.search(text, label.end())
    return start, len(text) if end is None else end.end()


def _jwt(text: str, start: int) -> tuple[int, int] | None:
    """A JWT or JWE: its header is JSON."""
    header = _end_of(_SEGMENT, text, start)
    if text[header : header + 1] != "." or not _is_json(text[start:header]):
        return None
    return start, _end_of(_TAIL, text, header)


def _is_json(segment: str) -> bool:
    decoded = _decoded(segment)
    try:
        return decoded is not None and read_json(decoded).kind == "object"
    except EventError:
        return False


def _decoded(text: str) -> bytes | None:
    """Base64 of either alphabet, with or without padding."""
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error:
        return None


def _scheme(text: str, after: int, scheme: str) -> tuple[int, int] | None:
    """Credentials after a scheme: ``Basic dXNlcjpwYXNz``, ``Bearer abc123``."""
    space = _SPACE.match(text, after)
    if space is None:
        return None
    found = _TOKEN.match(text, space.end())
    assert found is not None
    end = found.end()
    if text[end : end + 1] in ('"', "'") and found[0].endswith("="):
        return None
    is_secret = (
        b":" in (_decoded(found[0]) or b"")
        if lower(scheme) == "basic"
        else _is_credential(found[1], scheme)
    )
    return (space.end(), end) if is_secret else None


def _is_credential(word: str, scheme: str) -> bool:
    """Whether a word after a scheme isn't just a word in a sentence."""
    if len(word) < 6:
        return False
    letters = word.rstrip(".")
    is_prose = letters.isalpha() and (
        letters[1:] == lower(letters[1:]) or (letters.isupper() and scheme.isupper())
    )
    return not is_prose


def _is_word(character: str) -> bool:
    return character == "_" or (character.isascii() and character.isalnum())


def _cards(text: str) -> Iterator[tuple[int, int]]:
    groups = [(found.start(), found.end()) for found in _DIGITS.finditer(text)]
    at = 0
    while at < len(groups):
        size = _card_at(text, groups, at)
        if size:
            yield groups[at][0], groups[at + size - 1][1]
        at += size or 1


def _card_at(text: str, groups: list[tuple[int, int]], at: int) -> int:
    """How many groups of digits form a card number; 0 if they don't."""
    start = groups[at][0]
    if start and (_is_word(text[start - 1]) or text[start - 1] == "."):
        return 0
    sizes = [end - begin for begin, end in groups[at : at + 5]]
    forms = [len(form) for form in _GROUPS if form == tuple(sizes[: len(form)])]
    for size in [1] if sizes[0] >= _SHORTEST_CARD else forms:
        here = groups[at : at + size]
        between = {text[one[1] : two[0]] for one, two in pairwise(here)}
        if size > 1 and between not in ({" "}, {"-"}):
            continue
        after = text[here[-1][1] : here[-1][1] + 2]
        if _is_word(after[:1]) or (after[:1] == "." and _DIGITS.match(after, 1)):
            continue
        if is_card("".join(text[begin:end] for begin, end in here)):
            return size
    return 0
