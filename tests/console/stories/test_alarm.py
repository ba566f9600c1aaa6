"""An operator is told of an attack, and ends it: from the alert to the sentences of the audit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import httpx2
import orjson
import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser import Watched, box_of
from tests.console.stories.test_story_by_keys import named
from tests.integrations.asking import BROWSER
from tests.integrations.edges import Edge, running
from tests.publisher import Publisher, publishing
from tests.server.deciding import Deciding, deciding, made
from tests.waiting import wait_until

from tidegate.policy.document.yaml_text import write_yaml
from tidegate.testing.policies import policy_tests

ATTACKER, ACCOMPLICE, CUSTOMER = "203.0.113.77", "203.0.113.91", "203.0.113.200"
NETWORK = "203.0.113.0/24"
ALERT_SECONDS = 120
DEFINITIONS = {
    "apiVersion": "tidegate/v1",
    "settings": {"trusted_proxies": ["127.0.0.1/32"]},
    "actions": [{"name": "Probe", "expression": 'request.path == "/.env"'}],
    "entities": [{"name": "Client network", "key_fields": ["derived.client_network"]}],
    "mitigations": [{"name": "Refuse", "mode": "Block", "ttl_seconds": 600}],
    "policies": [
        {
            "name": "Scanners",
            "clauses": [
                {
                    "name": "three",
                    "actions": ["probe"],
                    "entity": "client-network",
                    "mitigation": "refuse",
                    "window": {"duration_seconds": 60, "threshold": 3},
                }
            ],
        }
    ],
}


@attrs.frozen
class Scene:
    """A site behind nginx, its tenant, and where alerts arrive."""

    shop: Deciding
    site: Edge
    receiver: Publisher

    def visit(self, address: str, path: str = "/") -> int:
        """The status that a visitor of the site gets."""
        headers = {**BROWSER, "x-forwarded-for": address}
        return int(httpx2.get(f"{self.site.base_url}{path}", headers=headers).status_code)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, process: None, proxy: None) -> Iterator[Scene]:
    """A service that may send messages to loopback, and nginx in front of a site."""
    folder = tmp_path_factory.mktemp("alarm")
    with publishing(folder) as receiver, pytest.MonkeyPatch.context() as environment:
        environment.setenv("SSL_CERT_FILE", str(receiver.authority))
        with deciding(folder / "data", alerts_allow_networks="127.0.0.1") as service:
            shop = service.tenant(DEFINITIONS)
            with running("nginx", service.base_url, shop.key, folder) as site:
                yield Scene(shop, site, receiver)


def told(scene: Scene) -> str:
    """The link in the message of an alert, after an attack."""
    url = scene.receiver.url("/alerts", "127.0.0.1")
    shop = scene.shop
    body = {"name": "Blocks", "metric": "blocks", "times_usual": None, "threshold": 5}
    to = {"destinations": [{"kind": "webhook", "to": url}]}
    made(shop.by("Owner").post(f"{shop.path}/alerts", {**body, **to}))
    assert [scene.visit(CUSTOMER), scene.visit(ACCOMPLICE)] == [200, 200]
    answers = [scene.visit(ATTACKER, "/.env") for _ in range(12)]
    assert set(answers[:2]) == {200}
    assert set(answers[2:]) == {403}
    wait_until(lambda: scene.receiver.taken, ALERT_SECONDS)
    message: dict[str, Any] = orjson.loads(scene.receiver.taken[0].body)
    assert message["data"]["alerts"][0]["state"] == "firing"
    return str(message["data"]["link"])


def brush(page: Page) -> None:
    """Choose the last part of a plot."""
    over = page.locator(".plot .u-over")
    expect(over).to_be_visible()
    box = box_of(over)
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.8, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, middle, steps=5)
    page.mouse.up()


def open_decision(page: Page, address: str, path: str) -> None:
    """Find the newest decision on an address and a path."""
    page.get_by_role("navigation").get_by_role("link", name="Decisions", exact=True).click()
    page.get_by_label("Address or network").fill(address)
    page.get_by_label("Address or network").press("Enter")
    expect(page.locator("tbody tr").filter(has_not_text=address)).to_have_count(0)
    row = page.locator("tbody tr").filter(has_text=path).first
    expect(row).to_contain_text(address)
    row.get_by_role("link").first.click()
    expect(page.get_by_text("The explanation reproduces the recorded decision")).to_be_visible()


def act(page: Page, button: str, verb: str, whom: str, reason: str, network: str = "") -> None:
    """Ban or let through from a decision, for two hours."""
    named(page, "button", button).click()
    dialog = page.get_by_role("dialog", name=button)
    dialog.get_by_label("Whom").select_option(label=whom)
    if network:
        dialog.get_by_role("textbox", name="Address or network").fill(network)
    expect(dialog.get_by_label("Duration").locator("option:checked")).to_have_text("2 hours")
    dialog.get_by_label("Reason").fill(reason)
    dialog.get_by_role("button", name=verb, exact=True).click()
    expect(page.get_by_role("status").get_by_role("link")).to_contain_text(verb)


def test_from_the_alert_to_the_audit(browser: Browser, scene: Scene, tmp_path: Path) -> None:
    """The link of an alert opens the plot at its time; from a decision the network is banned, a
    customer let through, and a test written that passes; the audit says so in sentences."""
    link = told(scene)
    owner = scene.shop.by("Owner")
    context = browser.new_context(base_url=scene.shop.service.base_url, accept_downloads=True)
    context.set_default_timeout(20_000)
    watched = Watched.of(context, scene.shop.service.base_url)
    page = watched.page
    page.goto(f"/console/#access_token={owner.token}")
    page.get_by_role("heading", name="Overview").wait_for()

    page.goto(link)
    expect(page.get_by_label("Time range")).to_have_value("own")
    before = page.url
    brush(page)
    expect(page).not_to_have_url(before)
    brushed = page.url.partition("#")[2]
    assert re.fullmatch("from=.*&to=.*", brushed)

    open_decision(page, ATTACKER, "/.env")
    decision = page.url.partition("#")[0]
    act(page, "Ban for …", "Ban", "Another address or network", "scanners", NETWORK)
    assert scene.visit(ACCOMPLICE) == 403
    assert scene.visit(CUSTOMER) == 403

    open_decision(page, CUSTOMER, "/")
    act(page, "Let through for …", "Let through", CUSTOMER, "a customer called")
    assert scene.visit(CUSTOMER) == 200
    assert scene.visit(ACCOMPLICE) == 403

    page.goto(decision)
    named(page, "button", "Write a test").click()
    dialog = page.get_by_role("dialog", name="Write a test")
    with page.expect_download() as download:
        dialog.get_by_role("link", name="Download").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    export = scene.shop.get("definitions")
    (tmp_path / "definitions.yaml").write_text(write_yaml(export))
    (test,) = policy_tests(file)
    test.check()
    dialog.get_by_role("button", name="Close").click()

    page.get_by_role("link", name="Audit", exact=True).click()
    rows = page.get_by_role("row")
    expect(rows.nth(1)).to_contain_text(f"let through {CUSTOMER}")
    expect(rows.nth(1)).to_contain_text(": a customer called")
    expect(rows.nth(2)).to_contain_text(f"banned {NETWORK}")
    expect(rows.nth(2)).to_contain_text(": scanners")
    watched.require_silence()
    context.close()
