"""The demonstration: a tenant with sample definitions, created through the API like any other.

Only the first operator is created in the database, since every token belongs to an operator.
"""

from __future__ import annotations

import http.client
import json
import time
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

import attrs
import yaml

from tidegate_server.operators.tokens import Tokens
from tidegate_server.stores.objects import operators

if TYPE_CHECKING:
    from tidegate_server.operators.keys import Keys
    from tidegate_server.stores.port import Store

TENANT = "Example Shop"
TENANT_WITH_TRAFFIC = "Example Shop (generated traffic)"
"""The name that the console shows, so that nobody takes the traffic for real."""


@attrs.frozen
class Demo:
    """The address, keys and token to try the service with.

    Attributes:
        traffic_api_key: for the generated traffic; empty without it.
    """

    base_url: str
    tenant_id: str
    api_key: str
    sync_api_key: str
    owner_token: str
    traffic_api_key: str = ""

    def curl_lines(self) -> list[str]:
        """Return a ready-made call for each of the two hot paths."""
        event = {
            "request": {
                "method": "GET",
                "path": "/.env",
                "client_ip": "203.0.113.9",
                "user_agent": "curl/8.5.0",
            },
            "fields": {"ja4": "t13d1516h2_8daaf6152771_02713d6af862"},
        }
        return [
            f"curl -s {self.base_url}/api/v1/{path} -H 'x-service-api-key: {self.api_key}'"
            f" -H 'content-type: application/json' -d '{json.dumps(event)}'"
            for path in ("runtime/mitigation", "beacon/event")
        ]


def make_owner(store: Store, keys: Keys) -> str:
    """Create an operator, and return a token."""
    now = time.time_ns()
    owner = operators.Operator(
        operator_id=uuid4(),
        name="Demo Owner",
        email="owner@example.test",
        created_at_ns=now,
        updated_at_ns=now,
    )
    store.write(lambda connection: operators.create(connection, owner)).result()
    return Tokens(keys.signing, "tidegate").issue(owner.operator_id, now // 1_000_000_000)


def make_demo(base_url: str, owner_token: str, *, has_traffic: bool = False) -> Demo:
    """Create the tenant, its definitions and its keys on a running server.

    Args:
        base_url: where the server accepts connections.
        owner_token: of :func:`make_owner`.
        has_traffic: whether generated traffic will be sent: the tenant's name then says so.

    Raises:
        OSError: the server can't be reached.
        RuntimeError: it refused a call; the message contains its answer.
    """
    api = _Api(base_url, owner_token)
    name = TENANT_WITH_TRAFFIC if has_traffic else TENANT
    tenant_id = api.call("POST", "/tenants", {"name": name})["tenant_id"]
    sample = resources.files("tidegate.samples").joinpath("definitions.yaml").read_text()
    document = yaml.safe_load(sample)
    document["tenant"] = {"name": name, "tenant_id": tenant_id}
    api.call("PUT", f"/tenants/{tenant_id}/definitions", document)

    def key(body: dict[str, object]) -> str:
        return str(api.call("POST", f"/tenants/{tenant_id}/api-keys", body)["key"])

    return Demo(
        base_url,
        tenant_id,
        key({"name": "demo"}),
        key({"name": "demo daemon", "can_sync": True}),
        owner_token,
        key({"name": "generated traffic"}) if has_traffic else "",
    )


class _Api:
    """Calls of the control plane."""

    def __init__(self, base_url: str, token: str) -> None:
        parts = urlsplit(base_url)
        self._connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=30)
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def call(self, method: str, path: str, body: object) -> Any:
        text = json.dumps(body)
        self._connection.request(method, f"/api/v1{path}", text, self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {content.decode()}")
        return json.loads(content)
