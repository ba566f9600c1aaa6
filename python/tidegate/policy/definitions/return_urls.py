"""Templates of return URLs that lead to an origin which the tenant's settings do not list."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tidegate.policy.definitions.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FOREIGN = "foreign-return-url"
"""Code of the findings."""
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


def _origin(url: str) -> str:
    """Scheme, host and port, written in one way; the URL was checked before."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    shown = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port not in (None, _USUAL.get(parts.scheme)) else ""
    return f"{parts.scheme}://{shown}{port}"
