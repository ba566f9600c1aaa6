"""Item 17 of the attacks: guesses at the password of one operator."""

from __future__ import annotations

import asyncio
import socket
import time
from urllib.parse import urlsplit

import attrs
from tests.attack.attack import Attack, Outcome, Scale, hammer
from tests.attack.control import login
from tests.attack.expectations import GUESSES, OWNER_SECONDS
from tests.attack.served import PASSWORD, World

ELSEWHERE = "127.0.0.2"
"""Another address of this machine, which the true owner calls from."""


@attrs.frozen
class Guesses(Attack):
    """Many guesses at one operator's password at the same moment."""

    name = "guesses"
    what = "60 guesses at one operator at once, then the true owner from another address"

    base_url: str
    email: str
    guesses: int

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Guesses:
        return cls(world.base_url, world.people["victim"].email, scale.guesses)

    async def run(self, until: float) -> Outcome:
        requests = [login(self.email, f"wrong {number}") for number in range(self.guesses)]
        outcome = await hammer(self.base_url, requests, self.guesses, until, self.guesses)
        through = outcome.statuses["401"]
        refused = sum(outcome.statuses[each] for each in ("429", "503"))
        outcome.require(
            through <= GUESSES, f"{through} of {self.guesses} guesses were looked at at once"
        )
        outcome.require(
            through + refused == self.guesses, f"guesses were answered {dict(outcome.statuses)}"
        )
        took = await asyncio.to_thread(owner_seconds, self.base_url, login(self.email, PASSWORD))
        outcome.require(took is not None, "the true owner is locked out")
        if took is not None:
            outcome.notes.append(f"the owner was in after {took:.1f} s")
        return outcome


def owner_seconds(base_url: str, request: bytes) -> float | None:
    """The seconds until the owner has a token; None when the time is up before."""
    started = time.monotonic()
    while (took := time.monotonic() - started) < OWNER_SECONDS:
        if _status(base_url, request) == 200:
            return took
        time.sleep(0.5)
    return None


def _status(base_url: str, request: bytes) -> int:
    where = urlsplit(base_url)
    address = (str(where.hostname), where.port or 80)
    try:
        with socket.create_connection(address, 30, source_address=(ELSEWHERE, 0)) as connection:
            connection.sendall(request)
            return int(connection.recv(4_096)[9:12])
    except (OSError, ValueError):
        return 0
