"""``python -m tests.console.commands.story``: the day of an operator, over 100,000 events."""

from __future__ import annotations

import gzip
import itertools
import json
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright
from tests.browser import launched
from tests.console.conftest import started
from tests.console.stories.test_story import (
    entered,
    tell,
    test_a_blocked_visitor_is_found_and_let_through,
    test_filters_become_an_action_and_a_policy_that_stops,
    test_the_key_doctor_has_a_verdict,
    test_the_overview_splits_decisions,
)
from tests.console.stories.test_story_by_keys import test_all_of_it_is_done_by_keys
from tests.server.deciding import MOST
from tests.service.service_process import Service, stop
from tests.shared_data import shared_path

EVENTS, BATCH = 100_000, 1_000
STORIES = (
    test_the_overview_splits_decisions,
    test_a_blocked_visitor_is_found_and_let_through,
    test_filters_become_an_action_and_a_policy_that_stops,
    test_the_key_doctor_has_a_verdict,
    test_all_of_it_is_done_by_keys,
)


def send(service: Service) -> int:
    """Send recorded events as of now, and wait until they are counted; gives how many."""
    keys = f"/tenants/{service.tenant_id}/api-keys"
    for key in service.control("GET", keys).json():
        path = f"{keys}/{key['api_key_id']}"
        answer = service.control("PATCH", path, {"rate_limit_per_minute": MOST})
        assert answer.status_code == 200, answer.text
    sent = 0
    with gzip.open(shared_path("data/traffic/events.jsonl.gz")) as lines:
        events = (json.loads(line) for line in itertools.islice(lines, EVENTS))
        while batch := list(itertools.islice(events, BATCH)):
            for event in batch:
                del event["observed_at"]
            answer = service.hot("/beacon/events", batch)
            assert {each["status"] for each in answer.json()} == {200}, answer.text
            sent += len(batch)
    tell(service)
    status = f"/tenants/{service.tenant_id}/status"
    while service.control("GET", status).json()["waiting"]:
        time.sleep(0.1)
    return sent


def main() -> None:
    """Send the events, do what an operator does, and print how long each part took."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        sync_playwright() as playwright,
        launched(playwright) as browser,
    ):
        service = started(Path(scratch) / "log")
        try:
            begun = time.monotonic()
            print(f"{send(service):,} events sent: {time.monotonic() - begun:.1f} s")
            for story in STORIES:
                with entered(browser, service) as operator:
                    begun = time.monotonic()
                    arguments = {"operator": operator, "told": service}
                    names = story.__code__.co_varnames[: story.__code__.co_argcount]
                    story(**{name: arguments[name] for name in names})
                    said = (story.__doc__ or "").partition(".")[0]
                    print(f"{time.monotonic() - begun:5.1f} s  {' '.join(said.split())}")
        finally:
            stop(service.process)


if __name__ == "__main__":
    main()
