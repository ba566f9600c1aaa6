"""The sessions of an operator: list them, end one or all."""

from __future__ import annotations

import attrs
import httpx2
from tests.server.serving import PASSWORD, Caller, Served

AGENT = "Test/1 " + "x" * 600


def log_in(served: Served, who: Caller) -> Caller:
    """The same operator with another token, from a browser of its own."""
    body = {"email": who.email, "password": PASSWORD}
    with httpx2.Client(base_url=served.base_url, timeout=60) as http:
        headers = {"user-agent": AGENT}
        answer = http.post("/api/v1/auth/local/token", json=body, headers=headers)
    return attrs.evolve(who, token=answer.json()["access_token"])


def test_a_session_says_where_it_began_and_which_is_this_one(served: Served) -> None:
    """Address, browser, times; a long user agent is cut."""
    who = served.operator()
    first, second = log_in(served, who), log_in(served, who)
    found = second.get("auth/sessions").json()
    assert [each["is_current"] for each in found] == [False, True]
    assert {each["provider"] for each in found} == {"local"}
    assert found[0]["address"] == "127.0.0.1"
    assert found[0]["user_agent"] == AGENT[:512]
    assert found[0]["created_at"] < found[0]["expires_at"]
    assert first.get("auth/sessions?limit=1").json()[0]["is_current"]


def test_a_session_that_is_ended_calls_nothing_any_longer(served: Served) -> None:
    """Its token is revoked at once, and the list is without it."""
    who = served.operator()
    stolen, mine = log_in(served, who), log_in(served, who)
    other = next(each for each in mine.get("auth/sessions").json() if not each["is_current"])
    path = f"auth/sessions/{other['session_id']}"
    assert mine.delete(path).status_code == 204
    assert stolen.get("me").status_code == 401
    assert mine.get("me").status_code == 200
    assert len(mine.get("auth/sessions").json()) == 1
    assert mine.delete(path).status_code == 404


def test_nobody_ends_the_session_of_somebody_else(served: Served) -> None:
    """It isn't found, as if it weren't there."""
    mine, other = log_in(served, served.operator()), log_in(served, served.operator())
    (session,) = other.get("auth/sessions").json()
    assert mine.delete(f"auth/sessions/{session['session_id']}").status_code == 404
    assert other.get("me").status_code == 200


def test_after_all_tokens_are_revoked_no_session_is_left(served: Served) -> None:
    """A new login has the only one."""
    who = log_in(served, served.operator())
    log_in(served, who)
    assert who.delete("auth/token?all=true").status_code == 204
    assert len(log_in(served, who).get("auth/sessions").json()) == 1
