"""Base64."""

from __future__ import annotations

import base64
import binascii

from tidegate.functions import failures
from tidegate.functions.registry import overload


@overload("base64.encode(bytes) -> string")
def encode(data: bytes, *, limit: int) -> str:
    """``base64.encode(b"hello") == "aGVsbG8="``: the standard alphabet, padded."""
    if (len(data) + 2) // 3 * 4 > limit:
        raise failures.too_long(limit)
    return base64.b64encode(data).decode()


@overload("base64.decode(string) -> bytes")
def decode(text: str) -> bytes:
    """``base64.decode("aGVsbG8=") == b"hello"``; the padding may be left out altogether.

    Strict otherwise: the standard alphabet, no spaces or line breaks, padding only
    where and as it belongs.  Left-over bits of the last letter are ignored.
    ``invalid_argument`` for anything else.
    """
    bare = text.rstrip("=")
    padding = -len(bare) % 4
    if len(text) - len(bare) not in {0, padding} or padding == 3:
        raise failures.invalid_argument("the text is no base64")
    try:
        return base64.b64decode(bare + "=" * padding, validate=True)
    except (binascii.Error, ValueError) as error:
        raise failures.invalid_argument("the text is no base64") from error
