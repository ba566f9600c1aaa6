"""Faults of an issuer, or of somebody in between: each ends without a token."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import attrs
import pytest
from tests.server.login.browsing import Browser
from tests.server.login.conftest import Place
from tests.server.login.issuer import (
    CLIENT_ID,
    OTHER_KEY,
    Issuer,
    Reply,
    confused,
    reply,
    signed,
    unsigned,
)

from tidegate_server.login import openid, outbound

Fault: TypeAlias = Callable[[Issuer], None]
HOUR = 3_600


def claims(**changed: Any) -> Fault:
    """The ID token says something else; None leaves a claim out."""
    return lambda issuer: issuer.claims.update(changed)


def token(make: Callable[[dict[str, Any]], str]) -> Fault:
    """The ID token is made otherwise."""

    def change(issuer: Issuer) -> None:
        issuer.token = make

    return change


def headed(**header: Any) -> Fault:
    """The header of the ID token has other members."""
    return token(lambda said: signed(said, **header))


def sent(path: str, change: Callable[[Reply], Reply]) -> Fault:
    """A reply is another one."""
    return lambda issuer: issuer.changed.update({path: change})


def members(path: str, **changed: Any) -> Fault:
    """A reply has other members; None leaves one out."""

    def change(right: Reply) -> Reply:
        found = {**json.loads(right.body), **changed}
        return reply({name: value for name, value in found.items() if value is not None})

    return sent(path, change)


def redirect(to: str) -> Callable[[Reply], Reply]:
    """A redirect in place of a reply."""
    return lambda _: Reply(b"{}", 302, {"location": to})


def twice(said: dict[str, Any]) -> str:
    """A token whose payload has a claim twice."""
    return signed(json.dumps(said)[:-1].encode() + b', "sub": "eve"}')


def audience_list(said: dict[str, Any]) -> str:
    return signed({**said, "aud": [CLIENT_ID, "another"]})


DISCOVERY = openid.DISCOVERY
PRIVATE = "http://169.254.169.254/latest"
FAULTS: dict[str, Fault] = {
    "nonce of another login": claims(nonce="x" * 43),
    "no nonce": claims(nonce=None),
    "another audience": claims(aud="another"),
    "a second audience": token(audience_list),
    "an audience that is a list of lists": claims(aud=[[CLIENT_ID]]),
    "an audience with ours inside": claims(aud=f"{CLIENT_ID} "),
    "issued to another client": claims(azp="another"),
    "another issuer": claims(iss="https://evil.example.test"),
    "an issuer with a slash more": lambda issuer: issuer.claims.update(iss=issuer.origin + "/"),
    "an issuer that begins alike": lambda issuer: issuer.claims.update(iss=issuer.origin + ".x"),
    "expired": claims(exp=int(time.time()) - HOUR),
    "no end": claims(exp=None),
    "an end that is a text": claims(exp="9999999999"),
    "issued in the future": claims(iat=int(time.time()) + HOUR, exp=int(time.time()) + 2 * HOUR),
    "not valid yet": claims(nbf=int(time.time()) + HOUR),
    "no subject": claims(sub=None),
    "a subject that is a number": claims(sub=7),
    "an access token of somebody else": claims(at_hash="AAAAAAAAAAAAAAAAAAAAAA"),
    "address not verified": claims(sub="new", email_verified=False),
    "address verified by a text": claims(sub="new", email_verified="true"),
    "no address": claims(sub="new", email=None),
    "alg none": token(lambda said: unsigned(said, {"alg": "none"}, b"x")),
    "alg none without a signature": token(lambda said: unsigned(said, {"alg": "none"})),
    "HS256 with the public key": token(confused),
    "another algorithm of the same key": token(lambda said: signed(said, alg="PS256")),
    "signed by another key": token(lambda said: signed(said, OTHER_KEY)),
    "a key that is not known": headed(kid="../../keys"),
    "a kid that is no text": headed(kid=7),
    "a key by address": headed(jku=f"{PRIVATE}/keys"),
    "a certificate by address": headed(x5u=f"{PRIVATE}/certificate"),
    "a key in the token": headed(jwk=OTHER_KEY.as_dict(private=False)),
    "a critical extension": headed(crit=["exp"]),
    "a packed payload": headed(zip="DEF"),
    "a token of another type": headed(typ="at+jwt"),
    "a claim twice": token(twice),
    "a payload that is no object": token(lambda _: signed(b"[]")),
    "a token in five parts": token(lambda said: signed(said) + ".x.y"),
    "a token that is too long": token(lambda said: signed({**said, "x": "x" * 9_000})),
    "no ID token": members("/token", id_token=None),
    "an ID token that is no text": members("/token", id_token=[1]),
    "a token of another kind": members("/token", token_type="mac"),
    "an error for the code": sent("/token", lambda _: reply({"error": "invalid_grant"}, 400)),
    "an error with success": sent("/token", lambda _: reply({"error": "invalid_grant"})),
    "a failure of the token endpoint": sent("/token", lambda _: reply({}, 503)),
    "a redirect of the token endpoint": sent("/token", redirect(f"{PRIVATE}/token")),
    "tokens that are no JSON": sent("/token", lambda _: Reply(b"access_token=a&token_type=bearer")),
    "tokens that are a list": sent("/token", lambda _: reply([])),
    "a member twice": sent("/token", lambda right: Reply(right.body[:-1] + b', "id_token": "x"}')),
    "an oversized answer": sent("/token", lambda _: Reply(b" " * (outbound.MAX_BYTES + 1))),
    "a packed answer": sent(
        "/token", lambda right: Reply(right.body, 200, {"content-encoding": "gzip"})
    ),
    "keys that are no keys": sent("/keys", lambda _: reply({"keys": [1, {"kty": "RSA"}]})),
    "a redirect of the keys": sent("/keys", redirect(f"{PRIVATE}/keys")),
    "a discovery of another issuer": members(DISCOVERY, issuer="https://evil.example.test"),
    "a discovery with a slash more": lambda issuer: members(DISCOVERY, issuer=issuer.origin + "/")(
        issuer
    ),
    "a discovery that redirects": sent(DISCOVERY, redirect(PRIVATE)),
    "a token endpoint elsewhere": members(DISCOVERY, token_endpoint=f"{PRIVATE}/token"),
    "a token endpoint at a user": members(DISCOVERY, token_endpoint="https://a@127.0.0.1/token"),
    "keys at a file": members(DISCOVERY, jwks_uri="file:///etc/passwd"),
    "an authorization endpoint elsewhere": members(
        DISCOVERY, authorization_endpoint="javascript:alert(1)"
    ),
    "no token endpoint": members(DISCOVERY, token_endpoint=None),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_issuer_ends_in_a_refusal(place: Place, visitor: Browser, name: str) -> None:
    """Whatever is wrong, it gives no token, no operator, and no call to another host."""
    FAULTS[name](place.issuer)
    answer = visitor.get("/auth/company/login")
    location = answer.headers["location"]
    if location.startswith("/"):
        assert location in ("/login/callback#error=refused", "/login/callback#error=unavailable")
        return
    visitor._keep(answer)
    brought = visitor.come_back(place.issuer.authorize(location))
    assert brought.keys() == {"error"}
    assert brought["error"] in ("refused", "unavailable")


def test_the_fault_is_what_is_refused(place: Place, visitor: Browser) -> None:
    """Without a fault the same login succeeds."""
    assert "access_token" in visitor.log_in(place.issuer)


@attrs.frozen
class Between:
    """The browser's parameters, which replace the issuer's."""

    change: Callable[[dict[str, str], Place], dict[str, str]]
    error: str = "refused"


ANSWERS = {
    "another state": Between(lambda brought, _: {**brought, "state": "x" * 43}),
    "no state": Between(lambda brought, _: {"code": brought["code"], "iss": brought["iss"]}),
    "no code": Between(lambda brought, _: {"state": brought["state"], "iss": brought["iss"]}),
    "a code of nobody": Between(lambda brought, _: {**brought, "code": "x"}),
    "no issuer": Between(lambda brought, _: {"code": brought["code"], "state": brought["state"]}),
    "another issuer": Between(lambda brought, place: {**brought, "iss": place.other.origin}),
    "an issuer with a slash more": Between(
        lambda brought, _: {**brought, "iss": brought["iss"] + "/"}
    ),
    "an error": Between(lambda brought, _: {**brought, "error": "server_error"}),
    "a login that was cancelled": Between(
        lambda brought, _: {"state": brought["state"], "error": "access_denied"}, "cancelled"
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_fault_on_the_way_back_ends_in_a_refusal(
    place: Place, visitor: Browser, name: str
) -> None:
    """The browser has to bring exactly what the issuer of this very login sent."""
    brought = place.issuer.authorize(visitor.begin())
    found = visitor.come_back(ANSWERS[name].change(brought, place))
    assert found == {"error": ANSWERS[name].error}


def test_a_login_ends_once(place: Place, visitor: Browser) -> None:
    """The same code and state, with the same cookie, give no second token, though the issuer takes
    the code again."""
    brought = place.issuer.authorize(visitor.begin())
    cookie = visitor.cookie
    assert "access_token" in visitor.come_back(brought)
    visitor.cookie = cookie
    assert visitor.come_back(brought) == {"error": "expired"}


def test_a_login_ends_once_also_for_many_at_once(place: Place, visitor: Browser) -> None:
    """Of callbacks that race with one state, one gets a token."""
    brought = place.issuer.authorize(visitor.begin())
    found: list[dict[str, str]] = []

    def race() -> None:
        mine = Browser(place.served, cookie=visitor.cookie)
        found.append(mine.come_back(brought))

    racing = [threading.Thread(target=race) for _ in range(6)]
    for each in racing:
        each.start()
    for each in racing:
        each.join()
    assert sorted("access_token" in each for each in found) == [False] * 5 + [True]


def test_a_login_ends_in_the_browser_that_began_it(place: Place, visitor: Browser) -> None:
    """Without the cookie, with two, with a forged one or the cookie of another login there isn't a
    token."""
    brought = place.issuer.authorize(visitor.begin())
    cookie = visitor.cookie
    other = Browser(place.served)
    other.begin()
    for wrong, error in (
        ("", "expired"),
        (cookie[:-2], "expired"),
        (("B" if cookie[0] == "A" else "A") + cookie[1:], "expired"),
        (f"{cookie}; tidegate_login={other.cookie}", "expired"),
        (other.cookie, "refused"),
    ):
        visitor.cookie = wrong
        assert visitor.come_back(brought) == {"error": error}, wrong
    visitor.cookie = cookie
    assert "access_token" in visitor.come_back(brought)


def test_an_answer_of_one_issuer_does_not_count_at_another(place: Place, visitor: Browser) -> None:
    """A login that was begun at one provider cannot end at another, and no code goes there."""
    brought = place.issuer.authorize(visitor.begin())
    assert visitor.come_back(brought, provider="other") == {"error": "refused"}
    assert not place.other.sent


def test_a_login_that_takes_too_long_is_over(
    place: Place, visitor: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After ten minutes the state is worth nothing."""
    monkeypatch.setattr("tidegate_server.login.started.LIFETIME_SECONDS", 0)
    brought = place.issuer.authorize(visitor.begin())
    assert visitor.come_back(brought) == {"error": "expired"}


def test_a_slow_answer_is_not_waited_for(
    place: Place, visitor: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of a call is bounded as a whole."""
    monkeypatch.setattr(outbound, "SECONDS", 0.2)
    over = threading.Event()
    place.issuer.changed["/token"] = lambda right: attrs.evolve(right, pause=over)
    try:
        assert visitor.log_in(place.issuer) == {"error": "unavailable"}
    finally:
        over.set()


def test_an_issuer_that_is_away_is_not_asked_by_everybody(place: Place, visitor: Browser) -> None:
    """Logins in the next seconds share the failure."""
    place.issuer.changed[DISCOVERY] = lambda _: reply({}, 500)
    for _ in range(5):
        answer = visitor.get("/auth/company/login")
        assert answer.headers["location"] == "/login/callback#error=unavailable"
    assert place.issuer.asked[DISCOVERY] == 1


def test_unknown_keys_have_the_keys_read_once_a_minute(place: Place, visitor: Browser) -> None:
    """A flood of tokens under keys that nobody knows isn't a flood of calls."""
    assert "access_token" in visitor.log_in(place.issuer)
    for number in range(20):
        place.issuer.token = lambda said, number=number: signed(said, kid=f"unknown-{number}")  # type: ignore[misc]
        assert visitor.log_in(place.issuer) == {"error": "refused"}
    assert place.issuer.asked["/keys"] == 1
    place.issuer.token = signed
    assert "access_token" in visitor.log_in(place.issuer)


def test_another_place_is_never_called(place: Place, visitor: Browser) -> None:
    """No fault brought a call to the other issuer, which runs on the same host."""
    for name in ("token_endpoint", "jwks_uri", "userinfo_endpoint"):
        place.forget()
        elsewhere = f"{place.other.origin}/{name}"
        members(DISCOVERY, **{name: elsewhere})(place.issuer)
        answer = visitor.get("/auth/company/login")
        assert answer.headers["location"] == "/login/callback#error=refused"
        assert not place.other.asked
