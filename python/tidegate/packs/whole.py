"""Several packs as one definitions document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.packs.objects import SECTIONS, by_slug
from tidegate.policy.definitions.model import API_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tidegate.packs.pack import Pack


def whole_document(packs: Iterable[Pack], trusted_proxies: Sequence[str] = ()) -> dict[str, Any]:
    """One document with the definitions of all packs, as plain data.

    A slot that several packs have is there once.

    Args:
        packs: the packs, with different names.
        trusted_proxies: addresses and networks for ``settings.trusted_proxies``.
    """
    sections: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for pack in packs:
        for section, objects in sections.items():
            objects.update(
                (slug, each)
                for slug, each in by_slug(pack.definitions, section).items()
                if slug not in objects
            )
    settings = {"settings": {"trusted_proxies": list(trusted_proxies)}} if trusted_proxies else {}
    written = {section: list(objects.values()) for section, objects in sections.items() if objects}
    return {"apiVersion": API_VERSION, **settings, **written}
