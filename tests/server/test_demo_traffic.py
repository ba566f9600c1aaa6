"""The traffic that the demonstration sends itself."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib import resources
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs
from tests.server.deciding import Deciding
from tests.waiting import wait_until

from tidegate import Engine
from tidegate.definitions import load_definitions
from tidegate_server import demo_traffic
from tidegate_server.demo_traffic import generated, send_traffic

if TYPE_CHECKING:
    from collections.abc import Iterator

START = datetime(2026, 11, 2, 9, tzinfo=UTC)
SEEDS = range(10)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_minute_of_traffic_has_an_attack_that_the_sample_definitions_stop(seed: int) -> None:
    """Within a minute attackers are blocked and challenged and ordinary visitors are let through,
    at 10 to 20 events a second."""
    samples = resources.files("tidegate.samples")
    with resources.as_file(samples / "definitions.yaml") as path:
        engine = Engine(load_definitions(path))
    decided: Counter[tuple[str, str]] = Counter()
    for at, event in takewhile(lambda timed: timed[0] < 60, generated(seed)):
        observed = (START + timedelta(seconds=at)).isoformat(timespec="milliseconds")
        decision = engine.decide({**event, "observed_at": observed})
        who = event["request"]["client_ip"].rpartition(".")[0] or "shopper"
        decided[who, decision.action.type] += 1
    assert 10 * 60 <= decided.total() <= 20 * 60
    assert decided["198.51.100", "block"] > 20, "the login attack"
    assert decided["192.0.2", "block"] > 10, "the impostor and the scanner"
    assert decided["192.0.2", "challenge"] > 20, "the scraper"
    visitors: Counter[str] = Counter()
    for (who, answer), count in decided.items():
        if who in {"shopper", "203.0.113"}:
            visitors[answer] += count
    assert visitors["allow"] > 200
    assert visitors["block"] == 0
    assert visitors["challenge"] < 10


def test_a_seed_determines_the_traffic() -> None:
    """The same seed gives the same events, in order of time; another seed gives others."""
    first = list(islice(generated(1), 3_000))
    assert first == list(islice(generated(1), 3_000))
    assert first != list(islice(generated(2), 3_000))
    assert first == sorted(first, key=lambda timed: timed[0])


@contextmanager
def sending(base_url: str, key: str) -> Iterator[tuple[threading.Thread, threading.Event]]:
    """A thread that sends traffic, and the event that ends it."""
    stopped = threading.Event()
    thread = threading.Thread(target=send_traffic, args=(base_url, key, 1, stopped), daemon=True)
    thread.start()
    try:
        yield thread, stopped
    finally:
        stopped.set()
        thread.join(30)


def recorded(shop: Deciding) -> list[dict[str, Any]]:
    """The recorded decisions."""
    rows: list[dict[str, Any]] = shop.get("decisions", limit=500)
    return rows


def test_the_traffic_is_decided_until_the_server_stops(shop: Deciding) -> None:
    """Its events are recorded with their source; it ends at once, without a warning."""
    with capture_logs() as said, sending(shop.service.base_url, shop.key) as (thread, stopped):
        wait_until(lambda: len(recorded(shop)) > 5)
        stopped.set()
        thread.join(10)
        assert not thread.is_alive()
    decision = shop.get(f"decisions/{recorded(shop)[0]['decision_id']}")
    assert decision["event"]["source"] == "generated"
    assert [each["log_level"] for each in said] == ["info"]


def test_the_traffic_ends_when_its_key_is_revoked(shop: Deciding) -> None:
    """The log says why."""
    with capture_logs() as said, sending(shop.service.base_url, shop.key) as (thread, _):
        wait_until(lambda: recorded(shop))
        answer = shop.by("Owner").delete(f"{shop.path}/api-keys/{shop.api_key_id}")
        assert answer.status_code < 300
        thread.join(30)
        assert not thread.is_alive()
    assert said[-1]["event"] == "generated traffic ends: its API key was refused"


def test_the_traffic_goes_on_after_a_call_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that doesn't answer is logged, and asked again after a pause."""
    monkeypatch.setattr(demo_traffic, "PAUSE_SECONDS", 0.01)
    with capture_logs() as said, sending("http://127.0.0.1:9", "tg_key") as (thread, _):
        failed = "a call of the generated traffic failed"
        wait_until(lambda: [each["event"] for each in said].count(failed) >= 2)
        assert thread.is_alive()
