"""Templates of return URLs that lead to an origin which the tenant's settings do not list."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tidegate.policy.definitions.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tidegate.policy.definitions.model import Challenge

FOREIGN = "foreign-return-url"
"""Code of the findings."""
NO_RETURN = "challenge-without-return"
"""Code of the warning about challenges that lead nowhere."""
TEMPLATE = "/challenge/default_return_url_template"
"""Pointer into a mitigation."""
_USUAL = {"http": 80, "https": 443}


def foreign_templates(
    origins: Iterable[str], templates: Iterable[tuple[str, str | None]]
) -> Iterator[Finding]:
    """The templates that lead elsewhere: a challenge would not lead back there.

    Args:
        origins: ``return_url_origins``; an empty list allows all.
        templates: pointer and text of each template.
    """
    allowed = {_origin(each) for each in origins}
    for pointer, template in templates:
        if allowed and template is not None and _origin(template) not in allowed:
            yield Finding(
                FOREIGN,
                f"`{_origin(template)}` is none of the tenant's `return_url_origins`",
                pointer,
                hint="use an origin of the list, or add this one to the settings",
            )


def may_not_return(challenge: Challenge | None, origins: Iterable[str]) -> bool:
    """Whether visitors may pass a challenge and not be sent back.

    Without origins and without a template a visitor goes back only where the call that decides
    names a ``return_url``: the address that a proxy hands on has the visitor's own host.

    Args:
        challenge: of a mitigation that challenges; None for the usual one.
        origins: ``return_url_origins``.
    """
    return not list(origins) and (
        challenge is None or challenge.default_return_url_template is None
    )


def no_return(slugs: Iterable[str]) -> Finding:
    """The warning about mitigations whose visitors may not be sent back."""
    named = ", ".join(f"`{each}`" for each in slugs)
    return Finding(
        NO_RETURN,
        f"visitors who pass the challenge of {named} are sent back only where the call names a"
        " `return_url`: behind a proxy they are not, and are challenged again",
        "/clauses",
        severity="warning",
        hint="name the origin of the site in the setting `return_url_origins`, or give the"
        " mitigation a `default_return_url_template`",
    )


def _origin(url: str) -> str:
    """Scheme, host and port, written in one way; the URL was checked before."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    shown = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port not in (None, _USUAL.get(parts.scheme)) else ""
    return f"{parts.scheme}://{shown}{port}"
