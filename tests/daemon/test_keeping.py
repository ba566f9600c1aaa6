"""The fields of an event that a daemon keeps, by the definitions that it follows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import orjson

from tidegate_server.daemon.definitions import DefinitionSet
from tidegate_server.daemon.local import LocalTenant
from tidegate_server.sync.messages import Secrets

TENANT = {"tenant_id": "018f0000-0000-7000-8000-000000000001", "name": "Shop", "slug": "shop"}
SECRETS = Secrets(*(digit * 64 for digit in "abc"))
FIELDS = {"plan": "free", "note": "hush"}


@asynccontextmanager
async def at_once() -> AsyncIterator[None]:
    yield


def kept(local: LocalTenant, **settings: Any) -> dict[str, str]:
    """The fields of an event as they are kept by definitions that read one of them."""
    document = {
        "apiVersion": "tidegate/v1",
        "tenant": TENANT,
        "settings": {"keep_only_read": True, **settings},
        "actions": [{"name": "Free", "slug": "free", "expression": 'fields.plan == "free"'}],
    }
    definitions = DefinitionSet(1, document, "https://tidegate.example", SECRETS)
    asyncio.run(local.decide_by(definitions, at_once))
    event = local.deciding.redactor.redact(orjson.dumps({"fields": FIELDS}))
    found: dict[str, str] = orjson.loads(event)["fields"]
    return found


def test_a_daemon_keeps_what_the_definitions_of_the_service_read() -> None:
    """Also when they change, and by its fail mode while the service is away."""
    local = LocalTenant(UUID(TENANT["tenant_id"]))
    hidden = {**FIELDS, "note": kept(local)["note"]}
    assert hidden["note"].startswith("hmac:")
    assert kept(local) == hidden
    assert kept(local, keep_only_read=False) == FIELDS
    local.is_away = True
    assert kept(local, fail_mode="closed") == hidden
