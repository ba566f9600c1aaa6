"""The values that a response header may have."""

from __future__ import annotations

import re

MAX_HEADER_VALUE = 4 * 1024
_VISIBLE = re.compile(r"[!-~](?:[ -~]*[!-~])?")


def header_value_problem(value: str) -> str | None:
    """Why a text can't be the value of a response header (RFC 9110, section 5.5).

    Args:
        value: the text.

    Returns:
        The reason, or None for a text that can be sent. An empty one can.
    """
    if len(value) > MAX_HEADER_VALUE:
        return f"a header value has at most {MAX_HEADER_VALUE} characters"
    if value and not _VISIBLE.fullmatch(value):
        return "a header value must be visible ASCII, without blanks at its ends"
    return None
