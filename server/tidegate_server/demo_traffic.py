"""Generated traffic for the demonstration: visitors of a shop that is under attack.

It is sent to the server like that of any other site: one call at a time, with an API key.
"""

from __future__ import annotations

import heapq
import random
import time
from itertools import count
from typing import TYPE_CHECKING, cast

from tidegate.client.client import Client
from tidegate.client.errors import AuthenticationError, ClientError, ForbiddenError
from tidegate.samples.generate import (
    BROWSERS,
    CRAWLER,
    INJECTIONS,
    PROBES,
    Request,
    sample_request,
)
from tidegate_server.logging import log

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from tidegate.event_form import Event

SEED = 2026
RATE = "about 12 events a second"
PAUSE_SECONDS = 5.0
"""The pause after a call that failed."""
LONGEST_LAG_SECONDS = 2.0
"""When the server is slower than the traffic, the traffic waits instead of catching up."""

GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
CLAUDEBOT = "Mozilla/5.0 (compatible; ClaudeBot/1.0; +claudebot@anthropic.com)"
AGENTS = (("66.249.66.1", GOOGLEBOT), ("192.0.2.67", GOOGLEBOT), ("192.0.2.68", CLAUDEBOT))
"""Googlebot from an address that Google publishes, an imitator, and an agent without a proof."""

Timed = tuple[float, Request]
"""An event, and when it happens, in seconds since the first."""


def generated(seed: int) -> Iterator[Timed]:
    """Return endless traffic in order of time; the same seed gives the same traffic.

    Within 60 seconds the sample definitions block a login attack, an impostor of a known crawler
    and a scanner, and challenge a scraper and the program of the login attack.
    """
    sources = (
        *(_shoppers, _crawler, _impostor, _agents),
        *(_login_attack, _scraper, _scanner, _injections),
    )
    dice = (random.Random(f"{seed} {source.__name__}") for source in sources)  # noqa: S311
    return heapq.merge(
        *(source(each) for source, each in zip(sources, dice, strict=True)),
        key=lambda timed: timed[0],
    )


def send_traffic(base_url: str, api_key: str, seed: int, stopped: threading.Event) -> None:
    """Send the traffic to the call that decides, until the server stops or refuses the key.

    A call that fails is logged, and the traffic goes on after a pause.

    Args:
        base_url: of the server.
        api_key: of the tenant.
        seed: of the traffic.
        stopped: set when the server has stopped.
    """
    log.info("sending generated traffic", rate=RATE)
    with Client(base_url, api_key, source="generated") as client:
        start = time.monotonic()
        for at, event in generated(seed):
            wait = start + at - time.monotonic()
            if wait < -LONGEST_LAG_SECONDS:
                start -= wait
            if stopped.wait(max(0.0, wait)):
                return
            try:
                client.decide(cast("Event", event))
            except (AuthenticationError, ForbiddenError) as error:
                log.warning("generated traffic ends: its API key was refused", error=str(error))
                return
            except ClientError as error:
                # A server that stops refuses calls first.
                if stopped.wait(PAUSE_SECONDS):
                    return
                log.warning("a call of the generated traffic failed", error=str(error))


def _shoppers(dice: random.Random) -> Iterator[Timed]:
    """Sixty visitors who read, log in and buy: 6 events a second."""
    known = [
        {
            "country": dice.choice(("NL", "NL", "DE", "BE", "FR")),
            "ja4": f"t13d{number % 9:04d}h2_shopper",
        }
        for number in range(60)
    ]
    at = 0.0
    while True:
        at += dice.expovariate(6)
        number = dice.randrange(60)
        address = f"203.0.113.{number + 1}" if number % 4 else f"2001:db8:5:{number:x}::1"
        agent, fields = BROWSERS[number % len(BROWSERS)], known[number]
        account = {"account_id": f"acc-{number:04d}", **fields}
        drawn = dice.random()
        if drawn < 0.03:
            status = dice.choices(("200", "401"), (9, 1))[0]
            login = {**account, "status": status}
            yield at, sample_request("POST", "/account/login", address, agent, login)
        elif drawn < 0.05:
            score = dice.choices(("0.05", "0.12", "0.31", "0.93"), (4, 3, 2, 1))[0]
            checkout = {"risk_score": score, **account}
            yield at, sample_request("POST", "/checkout", address, agent, checkout)
        else:
            path = dice.choice(("/", "/products/{}", "/products/{}", "/search", "/cart"))
            query = {"q": dice.choice(("tea", "mug", "kettle"))} if path == "/search" else None
            path = path.format(dice.randint(1, 40))
            yield at, sample_request("GET", path, address, agent, fields, query)


def _crawler(dice: random.Random) -> Iterator[Timed]:
    """A crawler that comes from its own networks."""
    for number in count():
        path = f"/products/{dice.randint(1, 40)}"
        address = f"198.51.100.{number % 6 + 1}"
        yield number * 2.0, sample_request("GET", path, address, CRAWLER, {"country": "US"})


def _impostor(dice: random.Random) -> Iterator[Timed]:
    """A client that borrows the crawler's name."""
    for number in count():
        path = f"/products/{dice.randint(1, 40)}"
        at = 3 + number * 4.0
        yield at, sample_request("GET", path, "192.0.2.66", CRAWLER, {"country": "US"})


def _agents(dice: random.Random) -> Iterator[Timed]:
    """Agents that the registry knows, and an imitator."""
    for number in count():
        path = f"/products/{dice.randint(1, 40)}"
        address, agent = AGENTS[number % len(AGENTS)]
        yield 1 + number * 3.0, sample_request("GET", path, address, agent, {"country": "US"})


def _login_attack(dice: random.Random) -> Iterator[Timed]:
    """One program that tries passwords from the addresses of a network, in waves of 90 seconds."""
    at = 5.0
    while True:
        at += dice.expovariate(4)
        if at % 120 > 95:
            at += 30
        fields = {
            "country": "US",
            "ja4": "t13d0101h1_stuffer",
            "status": "401",
            "account_id": f"acc-{dice.randrange(60):04d}",
        }
        address = f"198.51.100.{dice.randrange(40) + 160}"
        yield at, sample_request("POST", "/account/login", address, BROWSERS[0], fields)


def _scraper(dice: random.Random) -> Iterator[Timed]:
    """A script that reads one product after the other."""
    at = 2.0
    for number in count():
        at += dice.uniform(0.5, 0.9)
        path = f"/products/{number % 400 + 1}"
        agent, fields = "python-requests/2.33", {"country": "US", "ja4": "t13i0303h1_script"}
        yield at, sample_request("GET", path, "192.0.2.99", agent, fields)


def _scanner(dice: random.Random) -> Iterator[Timed]:
    """A scanner that asks for files that no page links to."""
    for number in count():
        fields = {"country": "US", "status": "404"}
        at = 8 + number * 3.0
        yield at, sample_request("GET", dice.choice(PROBES), "192.0.2.201", "curl/8.11.0", fields)


def _injections(dice: random.Random) -> Iterator[Timed]:
    """Attempts to inject SQL, scripts and paths."""
    for number in count():
        query = {"q": dice.choice(INJECTIONS)}
        at, fields = 10 + number * 8.0, {"country": "US"}
        yield at, sample_request("GET", "/search", "192.0.2.200", BROWSERS[2], fields, query)
