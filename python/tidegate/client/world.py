"""A client's external inputs: time, randomness and new keys."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import attrs


def _now() -> datetime:
    return datetime.now(UTC)


def _new_key() -> str:
    return uuid.uuid4().hex


@attrs.frozen(kw_only=True)
class World:
    """Clock, sleep and randomness of a client; tests replace them."""

    now: Callable[[], datetime] = _now
    """The time an event is stamped with."""
    clock: Callable[[], float] = time.monotonic
    """Monotonic seconds, for ages and deadlines."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random
    """A random number from 0 to 1 that spreads retries."""
    new_key: Callable[[], str] = _new_key
    """Makes an idempotency key."""


REAL = World()
"""The default for clients."""
