"""The second factor of passwords, over HTTP."""

from __future__ import annotations

import base64
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import httpx2
import pytest
from tests.operators.test_second_factor import code_at
from tests.server.login.test_devices import header_of
from tests.server.serving import PASSWORD, Caller, Served

from tidegate_server.login.attempts import MAX_ATTEMPTS
from tidegate_server.operators.second_factor import PERIOD_SECONDS, RECOVERY_CODES

if TYPE_CHECKING:
    from collections.abc import Mapping

PATH = "auth/second-factor"


def log_in(
    served: Served, who: Caller, code: str | None = None, cookie: str = ""
) -> httpx2.Response:
    """A login with the right password."""
    body = {"email": who.email, "password": PASSWORD, **({"code": code} if code else {})}
    headers: Mapping[str, str] = {"cookie": cookie} if cookie else {}
    with httpx2.Client(base_url=served.base_url, timeout=60) as http:
        return http.post("/api/v1/auth/local/token", json=body, headers=headers)


class Factor:
    """An operator with a second factor that is on."""

    def __init__(self, served: Served) -> None:
        self.who = served.operator()
        begun = self.who.post(PATH, {"password": PASSWORD}).json()["secret"]
        self.secret = base64.b32decode(begun)
        # One period ahead, so that the present one is left for a login.
        answer = self.who.request("PUT", PATH, json={"code": self.code(-1)})
        self.recovery_codes = answer.json()["recovery_codes"]

    def code(self, periods: int = 0) -> str:
        return code_at(self.secret, int(time.time()) // PERIOD_SECONDS + periods)


def test_a_login_needs_a_code_once_the_first_was_confirmed(served: Served) -> None:
    """A pending factor changes nothing; one that is on asks everybody for a code."""
    who = served.operator()
    assert who.get(PATH).json() == {"state": "off", "recovery_codes_left": 0}
    secret = base64.b32decode(who.post(PATH, {"password": PASSWORD}).json()["secret"])
    assert who.get(PATH).json()["state"] == "pending"
    assert log_in(served, who).status_code == 200
    assert who.get("me").json()["second_factor"] is False
    assert who.request("PUT", PATH, json={"code": "000000x"}).status_code == 401
    step = int(time.time()) // PERIOD_SECONDS
    codes = who.request("PUT", PATH, json={"code": code_at(secret, step)}).json()["recovery_codes"]
    assert len(codes) == RECOVERY_CODES
    assert who.get("me").json()["second_factor"] is True
    refused = log_in(served, who)
    assert (refused.status_code, refused.json()["code"]) == (401, "second-factor-required")
    assert log_in(served, who, code_at(secret, step + 1)).status_code == 200


def test_a_code_counts_once_even_for_two_who_send_it_together(served: Served) -> None:
    """A code that somebody else reads and sends again is refused."""
    factor = Factor(served)
    code = factor.code(1)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: log_in(served, factor.who, code), range(4)))
    assert sorted(each.status_code for each in answers) == [200, 401, 401, 401]
    assert log_in(served, factor.who, factor.code()).status_code == 401  # an earlier period


def test_a_recovery_code_logs_in_once(served: Served) -> None:
    """Each of them replaces the app for one login."""
    factor = Factor(served)
    first, second, *_ = factor.recovery_codes
    assert log_in(served, factor.who, first).status_code == 200
    assert log_in(served, factor.who, first).status_code == 401
    assert log_in(served, factor.who, second.upper()).status_code == 200
    assert factor.who.get(PATH).json()["recovery_codes_left"] == RECOVERY_CODES - 2


def test_strangers_with_the_password_share_ten_codes_and_lock_no_known_device(
    served: Served,
) -> None:
    """Guessing is as slow from many addresses, and a device that logged in before isn't stopped."""
    factor = Factor(served)
    known = log_in(served, factor.who, factor.recovery_codes[0])
    cookie = header_of(known.headers["set-cookie"])
    attempts = served.application.login_attempts
    for number in range(MAX_ATTEMPTS):
        # Each from another address, as far as the count of passwords goes.
        attempts.succeeded("127.0.0.1", factor.who.email)
        answer = log_in(served, factor.who, f"{number:07}")
        assert answer.status_code == 401, answer.text
    attempts.succeeded("127.0.0.1", factor.who.email)
    assert log_in(served, factor.who, factor.recovery_codes[1]).status_code == 429
    again = log_in(served, factor.who, factor.recovery_codes[1], cookie)
    assert again.status_code == 200


def test_a_factor_begins_with_the_password_and_ends_with_a_code(served: Served) -> None:
    """A stolen token neither locks its operator out nor takes the factor away."""
    someone = served.operator()
    assert someone.post(PATH, {"password": "wrong"}).status_code == 401
    assert someone.request("PUT", PATH, json={"code": "123456"}).status_code == 409
    factor = Factor(served)
    again = factor.who.post(PATH, {"password": PASSWORD})
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert factor.who.post(f"{PATH}/removal", {"code": "0000000"}).status_code == 401
    assert factor.who.post(f"{PATH}/removal", {"code": factor.code()}).status_code == 204
    assert log_in(served, factor.who).status_code == 200


@pytest.mark.parametrize("code", ["", "x" * 65, 123456, None])
def test_a_code_is_a_short_text(served: Served, code: object) -> None:
    """Another form is refused with the place of the fault."""
    answer = served.operator().request("PUT", PATH, json={"code": code})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/code"
