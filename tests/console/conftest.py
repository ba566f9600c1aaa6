"""Fixtures of tests of the console: a whole service with recorded traffic, and a real browser."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.browser import Watched, browser
from tests.service.service_process import Service, start, stop

__all__ = ["browser"]
EVENTS = 400


def started(log: Path) -> Service:
    """The demonstration, with traffic that was decided on just now."""
    process, said = start("--demo", log=log)
    made = Service(process=process, log=log, **said)
    packed = resources.files("tidegate.samples").joinpath("traffic.jsonl.gz").read_bytes()
    events = [json.loads(line) for line in gzip.decompress(packed).splitlines()[:EVENTS]]
    for event in events:
        del event["observed_at"]
    assert made.hot("/beacon/events", events).status_code == 200
    return made


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[Service]:
    """One demonstration for all tests that only add to it."""
    made = started(tmp_path_factory.mktemp("console") / "log")
    yield made
    stop(made.process)


@pytest.fixture
def visitor(browser: Browser, service: Service) -> Iterator[Watched]:
    """A page of somebody who is not logged in."""
    context = browser.new_context(base_url=service.base_url)
    context.set_default_timeout(20_000)
    yield Watched.of(context, service.base_url)
    context.close()


@pytest.fixture
def owner(visitor: Watched, service: Service) -> Watched:
    """A page of the demonstration's Owner, at the overview."""
    visitor.page.goto(f"/console/#access_token={service.owner_token}")
    visitor.page.wait_for_url("**/console/example-shop/")
    visitor.page.get_by_role("heading", name="Overview").wait_for()
    return visitor


ASSETS = Path(__file__).parents[2] / "server/tidegate_server/console/assets"
