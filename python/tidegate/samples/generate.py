"""The generator of ``traffic.jsonl.gz``: 1,000 requests to an invented shop.

``python -m tidegate.samples.generate FILE`` writes them again, byte for byte.
Addresses are from the documentation ranges of RFC 5737 and RFC 3849.
"""

from __future__ import annotations

import gzip
import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

START = datetime(2026, 11, 2, 9, tzinfo=UTC)
DURATION_SECONDS = 900.0
EVENTS = 1_000

BROWSERS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/143.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 19_1) Version/19.1 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0",
)
CRAWLER = "Mozilla/5.0 (compatible; ExampleBot/2.1; +https://bot.example.test/about)"
PROBES = (
    "/.env",
    "/.git/config",
    "/wp-login.php",
    "/phpmyadmin/index.php",
    "/backup.sql",
    "/old/site.bak",
)
INJECTIONS = (
    "1 UNION SELECT password FROM users",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "..%2f..%2f..%2fetc/passwd",
)

Request = dict[str, Any]


def sample_request(
    method: str,
    path: str,
    address: str,
    agent: str,
    fields: dict[str, str],
    query: dict[str, str] | None = None,
) -> Request:
    """Return an event of the invented shop, without a time.

    Args:
        method: as in ``GET``.
        path: of the request.
        address: of the client.
        agent: the user agent.
        fields: what the edge knows, in addition to ``status`` 200 and ``tls`` 1.3.
        query: its parameters; none by default.
    """
    return {
        "request": {
            "method": method,
            "path": path,
            "client_ip": address,
            "user_agent": agent,
            "headers": {"host": "shop.example.test", "accept": "*/*", "user-agent": agent},
            "query_params": query or {},
            "cookies": {},
            "route_params": {},
        },
        "fields": {"status": "200", "tls": "1.3", **fields},
    }


def _shoppers(dice: random.Random) -> Iterator[tuple[float, Request]]:
    for number in range(60):
        address = f"203.0.113.{number + 1}" if number % 4 else f"2001:db8:5:{number:x}::1"
        agent = dice.choice(BROWSERS)
        known = {
            "country": dice.choice(("NL", "NL", "DE", "BE", "FR")),
            "ja4": f"t13d{number % 9:04d}h2_shopper",
        }
        at = dice.uniform(0, DURATION_SECONDS * 0.8)
        for _ in range(dice.randint(5, 11)):
            at += dice.expovariate(1 / 12)
            path = dice.choice(("/", "/products/{}", "/products/{}", "/search", "/cart"))
            query = {"q": dice.choice(("tea", "mug", "kettle"))} if path == "/search" else None
            yield (
                at,
                sample_request(
                    "GET", path.format(dice.randint(1, 40)), address, agent, known, query
                ),
            )
        if number % 3 == 0:
            account = {"account_id": f"acc-{number:04d}", **known}
            failed = "401" if dice.random() < 0.2 else "200"
            yield (
                at + 4,
                sample_request(
                    "POST", "/account/login", address, agent, {**account, "status": failed}
                ),
            )
            score = dice.choice(("0.05", "0.12", "0.31", "0.93", "n/a"))
            yield (
                at + 20,
                sample_request(
                    "POST", "/checkout", address, agent, {"risk_score": score, **account}
                ),
            )


def _attackers(dice: random.Random) -> Iterator[tuple[float, Request]]:
    for number in range(45):  # one program, many addresses
        address = f"192.0.2.{number + 10}"
        known = {
            "country": "US",
            "ja4": "t13d0101h1_stuffer",
            "status": "401",
            "account_id": f"acc-{number:04d}",
        }
        for turn in range(2):
            yield (
                120 + number * 4 + turn,
                sample_request("POST", "/account/login", address, BROWSERS[0], known),
            )
    for number in range(40):  # one address, many passwords
        known = {
            "country": "FR",
            "ja4": "t13d0202h2_guess",
            "status": "401",
            "account_id": "acc-0007",
        }
        yield (
            300 + number * 1.5,
            sample_request("POST", "/account/login", "198.51.100.200", BROWSERS[2], known),
        )
    for number in range(48):  # scanners
        address = f"198.51.100.{210 + number % 3}"
        path = dice.choice(PROBES)
        yield (
            60 + number * 2.5,
            sample_request("GET", path, address, "curl/8.11.0", {"country": "US", "status": "404"}),
        )
    for number, text in enumerate(INJECTIONS * 4):
        yield (
            420 + number * 9,
            sample_request(
                "GET", "/search", "192.0.2.200", BROWSERS[2], {"country": "US"}, {"q": text}
            ),
        )
    for number in range(110):  # a scraper
        path = f"/products/{number + 1}"
        yield (
            500 + number * 1.2,
            sample_request("GET", path, "192.0.2.99", "python-requests/2.33", {"country": "US"}),
        )


def _crawlers(dice: random.Random) -> Iterator[tuple[float, Request]]:
    for number in range(80):
        path = f"/products/{dice.randint(1, 40)}"
        yield (
            number * 10.0,
            sample_request("GET", path, f"198.51.100.{number % 6 + 1}", CRAWLER, {"country": "US"}),
        )
    for number in range(12):  # somebody who borrows its name
        yield (
            200 + number * 7,
            sample_request("GET", f"/products/{number}", "192.0.2.66", CRAWLER, {"country": "US"}),
        )


def events() -> list[Request]:
    """The sample: ``EVENTS`` runtime requests in order of time."""
    dice = random.Random(2026)  # noqa: S311
    timed = [*_shoppers(dice), *_attackers(dice), *_crawlers(dice)]
    while len(timed) < EVENTS:
        at = dice.uniform(0, DURATION_SECONDS)
        timed.append(
            (
                at,
                sample_request(
                    "GET", "/healthz", "203.0.113.250", "uptime-check/1.4", {"country": "NL"}
                ),
            )
        )
    timed = sorted(sorted(timed, key=lambda pair: pair[0])[:EVENTS], key=lambda pair: pair[0])
    return [
        {
            "source": "edge",
            "observed_at": (START + timedelta(milliseconds=round(at * 1_000))).isoformat(
                timespec="milliseconds"
            ),
            "idempotency_key": f"sample-{number:04d}",
            "return_url": "https://shop.example.test" + request["request"]["path"],
            **request,
        }
        for number, (at, request) in enumerate(timed)
    ]


def main() -> None:
    lines = b"".join(orjson.dumps(event) + b"\n" for event in events())
    Path(sys.argv[1]).write_bytes(gzip.compress(lines, compresslevel=9, mtime=0))


if __name__ == "__main__":
    main()
