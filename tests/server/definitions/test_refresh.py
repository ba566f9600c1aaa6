"""Lists that a service refreshes from their sources."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from tests.publisher import Page, Publisher, publishing
from tests.server.deciding import Deciding, Service, deciding, made
from tests.signing import Agent
from tests.waiting import wait_until

GOOD = Page(b'{"prefixes": [{"ipv4Prefix": "8.8.8.0/24"}, {"ipv4Prefix": "9.9.9.0/24"}]}')
BAD = Page(b'{"prefixes": [{"ipv4Prefix": "10.0.0.0/8"}]}')


@attrs.frozen
class Place:
    """A service and what it fetches from."""

    service: Service
    publisher: Publisher

    def source(self, path: str, **members: Any) -> dict[str, Any]:
        url = self.publisher.url(path, "127.0.0.1")
        return {"url": url, "format": "prefixes", **members}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[Place]:
    """A service that may fetch from loopback, as from a mirror."""
    folder = tmp_path_factory.mktemp("place")
    with publishing(folder) as publisher, pytest.MonkeyPatch.context() as environment:
        environment.setenv("SSL_CERT_FILE", str(publisher.authority))
        with deciding(
            folder / "data", lists_refresh="true", lists_allow_networks="127.0.0.1"
        ) as service:
            yield Place(service, publisher)


@pytest.fixture
def shop(place: Place) -> Deciding:
    """A tenant that decides by no list yet."""
    return place.service.tenant()


def made_list(shop: Deciding, source: dict[str, Any] | None, *entries: str) -> str:
    body = {"name": "Bots", "kind": "ip", "entries": entries, "source": source}
    return str(made(shop.by("Owner").post(f"{shop.path}/lists", body))["list_id"])


def refreshed(shop: Deciding, list_id: str) -> Any:
    return made(shop.by("Owner").post(f"{shop.path}/lists/{list_id}/refresh"))


def audited(shop: Deciding, list_id: str) -> list[Any]:
    found = shop.get("audit", object_id=list_id)
    return [each for each in found if each["action"] != "create"]


def test_a_list_with_a_source_is_refreshed_by_itself(place: Place, shop: Deciding) -> None:
    """The entries are a new revision, audited by the system, and decide."""
    place.publisher.pages["/new.json"] = GOOD
    list_id = made_list(shop, place.source("/new.json", max_change_percent=100), "9.9.9.0/24")
    watch = {
        "name": "Bots",
        "clauses": [{"name": "a", "expression": 'request.client_ip.inList("bots")'}],
    }
    made(shop.by("Owner").post(f"{shop.path}/policies", watch))
    before = shop.get("definitions")["revision"]
    wait_until(lambda: shop.get(f"lists/{list_id}/refresh")["refreshed_at"], 60)
    assert shop.get(f"lists/{list_id}")["entries"] == ["9.9.9.0/24", "8.8.8.0/24"]
    assert shop.get("definitions")["revision"] == before + 1
    (entry,) = audited(shop, list_id)
    assert (entry["actor"], entry["action"]) == ("system", "refresh")
    assert entry["after"]["add"] == ["8.8.8.0/24"]
    assert entry["after"]["requested_by"] is None

    def fired() -> Any:
        decided = shop.decide(address="8.8.8.8")
        return shop.get(f"decisions/{decided['decision_id']}")["fired_clauses"]

    wait_until(fired)
    text = place.service.http.get("/metrics").text
    assert 'tidegate_list_refreshes_total{outcome="changed"}' in text


def test_older_entries_do_not_stay(place: Place, shop: Deciding) -> None:
    """A list that was changed since its refresh is refreshed again."""
    place.publisher.pages["/old.json"] = GOOD
    list_id = made_list(shop, place.source("/old.json"), "1.1.1.1", "8.8.8.0/24")
    refreshed(shop, list_id)
    published = shop.get(f"lists/{list_id}")["entries"]
    older = {"entries": ["1.1.1.1", "2.2.2.2"]}
    made(shop.by("Owner").request("PATCH", f"{shop.path}/lists/{list_id}", json=older))
    wait_until(lambda: set(shop.get(f"lists/{list_id}")["entries"]) == set(published), 60)


def test_an_operator_refreshes_a_list_now(place: Place, shop: Deciding) -> None:
    """The audit says who asked; the same entries again change no revision."""
    place.publisher.pages["/now.json"] = GOOD
    list_id = made_list(shop, None)
    late = place.source("/now.json", refresh_seconds=2_592_000)
    made(shop.by("Owner").request("PATCH", f"{shop.path}/lists/{list_id}", json={"source": late}))
    status = refreshed(shop, list_id)
    assert (status["enabled"], status["refused"]) == (True, None)
    assert status["refreshed_at"]
    found = shop.get(f"lists/{list_id}")
    assert found["entries"] == ["8.8.8.0/24", "9.9.9.0/24"]
    refreshed(shop, list_id)
    assert shop.get(f"lists/{list_id}")["revision"] == found["revision"]
    actors = {each["actor"] for each in audited(shop, list_id) if each["action"] == "refresh"}
    assert actors == {"system"}


@pytest.mark.parametrize(
    ("page", "code"),
    [
        (BAD, "source-private-range"),
        (Page(b'{"prefixes": []}'), "source-empty"),
        (Page(status=302, headers={"location": "https://1.1.1.1/"}), "source-redirects-elsewhere"),
        (Page(b"\x1f\x8b", {"content-encoding": "gzip"}), "source-packed"),
    ],
    ids=["private", "empty", "redirect", "packed"],
)  # fmt: skip
def test_a_refused_refresh_keeps_the_entries_and_says_why(
    place: Place, shop: Deciding, page: Page, code: str
) -> None:
    """The reason is answered, audited and counted, and a later success doesn't hide it."""
    place.publisher.pages["/bad.json"] = page
    list_id = made_list(shop, place.source("/bad.json"), "1.1.1.1")
    status = refreshed(shop, list_id)
    assert status["refused"]["code"] == code
    assert status["refreshed_at"] is None
    assert shop.get(f"lists/{list_id}")["entries"] == ["1.1.1.1"]
    found = [each for each in audited(shop, list_id) if each["action"] == "refuse-refresh"]
    assert {each["actor"] for each in found} == {"system"}
    assert {each["after"]["code"] for each in found} == {code}
    assert f'outcome="{code}"' in place.service.http.get("/metrics").text
    place.publisher.pages["/bad.json"] = Page(b'{"prefixes": [{"ipv4Prefix": "1.1.1.1"}]}')
    status = refreshed(shop, list_id)
    assert status["refreshed_at"] > status["refused"]["at"]


def test_an_address_that_is_not_public_is_refused(place: Place, shop: Deciding) -> None:
    """The setting allows the mirror's address alone; nothing else on this machine is asked."""
    url = f"https://127.0.0.2:{place.publisher.port}/a"
    list_id = made_list(shop, {"url": url, "format": "lines"}, "1.1.1.1")
    assert refreshed(shop, list_id)["refused"]["code"] == "source-address-not-public"


def test_only_lists_with_a_source_are_refreshed(shop: Deciding) -> None:
    """Another is refused, as is a person who may not write definitions."""
    list_id = made_list(shop, None, "1.1.1.1")
    path = f"{shop.path}/lists/{list_id}/refresh"
    assert shop.by("Owner").post(path).json()["code"] == "conflict"
    assert shop.by("Viewer").post(path).json()["code"] == "forbidden"
    assert shop.get(f"lists/{list_id}/refresh", role="Viewer")["refreshed_at"] is None


def test_a_service_fetches_nothing_unless_a_setting_says_so(tmp_path: Path, process: None) -> None:
    """A list may have a source; it stays as it is."""
    with deciding(tmp_path / "data") as service:
        shop = service.tenant()
        list_id = made_list(shop, {"url": "https://lists.example/a", "format": "lines"})
        answer = shop.by("Owner").post(f"{shop.path}/lists/{list_id}/refresh")
        assert answer.json()["code"] == "refresh-off"
        assert shop.get(f"lists/{list_id}/refresh")["enabled"] is False


def test_refreshed_keys_prove_agents_and_the_last_good_ones_stay(
    place: Place, shop: Deciding
) -> None:
    """Fetched keys prove agents until others are published, and a bad text changes nothing."""
    agents = [Agent() for _ in range(2)]
    pages = place.publisher.pages

    def proven() -> list[bool]:
        found = []
        for agent in agents:
            now = int(time.time())
            signed = agent.headers(
                authority="shop.example", created=now, components=("@authority",)
            )
            headers = {name: signed[name] for name in ("signature", "signature-input")}
            decided = shop.decide("/", request={"host": "shop.example", "headers": headers})
            event = shop.get(f"decisions/{decided['decision_id']}")["event"]
            found.append(event.get("agent", {}).get("proof") == "signature")
        return found

    pages["/keys"] = Page(agents[0].directory)
    source = place.source("/keys") | {"format": "keys"}
    body = {"name": "Shopper", "kind": "string", "source": source}
    list_id = str(made(shop.by("Owner").post(f"{shop.path}/lists", body))["list_id"])
    refreshed(shop, list_id)
    wait_until(lambda: proven() == [True, False])
    pages["/keys"] = Page(b'{"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "short"}]}')
    assert refreshed(shop, list_id)["refused"]["code"] == "source-invalid-entry"
    assert proven() == [True, False]
    pages["/keys"] = Page(agents[1].directory)
    refreshed(shop, list_id)
    wait_until(lambda: proven() == [False, True])
