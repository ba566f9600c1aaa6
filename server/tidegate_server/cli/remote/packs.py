"""The packs of a tenant, for ``tidegate packs --server``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs
import typed_settings as ts

from tidegate.cli.packs.tenant import Taken
from tidegate.cli.remote import Remote
from tidegate.packs.merging import ABSENT, Change, Conflict
from tidegate_server.settings.outbound import RemoteSettings
from tidegate_server.settings.sources import remote_loaders

if TYPE_CHECKING:
    from collections.abc import Mapping


def open_tenant(server: str | None, token: str | None, tenant: str | None) -> TenantPacks:
    """The packs of a tenant; settings fill in what isn't given.

    Args:
        server: the address of the service.
        token: an operator's token.
        tenant: slug or id.

    Raises:
        SettingsError: a setting is invalid.
        RemoteError: the service can't be reached, or the tenant isn't the operator's.
    """
    settings = ts.load_settings(RemoteSettings, remote_loaders())
    given = {"url": server, "token": token, "tenant": tenant}
    settings = attrs.evolve(
        settings, **{name: value for name, value in given.items() if value is not None}
    )
    service = Remote(settings)
    return TenantPacks(service, f"tenants/{service.tenant_id()}/packs")


@attrs.frozen
class TenantPacks:
    """The packs of one tenant.

    Args:
        service: the service.
        path: the path of its packs.
    """

    service: Remote
    path: str

    def packs(self) -> list[dict[str, Any]]:
        """All packs with their notes, as the service answers them.

        Raises:
            RemoteError: the service refuses.
        """
        found: list[dict[str, Any]] = self.service.call("GET", self.path)
        return found

    def pack(self, name: str) -> dict[str, Any]:
        """One pack.

        Raises:
            RemoteError: the pack doesn't exist, or the service refuses.
        """
        found: dict[str, Any] = self.service.call("GET", f"{self.path}/{name}")
        return found

    def step(
        self,
        name: str,
        action: str,
        *,
        slots: Mapping[str, str] | None = None,
        dry_run: bool = False,
        revision: int | None = None,
    ) -> Taken:
        """Add, update or remove a pack, or show that.

        Raises:
            RemoteError: the service refuses.
        """
        body = None if slots is None else json.dumps({"slots": dict(slots)}).encode()
        query = "?dry_run=true" if dry_run else ""
        found = self.service.call(
            "POST", f"{self.path}/{name}/{action}{query}", body, revision=revision
        )
        return Taken(
            pack=found["pack"],
            before=found["from_version"],
            after=found["to_version"],
            revision=found["revision"],
            changes=_changes(found["changes"]),
            yours=_changes(found["yours"]),
            conflicts=tuple(
                Conflict(each["place"], _value(each["yours"]), _value(each["pack"]))
                for each in found["conflicts"]
            ),
        )


def _changes(found: list[dict[str, Any]]) -> tuple[Change, ...]:
    return tuple(
        Change(each["place"], _value(each["before"]), _value(each["after"])) for each in found
    )


def _value(value: Any) -> Any:
    return ABSENT if value is None else value
