"""Requests of a firewall's regression tests, as the events that an edge makes of them."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

from shared_data import some_lines


def of_line(line: dict[str, Any]) -> dict[str, Any]:
    """The event of one request; a target that isn't a URL is all path."""
    try:
        target = urlsplit(line["uri"])
        path, query = target.path, target.query
    except ValueError:
        path, query = line["uri"], ""
    request = {
        "method": line["method"],
        "path": path,
        "query_params": dict(parse_qsl(query, keep_blank_values=True)),
        "headers": line["headers"],
    }
    return {"request": request, "fields": {"body": line.get("data") or ""}}


def firewall_events(most: int = 400) -> list[dict[str, Any]]:
    """At most a number of events, from all over the set."""
    return [
        of_line(line) for line in some_lines("data/adversarial/traffic/crs_requests.jsonl", most)
    ]
