"""Login at an issuer of OpenID Connect that does everything right."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from tests.server.login.browsing import Browser, me
from tests.server.login.conftest import Place
from tests.server.login.issuer import CLIENT_ID, KEY, OTHER_KEY, reply, signed


def test_a_login_ends_in_a_token(place: Place, visitor: Browser) -> None:
    """The token stands for the person whom the issuer named, and counts for eight hours."""
    brought = visitor.log_in(place.issuer)
    assert brought["expires_in"] == "28800"
    found = me(place.served, brought["access_token"])
    assert found.status_code == 200
    assert (found.json()["name"], found.json()["email"]) == ("Ann", "ann@example.test")


def test_the_browser_is_sent_with_what_binds_the_login(place: Place, visitor: Browser) -> None:
    """State, nonce and challenge are new each time; the cookie is hidden from scripts."""
    seen = []
    for _ in range(2):
        answer = visitor.get("/auth/company/login")
        asked = parse_qs(urlsplit(answer.headers["location"]).query)
        assert asked["response_type"] == ["code"]
        assert asked["client_id"] == [CLIENT_ID]
        assert asked["scope"] == ["openid email profile"]
        assert asked["code_challenge_method"] == ["S256"]
        assert asked["redirect_uri"] == [f"{place.served.base_url}/auth/company/callback"]
        seen.append((asked["state"], asked["nonce"], asked["code_challenge"]))
        cookie = answer.headers["set-cookie"]
        assert cookie.endswith("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax")
        assert answer.headers["cache-control"] == "no-store"
    assert all(first != second for first, second in zip(*seen, strict=True))


def test_the_same_person_is_the_same_operator(place: Place, visitor: Browser) -> None:
    """Issuer and subject name an operator; a new address changes nothing."""
    first = me(place.served, visitor.log_in(place.issuer)["access_token"]).json()
    place.issuer.claims = {"email": "ann.smith@example.test", "name": "Ann Smith"}
    second = me(place.served, visitor.log_in(place.issuer)["access_token"]).json()
    assert second["user_id"] == first["user_id"]


def test_an_address_in_the_user_info_counts(place: Place, visitor: Browser) -> None:
    """Issuers may keep claims for the user info, which has to be of the same person."""
    place.issuer.claims = {"sub": "eve", "email": None, "email_verified": None}
    found = {"sub": "eve", "email": "eve@example.test", "email_verified": True, "name": "Eve"}
    place.issuer.changed["/userinfo"] = lambda _: reply(found)
    answer = me(place.served, visitor.log_in(place.issuer)["access_token"]).json()
    assert (answer["email"], answer["name"]) == ("eve@example.test", "Eve")


def test_keys_may_change(place: Place, visitor: Browser) -> None:
    """A key that is not known has the keys read again."""
    place.issuer.changed["/keys"] = lambda _: reply({"keys": [OTHER_KEY.as_dict(private=False)]})
    place.issuer.token = lambda claims: signed(claims, OTHER_KEY, kid="other")
    assert "access_token" in visitor.log_in(place.issuer)


def test_the_only_key_needs_no_name(place: Place, visitor: Browser) -> None:
    """A token without ``kid`` is checked by the one key there is."""
    place.issuer.token = lambda claims: signed(claims, kid=None)
    assert "access_token" in visitor.log_in(place.issuer)


def test_one_of_several_keys_needs_its_name(place: Place, visitor: Browser) -> None:
    """No key is tried after another."""
    keys = [each.as_dict(private=False) for each in (KEY, OTHER_KEY)]
    place.issuer.changed["/keys"] = lambda _: reply({"keys": keys})
    place.issuer.token = lambda claims: signed(claims, kid=None)
    assert visitor.log_in(place.issuer) == {"error": "refused"}


def test_a_path_of_the_server_comes_next(place: Place, visitor: Browser) -> None:
    """The page goes on to a path; an address elsewhere is passed over."""
    assert visitor.log_in(place.issuer, "?next=/console/policies?x=1")["next"] == (
        "/console/policies?x=1"
    )
    for elsewhere in ("//x.test", "https://x.test", "/%5Cx.test", "%09//x.test", "/%0d%0ax", "x"):
        assert "next" not in visitor.log_in(place.issuer, f"?next={elsewhere}")


def test_other_parameters_are_passed_over(place: Place, visitor: Browser) -> None:
    """Issuers add parameters of their own (RFC 6749, section 4.1.2)."""
    brought = place.issuer.authorize(visitor.begin())
    assert "access_token" in visitor.come_back({**brought, "session_state": "x", "hd": "y"})
