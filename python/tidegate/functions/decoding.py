"""Texts as the programs behind a site read them, for rules that must see through spellings.

These are ModSecurity's transformations of the names given below, on characters instead of bytes: a
number that names a character gives that character, not its lowest byte.  A number that names none
gives U+FFFD.  No result is longer than its text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tidegate.functions.registry import overload
from tidegate.functions.text import WHITE_SPACE, lower

if TYPE_CHECKING:
    from re import Match

_ENTITY = re.compile(r"&(?:#[xX]([0-9A-Fa-f]+)|#([0-9]+)|([A-Za-z0-9]+));?")
ENTITIES = {
    "quot": '"', "amp": "&", "apos": "'", "lt": "<", "gt": ">", "nbsp": "\u00a0", "tab": "\t",
    "newline": "\n", "excl": "!", "num": "#", "dollar": "$", "percnt": "%", "lpar": "(",
    "rpar": ")", "ast": "*", "plus": "+", "comma": ",", "hyphen": "-", "period": ".", "sol": "/",
    "colon": ":", "semi": ";", "equals": "=", "quest": "?", "commat": "@", "lbrack": "[",
    "bsol": "\\", "rbrack": "]", "caret": "^", "lowbar": "_", "grave": "`", "lbrace": "{",
    "verbar": "|", "rbrace": "}", "tilde": "~",
}  # fmt: skip
"""The names of characters that are decoded: ModSecurity's, and those of ``!``, tab and newline."""
_JS_ESCAPE = re.compile(
    r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([0-3][0-7]{0,2}|[4-7][0-7]?)|(.))", re.DOTALL
)
_JS_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CSS_ESCAPE = re.compile(r"\\(?:([0-9A-Fa-f]{1,6})[ \t\n\v\f\r]?|(\n)|(.)|\Z)", re.DOTALL)
_COMMENT = re.compile(r"(?:/\*|<!--).*?(?:\*/|-->|(\Z))|(?:--|#).*", re.DOTALL)
_C_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_WHITE_SPACE = re.compile(f"[{WHITE_SPACE}]+")
_FULL_WIDTH = range(0xFF01, 0xFF5F)
_TO_ASCII = 0xFF01 - 0x21


def _character(digits: str, base: int) -> str:
    """The character that digits name, U+FFFD if they name none."""
    # More digits than this are beyond all characters, and `int` refuses very many.
    number = int(digits.lstrip("0")[:8] or "0", base)
    return "\ufffd" if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF else chr(number)


def _narrow(character: str) -> str:
    """The ASCII character that a full-width form of one stands for."""
    number = ord(character)
    return chr(number - _TO_ASCII) if number in _FULL_WIDTH else character


@overload("string.htmlDecode() -> string")
def html_decode(text: str) -> str:
    """``"&lt;b&#62;".htmlDecode() == "<b>"``: ModSecurity's ``htmlEntityDecode``.

    ``&#62;`` and ``&#x3E;`` give the character of the number, and the names of ``ENTITIES``, in
    either case, theirs; the semicolon may be absent.  Other names stay.
    """

    def decoded(found: Match[str]) -> str:
        hexadecimal, decimal, name = found.groups()
        if hexadecimal is not None:
            return _character(hexadecimal, 16)
        if decimal is not None:
            return _character(decimal, 10)
        return ENTITIES.get(lower(name), found[0])

    return _ENTITY.sub(decoded, text)


@overload("string.jsDecode() -> string")
def js_decode(text: str) -> str:
    r"""``"\\x61\\u0062\\143".jsDecode() == "abc"``: ModSecurity's ``jsDecode``.

    ``\\uHHHH``, ``\\xHH`` and up to three octal digits, 377 at most, give the character of the
    number, a full-width form its ASCII character; ``\\a \\b \\f \\n \\r \\t \\v`` give control
    characters.  Any other character after a backslash stays, without the backslash.  A backslash at
    the end stays.
    """

    def decoded(found: Match[str]) -> str:
        unicode, hexadecimal, octal, letter = found.groups()
        if unicode is not None:
            return _narrow(_character(unicode, 16))
        if hexadecimal is not None:
            return _character(hexadecimal, 16)
        if octal is not None:
            return _character(octal, 8)
        return _JS_LETTERS.get(letter, letter)

    return _JS_ESCAPE.sub(decoded, text)


@overload("string.cssDecode() -> string")
def css_decode(text: str) -> str:
    r"""``"\\61 b\\c".cssDecode() == "ab\\f"``: ModSecurity's ``cssDecode``.

    One to six hexadecimal digits after a backslash, and one white space after them, give the
    character of the number, a full-width form its ASCII character.  A backslash before a line feed
    vanishes with it, a backslash at the end by itself.  Any other character after a backslash
    stays, without the backslash.
    """

    def decoded(found: Match[str]) -> str:
        digits, _, character = found.groups()
        return (character or "") if digits is None else _narrow(_character(digits, 16))

    return _CSS_ESCAPE.sub(decoded, text)


@overload("string.removeNulls() -> string")
def remove_nulls(text: str) -> str:
    """``"a\\0b".removeNulls() == "ab"``: ModSecurity's ``removeNulls``."""
    return text.replace("\0", "")


@overload("string.removeComments() -> string")
def remove_comments(text: str) -> str:
    """``"un/*x*/ion -- y".removeComments() == "union "``: ModSecurity's ``removeComments``.

    A comment begins with ``/*`` or ``<!--`` and ends with ``*/`` or ``-->``.  One without an end
    leaves a space.  ``--`` and ``#`` outside a comment end the text.
    """

    return _COMMENT.sub(lambda found: "" if found[1] is None else " ", text)


@overload("string.replaceComments() -> string")
def replace_comments(text: str) -> str:
    """``"a/*x*/b".replaceComments() == "a b"``: ModSecurity's ``replaceComments``.

    Each comment of C becomes one space, one without an end too.
    """
    return _C_COMMENT.sub(" ", text)


@overload("string.removeWhitespace() -> string")
def remove_whitespace(text: str) -> str:
    """``"a b\\tc".removeWhitespace() == "abc"``: white space as ``trim`` has it."""
    return _WHITE_SPACE.sub("", text)


@overload("string.collapseWhitespace() -> string")
def collapse_whitespace(text: str) -> str:
    """``"a \\n b".collapseWhitespace() == "a b"``: ModSecurity's ``compressWhitespace``.

    Each run of white space, as ``trim`` has it, becomes one space.
    """
    return _WHITE_SPACE.sub(" ", text)


@overload("string.normalizePath() -> string")
def normalize_path(path: str) -> str:
    """``"/a/./b//../c".normalizePath() == "/a/c"``: ModSecurity's ``normalisePath``.

    Empty and ``.`` segments fall away.  ``..`` removes the segment before it; without one it stays
    in a relative path, and falls away in one that begins with ``/``.  A ``/`` at the end stays.
    """
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif segment == ".." and path.startswith("/"):
            continue
        elif segment not in ("", "."):
            kept.append(segment)
    end = "/" if kept and path.endswith("/") else ""
    return f"{'/' if path.startswith('/') else ''}{'/'.join(kept)}{end}"
