"""Responses that the edge itself sends to a visitor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from tidegate.decider import DEFAULT_STATUS
from tidegate.edge.block_page import block_page
from tidegate.edge.visit import COOKIE
from tidegate.policy.document.forms import header_problem

if TYPE_CHECKING:
    from tidegate.decider import Block
    from tidegate.edge.visit import Visit

MAX_HEADERS = 20
MAX_BODY_BYTES = 64 * 1024
PROBLEM_TYPE = "application/problem+json"
_PRIVATE = (("cache-control", "no-store"), ("referrer-policy", "no-referrer"))
"""A response is for one visitor, and the requested address may contain a proof."""

AHEAD_HEADERS = ("sec-purpose", "purpose", "x-purpose", "x-moz")
"""Headers by which a browser says that nobody has requested the page yet."""

CODES: Mapping[str, tuple[int, str]] = {
    "bad-request": (400, "The request has no usable address."),
    "challenge-required": (403, "A challenge has to be passed first, at `redirect_url`."),
    "invalid-proof": (403, "The proof of a challenge is not valid. Ask again without it."),
    "request-refused": (403, "The request cannot be read, so nothing could be decided on it."),
    "no-decision": (502, "It could not be decided whether the request may pass."),
}
"""Every code of such a response, with its status and text."""


@attrs.frozen
class Reply:
    """One response."""

    status: int
    headers: tuple[tuple[str, str], ...]
    """Names are in lower case, without the header for the length."""
    body: bytes = b""
    code: str | None = None
    """One of ``CODES``, if the edge itself rejects the request."""

    def header(self, name: str) -> str | None:
        """The value of a header."""
        return next((value for each, value in self.headers if each == name), None)


def problem(visit: Visit | None, code: str, **members: Any) -> Reply:
    """A rejection: a sentence for a person, a problem document (RFC 9457) for a program.

    Args:
        visit: the rejected visit; None if it could not be read.
        code: one of ``CODES``.
        members: extra members of the document.
    """
    status, detail = CODES[code]
    if visit is not None and is_navigation(visit):
        kind, body = "text/plain; charset=utf-8", detail.encode() + b"\n"
    else:
        document = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail}
        kind, body = PROBLEM_TYPE, orjson.dumps({**document, "code": code, **members})
    usual = (("content-type", kind), ("x-content-type-options", "nosniff"))
    return Reply(status, (*usual, *_PRIVATE), body, code)


def challenge(visit: Visit, redirect_url: str) -> Reply:
    """Send a visitor to a challenge: by a redirect if a browser shows a page, else as a problem.

    Args:
        visit: the visit.
        redirect_url: an absolute http or https URL.
    """
    if is_navigation(visit):
        return Reply(302, (("location", redirect_url), *_PRIVATE))
    return problem(visit, "challenge-required", redirect_url=redirect_url)


def clean_address(visit: Visit, proof: str) -> Reply:
    """Store a proof as the visitor's cookie, and redirect to the address without it."""
    cookie = f"{COOKIE}={proof}; Path=/; Secure; HttpOnly; SameSite=Lax"
    return Reply(307, (("location", visit.url), ("set-cookie", cookie), *_PRIVATE))


def blocked(visit: Visit, action: Block, reference: str | None) -> Reply:
    """The response of a block, validated again since it came over a wire.

    Invalid parts are left out: the visitor stays blocked. A block without a body and without a
    content type is a page where somebody waits for one.

    Args:
        visit: the visit.
        action: the block.
        reference: the decision's id; None if it isn't recorded.
    """
    status = action.status_code if 400 <= action.status_code <= 599 else DEFAULT_STATUS
    valid = {
        name.lower(): value
        for name, value in action.headers.items()
        if header_problem(name, value) is None
    }
    kept = dict(list(valid.items())[:MAX_HEADERS])
    usual = {
        "content-type": "text/plain; charset=utf-8",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }
    body = action.body.encode(errors="replace")
    if not body and "content-type" not in kept and is_navigation(visit):
        page, body = block_page(visit.header("accept-language"), reference)
        usual.update(page)
    headers = {**usual, **kept}
    return Reply(status, tuple(headers.items()), body if len(body) <= MAX_BODY_BYTES else b"")


def is_navigation(visit: Visit) -> bool:
    """Whether a person waits for a page, by the browser's headers.

    Without fetch metadata (W3C, ``Sec-Fetch-Mode``) it is a GET that accepts HTML. Nobody waits for
    a prefetched page: a browser discards a rejection, and requests the page again when it is
    needed.
    """
    if is_fetched_ahead(visit.header):
        return False
    mode = visit.header("sec-fetch-mode")
    if mode:
        return mode == "navigate"
    return visit.method in ("GET", "HEAD") and "text/html" in visit.header("accept").lower()


def is_fetched_ahead(header: Callable[[str], str]) -> bool:
    """Whether a browser prefetches something, or shows a preview of it.

    Args:
        header: returns the value of a request header, empty if it is missing.
    """
    return any(
        header(name).lower().startswith(("prefetch", "prerender", "preview"))
        for name in AHEAD_HEADERS
    )
