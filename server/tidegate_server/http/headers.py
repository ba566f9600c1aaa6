"""Headers that every answer has, by kind of answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from uuid_utils import uuid7

if TYPE_CHECKING:
    from uuid import UUID

_EVERY: Mapping[str, str] = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
DATA_HEADERS: Mapping[str, str] = {
    **_EVERY,
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Headers of JSON, which is never cached and never rendered as a page."""
PAGE_HEADERS: Mapping[str, str] = {
    **_EVERY,
    "cache-control": "no-cache",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
}
"""Headers of our pages, which load only our own files, and allow no frames."""
DOCS_HEADERS: Mapping[str, str] = {
    **PAGE_HEADERS,
    "content-security-policy": PAGE_HEADERS["content-security-policy"].replace(
        "img-src 'self'", "img-src 'self' data:"
    ),
}
"""Headers of the API documentation, whose style sheet contains its icons."""
CONSOLE_HEADERS: Mapping[str, str] = {
    **PAGE_HEADERS,
    "content-security-policy": PAGE_HEADERS["content-security-policy"]
    + "; font-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'",
}
"""Headers of the console, where no text becomes markup or script."""
FILE_HEADERS: Mapping[str, str] = {
    **CONSOLE_HEADERS,
    "cache-control": "public, max-age=31536000, immutable",
}
"""Headers of files with a hash of the content in their names."""
STRICT_TRANSPORT = "max-age=63072000; includeSubDomains"
"""Sent over TLS only: over plain HTTP it has no effect, and a proxy may set it for us."""
ACTIVE_HEADER = "definitions-active"
"""``false`` in the answer to a change that is saved while the previous definitions still decide."""
REQUEST_ID_HEADER = b"x-request-id"
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")


def status_path(tenant_id: UUID) -> str:
    """Return the path of a tenant's status, which says which definitions decide its events."""
    return f"/api/v1/tenants/{tenant_id}/status"


def activity(tenant_id: UUID, decides: object) -> dict[str, str]:
    """Return headers for the answer to a change of definitions.

    Args:
        tenant_id: the tenant.
        decides: False if the previous ones still decide.
    """
    if decides is not False:
        return {}
    return {ACTIVE_HEADER: "false", "link": f'<{status_path(tenant_id)}>; rel="status"'}


def given_request_id(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Return the request id that the caller sent, if it is safe to send back."""
    for name, value in headers:
        if name == REQUEST_ID_HEADER and _REQUEST_ID.fullmatch(value):
            return value.decode()
    return None


def request_id_of(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the request id that the caller sent, or a new one."""
    return given_request_id(headers) or str(uuid7())
