"""Waiting for what a test expects, with an end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")
SECONDS = 60.0
_STEP_SECONDS = 0.02


def wait_until(what: Callable[[], Found], seconds: float = SECONDS) -> Found:
    """The first true value of a function.

    Raises:
        AssertionError: it had none in time.
    """
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, f"it did not come about within {seconds} s"
        time.sleep(_STEP_SECONDS)
    return found


async def eventually(what: Callable[[], Found], seconds: float = SECONDS) -> Found:
    """The first true value of a function, while the loop goes on.

    Raises:
        AssertionError: it had none in time.
    """
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, f"it did not come about within {seconds} s"
        await asyncio.sleep(_STEP_SECONDS / 2)
    return found
