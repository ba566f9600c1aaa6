"""Parse a request before any handler sees it: id, parameters, body."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl
from uuid import UUID

from tidegate.language.tree.diagnostics import quote
from tidegate_server.http.problems import ErrorDetail, Problem

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.types import Scope

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
NAME_FORM = "[a-z0-9-]{1,40}"
"""The form of a name in a path that takes no id there."""
_MAX_PARAMETERS = 32
_MEDIA_TYPE = re.compile(rb'([!-:<-~]+)[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?')


def only_header(headers: Headers, name: str) -> str | None:
    """Return the value of a header that may occur once.

    Raises:
        Problem: ``malformed-request``; two values are ambiguous.
    """
    values = headers.getlist(name)
    if len(values) > 1:
        detail = f"the header `{name}` is given more than once"
        errors = [ErrorDetail(detail=detail, header=name)]
        raise Problem("malformed-request", detail, errors=errors)
    return values[0] if values else None


def path_ids(values: Mapping[str, str]) -> dict[str, UUID]:
    """Return the ids in the path, by parameter name.

    Raises:
        Problem: ``not-found``; an id is malformed.
    """
    found = {name: value for name, value in values.items() if is_id(name)}
    if not all(_UUID.fullmatch(value) for value in found.values()):
        raise Problem("not-found")
    return {name: UUID(value) for name, value in found.items()}


def path_names(values: Mapping[str, str]) -> dict[str, str]:
    """Return the parts of the path that are not ids, by name.

    Raises:
        Problem: ``not-found``; the name has an invalid form.
    """
    found = {name: value for name, value in values.items() if not is_id(name)}
    if not all(re.fullmatch(NAME_FORM, value) for value in found.values()):
        raise Problem("not-found")
    return found


def is_id(name: str) -> bool:
    """Tell from its name whether a path parameter is an id."""
    return name.endswith("_id")


def query_parameters(query: bytes) -> dict[str, str]:
    """Return the parameters of a query.

    Raises:
        Problem: ``invalid-request``; it can't be read, or a parameter is given twice.
    """
    try:
        pairs = parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MAX_PARAMETERS,
        )
    except ValueError:
        detail = f"a query is UTF-8 text of at most {_MAX_PARAMETERS} parameters"
        raise Problem("invalid-request", detail) from None
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values:
            detail = f"{quote(name)} is given twice"
            errors = [ErrorDetail(detail=detail, parameter=name)]
            raise Problem("invalid-request", detail, errors=errors)
        values[name] = value
    return values


def require_media_type(headers: Iterable[tuple[bytes, bytes]], allowed: Sequence[str]) -> str:
    """Return the media type of a body, after checking it: one of some, in UTF-8, uncompressed.

    Args:
        headers: the request's, names in lower case.
        allowed: media types in lower case.

    Raises:
        Problem: ``unsupported-media-type``; ``malformed-request`` if there are two, which is
            ambiguous.
    """
    given: dict[bytes, bytes] = {}
    for name, value in headers:
        if name not in (b"content-type", b"content-encoding"):
            continue
        if name in given:
            detail = f"the header `{name.decode()}` is given more than once"
            errors = [ErrorDetail(detail=detail, header=name.decode())]
            raise Problem("malformed-request", detail, errors=errors)
        given[name] = value
    found = _MEDIA_TYPE.fullmatch(given.get(b"content-type", b"").lower())
    kind = "" if found is None else found[1].decode()
    if kind not in allowed:
        wanted = " or ".join(f"`{each}`" for each in allowed)
        detail = f"the content type must be {wanted}; `charset=utf-8` is its only parameter"
        raise Problem("unsupported-media-type", detail)
    if given.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Problem("unsupported-media-type", "send the body without content-encoding")
    return kind


def path_as_written(scope: Scope) -> str:
    """Return the path of the request, undecoded: no other spelling leads to its route."""
    raw: bytes = scope["raw_path"]
    return raw.decode("ascii")
