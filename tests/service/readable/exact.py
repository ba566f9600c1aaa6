"""JSON read without loss: numbers keep their text, members their order."""

from __future__ import annotations

import json
from typing import Any

import attrs


@attrs.frozen
class Number:
    """A number as it is written."""

    text: str


def read(text: str | bytes) -> Any:
    """The value of a text; an object is a dict, a number a :class:`Number`."""
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=refused)


def refused(text: str) -> Any:
    """A constant that is not JSON.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{text} is not JSON")


def is_kept(sent: Any, kept: Any) -> bool:
    """Whether a value was kept as it was sent, apart from secrets, which are hashes."""
    if isinstance(kept, str) and "hmac:" in kept:
        return True
    if isinstance(sent, dict) and isinstance(kept, dict):
        return list(sent) == list(kept) and all(is_kept(sent[name], kept[name]) for name in sent)
    if isinstance(sent, list) and isinstance(kept, list):
        return len(sent) == len(kept) and all(map(is_kept, sent, kept))
    return type(sent) is type(kept) and bool(sent == kept)
