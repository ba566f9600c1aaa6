"""A request taken apart before any handler sees it: id, parameters, body."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl
from uuid import UUID

from uuid_utils import uuid7

from tidegate.language.tree.diagnostics import quote
from tidegate.server.http.headers import given_request_id
from tidegate.server.http.limits import RECEIVE_SECONDS
from tidegate.server.http.problems import ErrorDetail, Problem

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.types import Receive, Scope

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
NAME_FORM = "[a-z0-9-]{1,40}"
"""The form of a name in a path where it has no id."""
_MAX_PARAMETERS = 32
_MEDIA_TYPE = re.compile(rb'([!-:<-~]+)[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?')


def request_id_of(headers: Headers) -> str:
    """The id a caller gave its request, or a new one."""
    return given_request_id(headers.raw) or str(uuid7())


def only_header(headers: Headers, name: str) -> str | None:
    """The value of a header that may be given once.

    Raises:
        Problem: ``malformed-request``; two values can be read in two ways.
    """
    values = headers.getlist(name)
    if len(values) > 1:
        detail = f"the header `{name}` is given more than once"
        errors = [ErrorDetail(detail=detail, header=name)]
        raise Problem("malformed-request", detail, errors=errors)
    return values[0] if values else None


def path_ids(values: Mapping[str, str]) -> dict[str, UUID]:
    """The ids in the path: what is called so.

    Raises:
        Problem: ``not-found``; an id is malformed.
    """
    found = {name: value for name, value in values.items() if is_id(name)}
    if not all(_UUID.fullmatch(value) for value in found.values()):
        raise Problem("not-found")
    return {name: UUID(value) for name, value in found.items()}


def path_names(values: Mapping[str, str]) -> dict[str, str]:
    """Parts of the path that are not ids, by name.

    Raises:
        Problem: ``not-found``; nothing has such a name.
    """
    found = {name: value for name, value in values.items() if not is_id(name)}
    if not all(re.fullmatch(NAME_FORM, value) for value in found.values()):
        raise Problem("not-found")
    return found


def is_id(name: str) -> bool:
    """Whether a part of a path is an id, by what it is called."""
    return name.endswith("_id")


def query_parameters(query: bytes) -> dict[str, str]:
    """The parameters of a query.

    Raises:
        Problem: ``invalid-request``; it cannot be read, or a parameter is given twice.
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
    """The media type of a body that is what it must be: one of some, in UTF-8, uncompressed.

    Args:
        headers: of the request, names in lower case.
        allowed: media types in lower case.

    Raises:
        Problem: ``unsupported-media-type``; ``malformed-request`` when there are two, which can
            be read in two ways.
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
    """The path of the request, not decoded: no other spelling leads to its route."""
    raw: bytes = scope["raw_path"]
    return raw.decode("ascii")


async def read_body(headers: Headers, receive: Receive, most: int) -> bytes:
    """The whole body.

    Raises:
        Problem: ``body-too-large``, ``request-timeout``.
    """
    too_large = Problem("body-too-large", f"the body has at most {most} bytes")
    length = headers.get("content-length", "")
    if length.isdigit() and int(length[:20]) > most:
        raise too_large
    parts: list[bytes] = []
    size, more = 0, True
    try:
        async with asyncio.timeout(RECEIVE_SECONDS):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Problem("request-timeout", "the caller went away")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                more = message.get("more_body", False)
                if size > most:
                    raise too_large
    except TimeoutError:
        raise Problem(
            "request-timeout", f"the body did not arrive in {RECEIVE_SECONDS:.0f} s"
        ) from None
    return b"".join(parts)
