"""``string.format`` of the strings extension."""

from __future__ import annotations

import math
import re
from operator import itemgetter
from typing import Any

from tidegate.functions import failures
from tidegate.functions.bounded import BoundedText
from tidegate.functions.conversions import (
    positional_text,
    string_from_bool,
    string_from_bytes,
)
from tidegate.functions.registry import overload
from tidegate.functions.time import duration_text, timestamp_text
from tidegate.values import Map, is_number, kind_of

_CLAUSE = re.compile(r"%(?:(?P<percent>%)|(?:\.(?P<precision>[0-9]+))?(?P<letter>[a-zA-Z]))")
_MAX_PRECISION = 1_000
_DEFAULT_PRECISION = 6


@overload("string.format(list(dyn)) -> string")
def format_string(template: str, arguments: list[Any], *, limit: int) -> str:
    """``"%s is %.1f".format(["pi", 3.14]) == "pi is 3.1"``.

    A clause is ``%``, for ``f`` and ``e`` optionally ``.`` and a precision (at most 1000, by
    default 6; any other clause takes one and ignores it), and a letter.  Each takes the next
    argument; arguments left over are ignored.  ``%%`` is a percent sign.

    ``%s``  strings as they are; bool ``true``; numbers as ``%d``; bytes as the UTF-8 they are;
            null ``null``; timestamps and durations as ``string()`` has them; types by name;
            addresses and networks as text; ``[a, b]``; ``{k: v, l: w}`` with the entries
            in the order of the texts of their keys (equal texts keep the map's order).
    ``%d``  int, uint; doubles in decimal digits without an exponent, ``NaN``, ``Infinity``.
    ``%f``  int, uint, double with that many decimals; the exact value rounds half to even.
    ``%e``  the same with one digit before the point: ``1.052033e+03``, the exponent with at
            least two digits.
    ``%b``  int, uint, bool in base 2; a negative int is a minus sign and its magnitude.
    ``%o``  int, uint in base 8.
    ``%x``  int, uint in base 16; the bytes of a string or bytes, two digits each; ``%X`` the
            same with upper-case digits.

    ``invalid_argument`` for an unknown clause, a precision out of range, or an argument
    its clause does not take; ``index_out_of_range`` when arguments run out;
    ``invalid_utf8`` for bytes that aren't UTF-8.
    """
    text, at, used = BoundedText(limit), 0, 0
    while (percent := template.find("%", at)) >= 0:
        text.add(template[at:percent])
        clause = _CLAUSE.match(template, percent)
        if clause is None:
            raise failures.invalid_argument("the format has a `%` without a clause")
        at = clause.end()
        if clause["percent"]:
            text.add("%")
            continue
        precision = _precision(clause["precision"])
        if clause["letter"] not in _LETTERS:
            raise failures.invalid_argument(f"the format has no clause `%{clause['letter']}`")
        if used >= len(arguments):
            raise failures.index_out_of_range(used)
        _add_formatted(text, clause["letter"], precision, arguments[used])
        used += 1
    text.add(template[at:])
    return str(text)


_LETTERS = "sdfebxXo"


def _precision(digits: str | None) -> int:
    if digits is None:
        return _DEFAULT_PRECISION
    significant = digits.lstrip("0") or "0"
    if len(significant) > 4 or int(significant) > _MAX_PRECISION:
        raise failures.invalid_argument(f"the precision is above {_MAX_PRECISION}")
    return int(significant)


def _add_formatted(text: BoundedText, letter: str, precision: int, value: Any) -> None:
    kind = kind_of(value)
    match letter:
        case "s":
            _add_plain(text, value)
        case "d" if is_number(value):
            text.add(_decimal(value))
        case "f" | "e" if is_number(value):
            text.add(_floating(letter, precision, value))
        case "b" if kind in {"int", "uint", "bool"}:
            text.add(f"{int(value):b}")
        case "o" if kind in {"int", "uint"}:
            text.add(f"{int(value):o}")
        case "x" | "X" if kind in {"int", "uint"}:
            text.add(f"{int(value):{letter}}")
        case "x" | "X" if kind in {"string", "bytes"}:
            digits = (value.encode() if kind == "string" else value).hex()
            text.add(digits.upper() if letter == "X" else digits)
        case _:
            raise failures.invalid_argument(f"the clause `%{letter}` takes no {kind}")


def _decimal(value: Any) -> str:
    return positional_text(value) if isinstance(value, float) else str(int(value))


def _floating(letter: str, precision: int, value: Any) -> str:
    number = float(int(value)) if isinstance(value, int) else value
    return f"{number:.{precision}{letter}}" if math.isfinite(number) else positional_text(number)


def _add_plain(text: BoundedText, value: Any) -> None:
    """Add the text of ``%s``, in reading order."""
    if isinstance(value, list):
        text.add("[")
        for number, part in enumerate(value):
            text.add(", " if number else "")
            _add_plain(text, part)
        text.add("]")
    elif isinstance(value, Map):
        entries = [(_scalar_text(key), part) for key, part in value.items()]
        text.add("{")
        for number, (key, part) in enumerate(sorted(entries, key=itemgetter(0))):
            text.add(f", {key}: " if number else f"{key}: ")
            _add_plain(text, part)
        text.add("}")
    else:
        text.add(_scalar_text(value))


def _scalar_text(value: Any) -> str:
    match kind_of(value):
        case "null":
            return "null"
        case "bool":
            return string_from_bool(value)
        case "int" | "uint" | "double":
            return _decimal(value)
        case "bytes":
            return string_from_bytes(value)
        case "timestamp":
            return timestamp_text(value)
        case "duration":
            return duration_text(value)
        case "type":
            return str(value.name)
        case "string" | "ip" | "cidr":
            return str(value)
        case kind:
            raise failures.invalid_argument(f"the clause `%s` takes no {kind}")
