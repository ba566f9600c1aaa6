"""Devices that operators have logged in from."""

from __future__ import annotations

import asyncio

import httpx2
import pytest
from tests.server.login.test_attempts import from_everywhere
from tests.server.serving import PASSWORD, Caller, Served

from tidegate_server.login.attempts import MAX_ATTEMPTS, SLOW_SECONDS, LoginAttempts
from tidegate_server.login.devices import LIFETIME_SECONDS, MOST_NAMES, Device, DeviceCookie

HERE, SECRET = "http://t", bytes(32)


def header_of(set_cookie: str) -> str:
    """The cookie as a browser sends it back."""
    return set_cookie.partition(";")[0]


def log_in(
    served: Served, who: Caller, password: str = PASSWORD, cookie: str = ""
) -> httpx2.Response:
    """A login of a browser, with no cookies but those that are given."""
    headers = {"cookie": cookie} if cookie else {}
    body = {"email": who.email, "password": password}
    with httpx2.Client(base_url=served.base_url, timeout=60) as http:
        return http.post("/api/v1/auth/local/token", json=body, headers=headers)


def locked(served: Served, who: Caller) -> None:
    """Have strangers at the same address fail at a name until it is locked there."""
    attempts = served.application.login_attempts

    async def fail() -> None:
        for _ in range(MAX_ATTEMPTS):
            await attempts.enter("127.0.0.1", who.email)

    asyncio.run(fail())


def test_a_known_device_is_not_locked_out_by_others(served: Served) -> None:
    """The right password counts there after ten wrong ones from the same address."""
    someone = served.operator()
    first = log_in(served, someone)
    cookie = header_of(first.headers["set-cookie"])
    assert first.status_code == 200
    assert "HttpOnly; SameSite=Strict" in first.headers["set-cookie"]
    locked(served, someone)
    assert log_in(served, someone).status_code == 429
    again = log_in(served, someone, cookie=cookie)
    assert again.status_code == 200
    assert log_in(served, someone, cookie=header_of(again.headers["set-cookie"])).status_code == 200


def test_a_device_of_somebody_else_is_a_stranger(served: Served) -> None:
    """A cookie helps the names that logged in with it, and no other."""
    someone, other = served.operator(), served.operator()
    cookie = header_of(log_in(served, other).headers["set-cookie"])
    locked(served, someone)
    assert log_in(served, someone, cookie=cookie).status_code == 429
    assert log_in(served, someone, cookie=f"{cookie}x").status_code == 429
    assert log_in(served, someone, cookie=f"{cookie}; {cookie}").status_code == 429


def test_wrong_passwords_of_a_device_count_against_it() -> None:
    """A stolen cookie gives ten guesses, and then none until a while has passed."""
    attempts = LoginAttempts(lambda: 0.0)
    device = Device(device_id="d", names=("ann",), until=1)

    async def guess() -> None:
        party = device.attempts_of("ann")
        assert party is not None
        for _ in range(MAX_ATTEMPTS):
            await attempts.enter(party, "ann", is_device=True)
        with pytest.raises(Exception, match="too many logins"):
            await attempts.enter(party, "ann", is_device=True)

    asyncio.run(guess())


def test_a_known_device_passes_the_slow_lane_by() -> None:
    """Guesses at a name from everywhere do not slow it down there."""
    attempts = LoginAttempts(lambda: 0.0)
    from_everywhere(attempts, "ann")

    async def log_in_here() -> None:
        async with asyncio.timeout(SLOW_SECONDS / 2):
            for _ in range(5):
                await attempts.enter("device d", "ann", is_device=True)

    asyncio.run(log_in_here())


def test_a_device_knows_the_last_operators() -> None:
    """Several share one; the one who logged in longest ago is forgotten, and all after a while."""
    cookies, device = DeviceCookie(SECRET), None
    for number in range(MOST_NAMES + 1):
        made = cookies.set(device, f"name {number}", HERE, 100)
        device = cookies.open(header_of(made), HERE, 101)
    assert device is not None
    assert device.attempts_of("name 0") is None
    assert all(device.attempts_of(f"name {number + 1}") for number in range(MOST_NAMES))
    assert device.client == f"device of name {MOST_NAMES}"
    assert cookies.open(header_of(made), HERE, 100 + LIFETIME_SECONDS) is None
    assert DeviceCookie(bytes(31) + b"1").open(header_of(made), HERE, 101) is None
    assert cookies.open(None, HERE, 101) is None


def test_a_login_that_fails_makes_no_device(served: Served) -> None:
    """Only the right password does."""
    answer = log_in(served, served.operator(), "wrong")
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
