"""Alerts of a running service, from the definition to the receiver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import orjson
import pytest
import standardwebhooks
from tests.publisher import Publisher, publishing
from tests.server.deciding import Deciding, Service, deciding, made
from tests.waiting import wait_until


@attrs.frozen
class Place:
    """A service and a receiver of its messages."""

    service: Service
    receiver: Publisher

    def url(self, path: str) -> str:
        return self.receiver.url(path, "127.0.0.1")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[Place]:
    """A service of two workers that may send messages to loopback."""
    folder = tmp_path_factory.mktemp("place")
    with publishing(folder) as receiver, pytest.MonkeyPatch.context() as environment:
        environment.setenv("SSL_CERT_FILE", str(receiver.authority))
        with deciding(
            folder / "data", alerts_allow_networks="127.0.0.1", server_workers="2"
        ) as service:
            yield Place(service, receiver)


@pytest.fixture
def shop(place: Place) -> Deciding:
    """A tenant that blocks the third login of an address."""
    return place.service.tenant()


def alert(shop: Deciding, **members: Any) -> Any:
    """A new alert."""
    body = {"name": "Blocks", "metric": "blocks", "times_usual": None, "threshold": 2, **members}
    return made(shop.by("Owner").post(f"{shop.path}/alerts", body))


def test_an_alert_arrives_signed_at_a_webhook(place: Place, shop: Deciding) -> None:
    """Blocked requests fire an alert, whose message names tenant, value, threshold and a link."""
    url = place.url("/blocks")
    found = alert(shop, destinations=[{"kind": "webhook", "to": url}])
    for _ in range(6):
        shop.decide("/login")
    wait_until(lambda: [each for each in place.receiver.taken if each.path == "/blocks"], 90)
    (posted,) = [each for each in place.receiver.taken if each.path == "/blocks"]
    webhook = standardwebhooks.Webhook(found["signing_secrets"][url])
    webhook.verify(posted.body, dict(posted.headers), json_parse=False)
    message = orjson.loads(posted.body)
    assert message["type"] == "alert.changed"
    data = message["data"]
    assert data["tenant_id"] == shop.tenant_id
    assert data["link"].startswith(f"{place.service.base_url}/console/")
    (fired,) = data["alerts"]
    assert (fired["name"], fired["state"], fired["value"]) == ("Blocks", "firing", 4)
    assert fired["condition"] == "4 blocks in 2 minutes, above 2"
    wait_until(lambda: not shop.get(f"alerts/{found['alert_id']}")["messages_waiting"], 30)
    shown = shop.get(f"alerts/{found['alert_id']}")
    assert (shown["firing_since"], shown["value"]) == (fired["since"], 4)
    (again,) = made(shop.by("Owner").post(f"{shop.path}/alerts/preview", preview()))["firings"]
    assert (again["since"], again["value"], again["resolved_at"]) == (fired["since"], 4, None)


def test_one_worker_sends_the_alerts_of_a_tenant(place: Place) -> None:
    """Each of four tenants, in two partitions, hears of its own blocks once."""
    shops = [place.service.tenant() for _ in range(4)]
    for shop in shops:
        url = place.url(f"/{shop.tenant_id}")
        alert(shop, destinations=[{"kind": "webhook", "to": url}])
        for _ in range(6):
            shop.decide("/login")

    def heard() -> list[str]:
        paths = [f"/{each.tenant_id}" for each in shops]
        return [each.path for each in place.receiver.taken if each.path in paths]

    wait_until(lambda: len(heard()) >= len(shops), 90)
    assert sorted(heard()) == sorted(f"/{each.tenant_id}" for each in shops)
    for shop in shops:
        (one,) = shop.get("alerts")
        assert one["evaluated"]
        assert one["firing_since"] is not None


def preview() -> dict[str, Any]:
    """The condition of the alert above."""
    return {"metric": "blocks", "times_usual": None, "threshold": 2}
