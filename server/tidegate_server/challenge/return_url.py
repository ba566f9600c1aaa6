"""The rules for return URLs: visitors are never sent to an origin that the tenant did not name.

URLs are parsed and written as browsers do (WHATWG URL, https://url.spec.whatwg.org), so that the
checked URL is the one that the browser opens.
"""

from __future__ import annotations

from collections.abc import Collection

from ada_url import URL

PROOF_PARAMETER = "service_challenge_proof"
MAX_URL = 2_048
"""Characters of a URL to send a visitor to."""
OF_VISITOR = "#"
"""Suffix of a return URL with a host that only the visitor claims: a proxy passes on its `Host`.

Requests have no fragment, so nothing sent by a visitor ends like this, and no page URL named by a
customer needs to.
"""
_SCHEMES = ("http:", "https:")


def destination(
    return_url: str | None, template: str | None, origins: Collection[str]
) -> str | None:
    """The URL to send a visitor to; None if no URL is allowed.

    The holder of an API key speaks for the customer: their URL is used, or none. The visitor's own
    `Host` can't choose an origin: if it is not allowed, the template is used.

    Args:
        return_url: the URL requested by the visitor, as sent by the edge; see ``OF_VISITOR``.
        template: the mitigation's URL for requests without one.
        origins: the tenant's origins, which limit every URL; without any, a URL ``OF_VISITOR`` must
            have the template's origin.
    """
    stands_in = None if template is None else _read(template)
    if stands_in is not None and origins and not _is_of(stands_in, origins):
        stands_in = None
    replacement = None if stands_in is None else stands_in.href
    if not return_url:
        return replacement
    is_of_visitor = return_url.endswith(OF_VISITOR)
    found = _read(return_url.removesuffix(OF_VISITOR))
    named = origins or ([] if stands_in is None else [stands_in.origin])
    if found is not None and (_is_of(found, named) or not (origins or is_of_visitor)):
        return found.href
    return replacement if is_of_visitor else None


def with_proof(url: str, proof: str) -> str:
    """A URL with a proof in its query, replacing an existing proof."""
    parsed = URL(url)
    # Written by hand: setting one parameter would rewrite all the others.
    kept = [
        part
        for part in parsed.search.removeprefix("?").split("&")
        if part and part.partition("=")[0] != PROOF_PARAMETER
    ]
    parsed.search = "&".join([*kept, f"{PROOF_PARAMETER}={proof}"])
    return parsed.href


def origin_of(url: str) -> str:
    """The origin of an allowed URL."""
    return URL(url).origin


def _read(url: str) -> URL | None:
    """An absolute http or https URL without credentials; None if it isn't one.

    Browsers remove control characters, and treat ``\\`` as ``/``. No honest client writes such a
    URL, so it is rejected.
    """
    if len(url) > MAX_URL or not url.isprintable() or "\\" in url:
        return None
    try:
        parsed = URL(url)
    except ValueError:
        return None
    if parsed.protocol not in _SCHEMES or parsed.username or parsed.password:
        return None
    return parsed if len(parsed.href) <= MAX_URL else None


def _is_of(url: URL, origins: Collection[str]) -> bool:
    return any(URL(each).origin == url.origin for each in origins)
