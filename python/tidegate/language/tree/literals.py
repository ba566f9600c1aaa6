"""The value of a literal's text: escapes in strings and bytes, ranges of numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

INT_MAX = 2**63 - 1
INT_MIN = -(2**63)
UINT_MAX = 2**64 - 1

_SIMPLE = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "?": "?", '"': '"', "'": "'", "`": "`",
}  # fmt: skip
_ESCAPE = re.compile(
    r"""\\(?:(?P<simple>[abfnrtv\\?"'`])|(?P<octal>[0-3][0-7]{2})|[xX](?P<byte>[0-9a-fA-F]{2})"""
    r"|(?P<point>u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|(?P<bad>[\s\S]))"
)


class LiteralError(ValueError):
    """A literal's text is wrong between ``start`` and ``end``, counted from its beginning."""

    def __init__(self, message: str, start: int, end: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.start = start
        self.end = end
        self.hint = hint


def string_value(text: str) -> str:
    """The value of a string literal; ``text`` includes quotes and prefix.

    Raises:
        LiteralError: an escape is unknown or doesn't name a character.
    """
    body, start, raw = _body(text)
    if "\r" in body:
        body = body.replace("\r\n", "\n").replace("\r", "\n")
    if raw or "\\" not in body:
        return body
    return _ESCAPE.sub(_escapes(start, _code_point), body)


def bytes_value(text: str) -> bytes:
    r"""The value of a bytes literal: text is UTF-8, ``\x`` and octal escapes are single bytes.

    Raises:
        LiteralError: an escape is unknown, or denotes a code point.
    """
    body, start, raw = _body(text[1:])
    if "\r" in body:
        body = body.replace("\r\n", "\n").replace("\r", "\n")
    if raw or "\\" not in body:
        return body.encode()
    # A byte above 127 is passed as a lone surrogate, which the text itself cannot contain.
    replaced = _ESCAPE.sub(_escapes(start + 1, _byte), body)
    return replaced.encode("utf-8", "surrogateescape")


def source_offsets(text: str) -> list[int]:
    """The position in ``text`` of each character of a string literal's value, and of its end."""
    body, start, raw = _body(text)
    offsets, at = [], 0
    while at < len(body):
        offsets.append(start + at)
        escape = None if raw else _ESCAPE.match(body, at)
        if escape is not None:
            at = escape.end()
        else:
            at += 2 if body.startswith("\r\n", at) else 1
    offsets.append(start + len(body))
    return offsets


_ENOUGH_DIGITS = 40


def int_value(text: str) -> int:
    """The value of an int or uint literal without its ``u``."""
    if text.startswith("0x"):
        return int(text, 16)
    # Truncated where it is certainly out of range: Python refuses to parse thousands of digits.
    return int(text.lstrip("0")[:_ENOUGH_DIGITS] or "0")


def _body(text: str) -> tuple[str, int, bool]:
    """The text between the quotes, its start, and whether it is raw."""
    raw = text[0] in "rR"
    start = 1 if raw else 0
    quotes = 3 if text[start : start + 3] in ('"""', "'''") and len(text) - start >= 6 else 1
    return text[start + quotes : -quotes], start + quotes, raw


def _escapes(
    offset: int, convert: Callable[[re.Match[str], int], str]
) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        simple = match["simple"]
        if simple:
            return _SIMPLE[simple]
        if match["bad"]:
            raise LiteralError(
                f"unknown escape `{match[0]}`",
                offset + match.start(),
                offset + match.end(),
                "write `\\\\` for a backslash, or prefix the literal with r",
            )
        return convert(match, offset)

    return replace


def _code_point(match: re.Match[str], offset: int) -> str:
    if match["octal"]:
        return chr(int(match["octal"], 8))
    point = int(match["byte"] or match["point"][1:], 16)
    if 0xD800 <= point <= 0xDFFF or point > 0x10FFFF:
        kind = "a surrogate" if point <= 0xDFFF else "past the last code point"
        raise LiteralError(
            f"escape `{match[0]}` is {kind}", offset + match.start(), offset + match.end(),
            "write a character outside the basic plane as `\\UXXXXXXXX`",
        )  # fmt: skip
    return chr(point)


def _byte(match: re.Match[str], offset: int) -> str:
    if match["point"]:
        raise LiteralError(
            f"escape `{match[0]}` in bytes", offset + match.start(), offset + match.end(),
            "bytes take `\\xNN` and octal escapes",
        )  # fmt: skip
    value = int(match["octal"], 8) if match["octal"] else int(match["byte"], 16)
    return chr(value) if value < 0x80 else chr(0xDC00 + value)
