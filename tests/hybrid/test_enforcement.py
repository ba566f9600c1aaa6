"""Enforcement while a hostile sender is on the link, in namespaces of their own."""

from __future__ import annotations

from typing import Any

import pytest
from tests.hybrid import enforcement

SECONDS = 10.0


@pytest.fixture(scope="module")
def figures(namespace: None, process: None, proxy: None) -> dict[str, Any]:
    """The figures of a short run; ``python -m tests.hybrid.enforcement --hostile 600`` is long."""
    del namespace, process, proxy
    return enforcement.hostile(SECONDS)


def test_only_a_visitor_with_a_connection_of_its_own_is_dropped(figures: dict[str, Any]) -> None:
    """Others are blocked too: by made-up requests, or by what the service was told of them."""
    assert figures["frames"] > 1_000
    assert figures["dropped"] == [enforcement.VISITORS["bad"]]
    assert figures["refused_wrongly"] == []


def test_made_up_requests_count_for_nobody(figures: dict[str, Any]) -> None:
    """The service hears of none of them."""
    assert figures["counted_of_made_up"] == 0


def test_other_ports_are_left_alone(figures: dict[str, Any]) -> None:
    """A session on another port goes on, also that of the visitor who is dropped."""
    assert figures["sessions_go_on"] == ["operator", "bad"]


def test_a_killed_capture_drops_nobody_for_long(figures: dict[str, Any]) -> None:
    """The kernel ends the lease by itself."""
    assert figures["all_flows_after_kill"] < 60


def test_a_dry_run_names_who_would_be_dropped_and_changes_nothing(figures: dict[str, Any]) -> None:
    """The daemon makes no table while it runs."""
    assert figures["dry_run"] == {"would_drop": [enforcement.VISITORS["bad"]], "tables": ""}
