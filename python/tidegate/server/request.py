"""A request taken apart before any handler sees it: id, parameters, body."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl
from uuid import UUID

from uuid_utils import uuid7

from tidegate.language.diagnostics import quote
from tidegate.server.problems import ErrorDetail, Problem

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.types import Receive

BODY_SECONDS = 20.0
"""A body has this long to arrive, however slowly it trickles."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_MAX_PARAMETERS = 32


def request_id_of(headers: Headers) -> str:
    """The id a caller gave its request, or a new one."""
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else str(uuid7())


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
    """The ids in the path.

    Raises:
        Problem: ``not-found``; nothing has an id that is none.
    """
    if not all(_UUID.fullmatch(value) for value in values.values()):
        raise Problem("not-found")
    return {name: UUID(value) for name, value in values.items()}


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


def require_media_type(headers: Headers, allowed: tuple[str, ...]) -> None:
    """Refuse a body that is not what it must be.

    Raises:
        Problem: ``unsupported-media-type``.
    """
    given, _, parameters = (only_header(headers, "content-type") or "").partition(";")
    wanted = " or ".join(f"`{each}`" for each in allowed)
    if given.strip().lower() not in allowed:
        raise Problem("unsupported-media-type", f"the content type must be {wanted}")
    charset = re.search(r"charset=\"?([^\";\s]+)", parameters, re.IGNORECASE)
    if charset and charset[1].lower() not in ("utf-8", "utf8"):
        raise Problem("unsupported-media-type", "the body must be UTF-8")
    if (only_header(headers, "content-encoding") or "identity").lower() != "identity":
        raise Problem("unsupported-media-type", "the body must not be compressed")


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
        async with asyncio.timeout(BODY_SECONDS):
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
            "request-timeout", f"the body did not arrive in {BODY_SECONDS:.0f} s"
        ) from None
    return b"".join(parts)
