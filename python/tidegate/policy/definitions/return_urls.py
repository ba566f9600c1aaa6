"""Templates of return URLs with an origin that the tenant's settings do not list."""

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
    """The templates with other origins: a challenge would not return there.

    Args:
        origins: ``return_url_origins``; an empty list allows all.
        templates: each template's pointer and text.
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
    """Whether visitors may pass a challenge without being sent back.

    Without origins and a template a visitor is sent back only if the decision call names a
    ``return_url``: the address passed on by a proxy has the visitor's own host.

    Args:
        challenge: a challenge mitigation's; None for the default one.
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
    """Scheme, host and port in normalised form; the URL was checked before."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    shown = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port not in (None, _USUAL.get(parts.scheme)) else ""
    return f"{parts.scheme}://{shown}{port}"
