"""Events past the limit, counted together."""

from __future__ import annotations

from typing import Any

from tidegate_server.capture.aggregation import MAX_BYTES, Aggregation


def event(path: str, size: int = 10) -> dict[str, Any]:
    headers = {"x": "a" * size}
    return {"request": {"method": "GET", "path": path, "client_ip": "a", "headers": headers}}


def test_alike_events_become_one_with_their_number() -> None:
    """The first of them, with a field that says how many there were."""
    made = Aggregation(10)
    passed = [made.add(event("/a"), 0.0) for _ in range(20)]
    assert sum(each is not None for each in passed) == 8
    (one,) = made.take()
    assert one == {**event("/a"), "fields": {"aggregated": "12"}}
    assert (made.folded, made.dropped, made.waiting) == (12, 0, 0)


def test_what_waits_is_bounded_in_bytes() -> None:
    """Large events of many kinds are dropped, and counted, before they fill the memory."""
    made = Aggregation(1)
    for number in range(1_000):
        made.add(event(f"/{number}", 60_000), 0.0)
    assert made.folded * 60_000 < MAX_BYTES
    assert made.dropped > 600
    made.take()
    assert made.add(event("/more", 60_000), 120.0) is not None
