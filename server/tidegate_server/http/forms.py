"""Bodies sent by HTML forms."""

from __future__ import annotations

from urllib.parse import parse_qsl

from tidegate.language.tree.diagnostics import quote
from tidegate_server.http.problems import ErrorDetail, Problem

FORM = "application/x-www-form-urlencoded"
_MAX_MEMBERS = 32


def read_form(body: bytes) -> dict[str, str]:
    """Return the members of a form, like those of a JSON object.

    Raises:
        Problem: ``invalid-request``; it can't be read, or a member is given twice.
    """
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MAX_MEMBERS,
        )
    except ValueError:
        detail = f"a form is UTF-8 text of at most {_MAX_MEMBERS} members"
        raise Problem("invalid-request", detail) from None
    members: dict[str, str] = {}
    for name, value in pairs:
        if name in members:
            detail = f"{quote(name)} is given twice"
            raise Problem("invalid-request", detail, errors=[ErrorDetail(detail=detail)])
        members[name] = value
    return members
