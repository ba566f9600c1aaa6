"""The rules for return URLs: a visitor is never sent to an origin that the tenant did not name.

URLs are read and written by the parser of browsers (WHATWG URL, https://url.spec.whatwg.org), so
that what was checked is what the browser goes to.
"""

from __future__ import annotations

from collections.abc import Collection

from ada_url import URL

PROOF_PARAMETER = "service_challenge_proof"
MAX_URL = 2_048
"""Characters of a URL that a visitor is sent to."""
OF_VISITOR = "#"
"""Ends a return URL whose host is the word of the visitor alone: a proxy hands on its `Host`.

No request has a fragment, so nothing that a visitor sends ends like this, and no URL of a page that
a customer names needs to.
"""
_SCHEMES = ("http:", "https:")


def destination(
    return_url: str | None, template: str | None, origins: Collection[str]
) -> str | None:
    """The URL to send a visitor to; None when there is none that may be.

    The holder of an API key gives the customer's word: it is used, or nothing is. The visitor's own
    `Host` chooses no origin: where it may not be used, the template is.

    Args:
        return_url: what the visitor asked for, as the edge sent it; see ``OF_VISITOR``.
        template: what the mitigation has for requests without one.
        origins: the tenant's, which limit every URL; with none, a URL ``OF_VISITOR`` has to be of
            the origin of the template.
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
    """A URL with a proof in its query; a proof that is there is replaced."""
    parsed = URL(url)
    # Written by hand: setting one parameter would write all the others anew.
    kept = [
        part
        for part in parsed.search.removeprefix("?").split("&")
        if part and part.partition("=")[0] != PROOF_PARAMETER
    ]
    parsed.search = "&".join([*kept, f"{PROOF_PARAMETER}={proof}"])
    return parsed.href


def origin_of(url: str) -> str:
    """The origin of a URL that was allowed."""
    return URL(url).origin


def _read(url: str) -> URL | None:
    """An absolute http or https URL without credentials; None when it is none.

    Browsers take out control characters, and take ``\\`` for ``/``. Nobody who means well writes
    such a URL, so it is refused.
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
