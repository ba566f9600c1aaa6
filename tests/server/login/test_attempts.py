"""Logins are counted before they are looked at."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from tests.server.serving import PASSWORD, Served
from tools import plain_http

from tidegate_server.http.problems import Problem
from tidegate_server.login import attempts as module
from tidegate_server.login.attempts import (
    LANE_PLACES,
    MAX_ATTEMPTS,
    SLOW_AFTER,
    WINDOW_SECONDS,
    LoginAttempts,
)

GUESSES = 60


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def from_everywhere(attempts: LoginAttempts, name: str) -> None:
    """Make a name one that fails from many addresses."""

    async def fail() -> None:
        for number in range(SLOW_AFTER):
            await attempts.enter(f"192.0.2.{number}", name)

    asyncio.run(fail())


def test_an_address_that_tried_a_name_too_often_has_to_wait() -> None:
    """An address that tried a name too often waits until its oldest attempt has aged; others do
    not."""
    clock = Clock()
    attempts = LoginAttempts(clock)

    async def tries() -> None:
        for _ in range(MAX_ATTEMPTS):
            await attempts.enter("a", "ann")
            clock.now += 1
        with pytest.raises(Problem) as refused:
            await attempts.enter("a", "ann")
        assert refused.value.headers == {"retry-after": f"{WINDOW_SECONDS - MAX_ATTEMPTS:.0f}"}
        await attempts.enter("b", "ann")
        await attempts.enter("a", "bob")
        clock.now = WINDOW_SECONDS
        await attempts.enter("a", "ann")

    asyncio.run(tries())


def test_a_success_ends_the_wait_of_its_address() -> None:
    """After a success earlier failures of the address do not count."""
    attempts = LoginAttempts()

    async def tries() -> None:
        for _ in range(3 * MAX_ATTEMPTS):
            await attempts.enter("a", "ann")
            attempts.succeeded("a", "ann")

    asyncio.run(tries())


def test_a_known_address_passes_the_slow_lane_by() -> None:
    """An address that logged in before is not held up by guesses from elsewhere."""
    attempts = LoginAttempts()
    attempts.succeeded("home", "ann")
    from_everywhere(attempts, "ann")

    async def tries() -> None:
        entering = asyncio.ensure_future(attempts.enter("home", "ann"))
        await asyncio.sleep(0)
        assert entering.done()

    asyncio.run(tries())


def test_in_the_slow_lane_those_go_first_who_failed_least(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full lane makes room for an address that never failed, and for no other."""
    monkeypatch.setattr(module, "SLOW_SECONDS", 0.01)
    attempts = LoginAttempts()
    from_everywhere(attempts, "ann")
    passed: list[str] = []

    async def enter(address: str) -> None:
        await attempts.enter(address, "ann")
        passed.append(address)

    async def tries() -> None:
        # The first goes at once; each of the others tried before.
        guesses = [asyncio.ensure_future(enter(f"192.0.2.{at}")) for at in range(LANE_PLACES + 2)]
        await asyncio.sleep(0)
        owner = asyncio.ensure_future(enter("new"))
        results = await asyncio.gather(*guesses, owner, return_exceptions=True)
        refused = [each for each in results if isinstance(each, Problem)]
        assert [each.code for each in refused] == ["rate-limited"] * 2
        assert results[-1] is None

    asyncio.run(tries())
    assert passed[:2] == ["192.0.2.0", "new"]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the bound the least recently used entry is forgotten."""
    monkeypatch.setattr(module, "MAX_REMEMBERED", 2)
    recent = module._Recent[int, list[int]](list)
    for key in (1, 2, 1, 3):
        recent[key].append(key)
    assert [key in recent for key in (1, 2, 3)] == [True, False, True]
    assert recent[1] == [1, 1]


def test_guesses_that_come_together_are_counted_before_any_is_looked_at(served: Served) -> None:
    """Of sixty simultaneous guesses ten are checked, and then even the right password waits."""
    someone = served.operator()

    def guess(number: int) -> httpx2.Response:
        body = {"email": someone.email, "password": f"wrong password {number}"}
        while True:
            answer = plain_http.post(
                f"{served.base_url}/api/v1/auth/local/token", json=body, timeout=60
            )
            if answer.status_code != 429 or answer.json()["code"] != "too-many-requests":
                return answer

    with ThreadPoolExecutor(GUESSES) as threads:
        codes = [each.json()["code"] for each in threads.map(guess, range(GUESSES))]
    assert sorted(codes) == ["rate-limited"] * (GUESSES - MAX_ATTEMPTS) + (
        ["unauthenticated"] * MAX_ATTEMPTS
    )
    body = {"email": someone.email, "password": PASSWORD}
    right = served.http.post("/api/v1/auth/local/token", json=body)
    assert right.status_code == 429
    assert 0 < int(right.headers["retry-after"]) <= WINDOW_SECONDS
