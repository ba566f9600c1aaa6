"""A published list on its page, and findings about definitions in traffic."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect
from tests.browser import Watched
from tests.publisher import Page, Publisher, publishing
from tests.service.service_process import Service, start, stop


@pytest.fixture(scope="module")
def publisher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Publisher]:
    """A publisher on loopback."""
    with publishing(tmp_path_factory.mktemp("publisher")) as running:
        yield running


@pytest.fixture(scope="module")
def refreshing(
    publisher: Publisher, tmp_path_factory: pytest.TempPathFactory, process: None
) -> Iterator[Service]:
    """A demonstration that fetches lists, from loopback too."""
    environment = {
        "TIDEGATE_LISTS_REFRESH": "true",
        "TIDEGATE_LISTS_ALLOW_NETWORKS": "127.0.0.1",
        "SSL_CERT_FILE": str(publisher.authority),
    }
    log = tmp_path_factory.mktemp("refreshing") / "log"
    process_, said = start("--demo", log=log, environment=environment)
    yield Service(process=process_, log=log, **said)
    stop(process_)


def test_a_published_list_shows_its_refreshes(
    browser: Browser, refreshing: Service, publisher: Publisher
) -> None:
    """A refusal is shown with its reason, a refresh with its time and the new entries."""
    publisher.pages["/bots"] = Page(b"10.0.0.1\n", {"content-type": "text/plain"})
    source = {"url": publisher.url("/bots", "127.0.0.1"), "format": "lines"}
    body = {"name": "Bots", "kind": "ip", "source": source}
    path = f"/tenants/{refreshing.tenant_id}/lists"
    list_id = refreshing.control("POST", path, body).json()["list_id"]
    context = browser.new_context(base_url=refreshing.base_url)
    try:
        visitor = Watched.of(context, refreshing.base_url)
        page = visitor.page
        page.goto(f"/console/#access_token={refreshing.owner_token}")
        page.get_by_role("heading", name="Overview").wait_for()
        page.goto(f"/console/example-shop/lists/{list_id}")
        card = page.get_by_role("region", name="Source")
        expect(card).to_contain_text(source["url"])
        card.get_by_role("button", name="Refresh now").click()
        expect(card).to_contain_text("source-private-range")
        publisher.pages["/bots"] = Page(b"1.1.1.1\n", {"content-type": "text/plain"})
        card.get_by_role("button", name="Refresh now").click()
        expect(page.get_by_role("heading", name="Entries: 1")).to_be_visible()
        expect(card.locator("time")).to_have_count(2)
        visitor.require_silence()
    finally:
        context.close()


def test_a_list_is_not_refreshed_where_that_is_off(owner: Watched, service: Service) -> None:
    """The button can't be pressed, and the page says why."""
    source = {"url": "https://lists.example/a", "format": "lines"}
    path = f"/tenants/{service.tenant_id}/lists"
    body = {"name": "Elsewhere", "kind": "ip", "source": source}
    list_id = service.control("POST", path, body).json()["list_id"]
    page = owner.page
    page.goto(f"/console/example-shop/lists/{list_id}")
    card = page.get_by_role("region", name="Source")
    expect(card.get_by_role("button", name="Refresh now")).to_be_disabled()
    expect(card).to_contain_text("does not fetch lists")
    service.control("DELETE", f"{path}/{list_id}")


def test_definitions_are_checked_against_recorded_traffic(owner: Watched) -> None:
    """Objects with findings are listed, with the number of events that were looked at."""
    page = owner.page
    page.goto("/console/example-shop/policies")
    card = page.get_by_role("region", name="Findings in traffic")
    card.get_by_role("button", name="Check against recorded traffic").click()
    expect(card.get_by_role("status")).to_contain_text("events")
    expect(card.get_by_text("1 finding").first).to_be_visible()
    owner.require_silence()
