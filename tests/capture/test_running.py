"""Requests that come through proxies, and what a capture says of lines and files it cannot read."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import attrs

from tidegate.engine import Engine
from tidegate.errors import EventError
from tidegate_server.capture.aggregation import Aggregation
from tidegate_server.capture.running import Capture, peer_of
from tidegate_server.capture.sources import MAX_LINE, follow
from tidegate_server.capture.streams import request_event
from tidegate_server.cli.hybrid.capture import FORMS
from tidegate_server.settings.whole import Settings

BALANCER = "10.0.0.1"
LINE = f'{BALANCER} - - [02/Mar/2026:10:00:00 +0000] "GET /.env HTTP/1.1" 404 1 "-" "curl" "{{}}"\n'
"""nginx's log behind a balancer, with the addresses that it forwarded."""


def behind(balancer: str) -> Engine:
    """Definitions that block whoever asks for `/.env`, and trust a balancer."""
    return Engine(
        {
            "apiVersion": "tidegate/v1",
            "settings": {"trusted_proxies": [balancer]},
            "entities": [{"name": "Address", "key_fields": ["derived.client_network"]}],
            "mitigations": [{"name": "Refuse", "mode": "Block", "ttl_seconds": 900}],
            "policies": [
                {
                    "name": "Probes",
                    "clauses": [
                        {
                            "entity": "address",
                            "mitigation": "refuse",
                            "expression": 'request.path == "/.env"',
                        }
                    ],
                }
            ],
        }
    )


def captured(visitor: str, path: str) -> dict[str, Any]:
    """A request off the network that a balancer passed on."""
    headers = [("host", "shop.example"), ("x-forwarded-for", visitor)]
    return request_event("GET", path.encode(), headers, BALANCER)


def test_a_visitor_behind_a_balancer_does_not_block_the_balancer() -> None:
    """The trusted proxies of the definitions apply to captured requests: one visitor is blocked."""
    engine = behind(BALANCER)
    assert engine.decide(captured("192.0.2.7", "/.env")).entities[0].key == ("192.0.2.7/32",)
    assert engine.decide(captured("192.0.2.7", "/")).action.type == "block"
    assert engine.decide(captured("192.0.2.8", "/")).action.type == "allow"


def test_a_client_cannot_choose_its_address() -> None:
    """Forwarded addresses count only if the peer is a trusted proxy."""
    engine = behind("10.9.9.9")
    assert engine.decide(captured("203.0.113.1", "/")).entities[0].key == (f"{BALANCER}/32",)
    assert peer_of(captured("203.0.113.1", "/")["request"]) == BALANCER
    assert peer_of(request_event("GET", b"/", [], "192.0.2.7")["request"]) == "192.0.2.7"


def test_requests_of_different_visitors_are_counted_apart() -> None:
    """Behind a balancer too, repeated requests are joined for each visitor alone."""
    aggregation = Aggregation(per_minute=2)
    assert aggregation.add(captured("192.0.2.1", "/"), 0.0) is not None
    for visitor in ("192.0.2.7", "192.0.2.8", "192.0.2.7"):
        assert aggregation.add(captured(visitor, "/"), 0.0) is None
    assert aggregation.waiting == 3
    assert len(aggregation._kinds) == 2


@attrs.define
class Sent:
    events: list[dict[str, Any]] = attrs.field(factory=list)

    def send(self, event: dict[str, Any], /) -> bool:
        self.events.append(event)
        return True


def read(path: Path, lines: list[str]) -> tuple[Capture, Sent]:
    """A capture that has read lines of a log."""

    def parse(line: str) -> bytes:
        try:
            return FORMS["combined"](line) or b""
        except EventError as error:
            raise ValueError(str(error)) from None

    path.write_text("".join(lines))
    sent = Sent()
    settings = attrs.evolve(Settings().capture, source="access-log", file=str(path))
    made = Capture(settings, sent, lambda *_: None, parse, lambda: True)
    for line in all_of(path):
        event = None if line is None else made._of_line(line)
        if event is not None:
            made._take(event, time.monotonic())
    return made, sent


def all_of(path: Path) -> list[str | None]:
    """The lines of a file until nothing more is written."""
    found: list[str | None] = []
    found.extend(follow(path, lambda: None in found, from_start=True))
    return found


def test_the_addresses_of_a_log_go_to_the_service_as_they_were_forwarded(tmp_path: Path) -> None:
    """A log behind a balancer: the service finds the visitor by the tenant's trusted proxies."""
    _, sent = read(tmp_path / "access.log", [LINE.format("192.0.2.7")])
    request = sent.events[0]["request"]
    assert "client_ip" not in request
    assert request["headers"]["x-forwarded-for"] == f"192.0.2.7, {BALANCER}"
    assert behind(BALANCER).decide(sent.events[0]).entities[0].key == ("192.0.2.7/32",)


def test_lines_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    """The counts at the end have the lines that were left out."""
    lines = ["nonsense\n", LINE.format("192.0.2.7"), "more of it\n"]
    made, _ = read(tmp_path / "access.log", lines)
    counts = made.stats()
    assert (counts["unreadable"], counts["requests"], counts["forwarded"]) == (2, 1, 1)


def test_a_long_line_keeps_its_beginning_and_end(tmp_path: Path) -> None:
    """Attacks are long: such a line is not left out."""
    path = tmp_path / "access.log"
    path.write_text(f"begin{'x' * 4 * MAX_LINE}end\n")
    (line,) = [each for each in all_of(path) if each]
    assert line.startswith("beginx")
    assert line.endswith("xend")
    assert len(line) <= 2 * MAX_LINE + 256 * 1024


def test_a_file_that_is_not_there_is_said_once(tmp_path: Path) -> None:
    """A capture that waits for its file says so, and again when it is gone once more."""
    path, said = tmp_path / "access.log", list[str]()
    lines = follow(path, lambda: False, from_start=True, missing=said.append)
    assert [next(lines), next(lines)] == [None, None]
    assert said == [f"`{path}` cannot be read: No such file or directory"]
    path.write_text("a\n")
    assert next(lines) == "a"
