"""``/authz`` of a whole service: credential, limit, decision, record."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integrations.asking import Seen, ask
from tests.server.deciding import Deciding, Service, deciding, made

ORIGINAL = {"x-original-method": "GET", "x-forwarded-for": "203.0.113.9", "accept": "*/*"}


@pytest.fixture
def fresh(service: Service) -> Deciding:
    """A tenant of its own."""
    return service.tenant()


def authz(shop: Deciding, target: str = "/", path: str = "/authz", **more: str) -> Seen:
    """The question of nginx about a path."""
    headers = {
        "x-service-api-key": shop.key,
        "x-original-url": f"https://shop.example.test{target}",
        **ORIGINAL,
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    return ask(shop.service.base_url, path, {name: each for name, each in headers.items() if each})


def test_a_question_is_decided_on_and_recorded(fresh: Deciding) -> None:
    """A proxy's question is decided on as a call is: the third login of an address is blocked."""
    assert [authz(fresh, "/login").status for _ in range(4)] == [200, 200, 403, 403]
    assert fresh.decide("/login", "203.0.113.9")["action"]["type"] == "block"
    decisions = fresh.get("decisions")
    assert len(decisions) == 5
    assert {each["path"] for each in decisions} == {"/login"}


@pytest.mark.parametrize("key", ["", "tg_wrong"])
def test_a_proxy_without_a_key_gets_401(fresh: Deciding, key: str) -> None:
    """A proxy without a key gets 401, and nothing is decided."""
    seen = authz(fresh, x_service_api_key=key)
    assert (seen.status, seen.json()["code"]) == (401, "unauthenticated")
    assert fresh.get("decisions") == []


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND"])
def test_every_method_asks_the_same(fresh: Deciding, method: str) -> None:
    """Some proxies ask with the visitor's."""
    headers = {"x-service-api-key": fresh.key, "x-original-url": "https://a.test/", **ORIGINAL}
    assert ask(fresh.service.base_url, "/authz", headers, method=method).status == 200


def test_a_question_that_is_not_clear_is_refused(fresh: Deciding) -> None:
    """An unclear question gets 403, which is a refusal to every proxy, and nothing is decided."""
    seen = authz(fresh, x_forwarded_uri="/free")
    assert (seen.status, seen.json()["code"]) == (403, "request-refused")
    assert fresh.get("decisions") == []


@pytest.mark.parametrize(
    "target", ["/login#x", "/login\\", "/login%", "/lo gin", "/login%00", "#x"]
)
def test_a_target_that_no_client_may_send_is_refused(fresh: Deciding, target: str) -> None:
    """A site could read such a target as another than the one that was judged."""
    seen = authz(fresh, target)
    assert (seen.status, seen.json()["code"]) == (403, "request-refused")
    assert fresh.get("decisions") == []


def test_the_log_says_why_a_target_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], process: None
) -> None:
    """The line of the refusal has the reason."""
    with deciding(tmp_path, log_level="info") as service:
        assert authz(service.tenant(), "/login#x").status == 403
    assert "the path has '#'" in capfd.readouterr().err


def test_the_log_names_the_header_that_a_proxy_lacks(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], process: None
) -> None:
    """A misspelt header refuses everybody, so the reason is a warning, with what was meant."""
    with deciding(tmp_path) as service:
        headers = {"x-original-method": "GET", "x-original-uri": "/login"}
        key = service.tenant().key
        seen = ask(service.base_url, "/authz", {**headers, "x-service-api-key": key})
        unknown = ask(service.base_url, "/authz", {**headers, "x-service-api-key": "tg_x"})
        assert (seen.status, unknown.status) == (403, 401)
    said = capfd.readouterr().err
    assert "`x-original-uri` is not read, did you mean `x-original-url`?" in said
    assert "valid API key in `x-service-api-key`" in said


def test_a_request_past_the_limits_of_events_is_refused(fresh: Deciding) -> None:
    """A visitor must not be able to choose a failure: proxies may let those pass."""
    query = "&".join(f"a{number}=" for number in range(300))
    assert authz(fresh, f"/?{query}").status == 403
    assert authz(fresh, "/", cookie="a=" + "b" * 20_000).status == 403


def test_past_the_limit_of_the_key_there_is_no_decision(fresh: Deciding) -> None:
    """The proxy does then what it was set to do."""
    owner = fresh.by("Owner")
    limited = {"name": "slow", "rate_limit_per_minute": 10}
    key = made(owner.post(f"{fresh.path}/api-keys", limited))["key"]
    answers = [authz(fresh, x_service_api_key=key) for _ in range(3)]
    assert {each.status for each in answers} == {200, 502}
    assert answers[-1].json()["code"] == "no-decision"


@pytest.mark.parametrize("path", ["/authz/", "/authz/a", "/authz//a/../b?x=1"])
def test_the_path_of_the_visitor_may_stand_behind(fresh: Deciding, path: str) -> None:
    """The visitor's path may stand behind the prefix, as Envoy asks."""
    headers = {"x-service-api-key": fresh.key, "x-forwarded-proto": "https"}
    assert ask(fresh.service.base_url, path, headers, host="shop.example.test").status == 200
    (decision,) = fresh.get("decisions")
    written = path.removeprefix("/authz").partition("?")[0]
    assert fresh.get(f"decisions/{decision['decision_id']}")["event"]["request"]["path"] == written


@pytest.mark.parametrize("path", ["/authz%2fa", "/authz;a", "/AUTHZ", "//authz", "/api/v1/authz"])
def test_no_other_spelling_leads_here(fresh: Deciding, path: str) -> None:
    """The path is compared as it is written."""
    assert authz(fresh, path=path).status == 404


def test_an_agent_is_asked_for_payment(service: Service) -> None:
    """A block with status 402 and computed headers reaches proxies and callers.

    nginx gets status 403 with the same headers, since it takes no other. It is explained as it was
    recorded.
    """
    computed = {
        "crawler-price": 'agent.claims != "" ? "USD 0.01" : ""',
        "link": '"<https://shop.example.test/licence>; rel=license"',
    }
    block = {"status_code": 402, "computed_headers": computed}
    pay = {"name": "Pay", "mode": "Block", "ttl_seconds": 0, "block": block}
    clause = {"name": "agents", "expression": 'agent.claims != ""', "mitigation": "pay"}
    policy = {"name": "Agents pay", "clauses": [clause]}
    sections = {"mitigations": [pay], "policies": [policy]}
    shop = service.tenant({"apiVersion": "tidegate/v1", **sections})
    priced = {
        "crawler-price": "USD 0.01",
        "link": "<https://shop.example.test/licence>; rel=license",
    }
    forwarded = {
        "x-service-api-key": shop.key,
        "x-forwarded-method": "GET",
        "x-forwarded-proto": "https",
        "x-forwarded-host": "shop.example.test",
        "x-forwarded-uri": "/news",
        "x-forwarded-for": "203.0.113.9",
        "user-agent": "GPTBot/1.2",
    }
    for status, seen in (
        (403, authz(shop, "/news", user_agent="GPTBot/1.2")),
        (402, ask(shop.service.base_url, "/authz", forwarded)),
    ):
        assert (seen.status, {name: seen.header(name) for name in priced}) == (status, priced)
    answer = shop.decide("/news", request={"user_agent": "GPTBot/1.2"})
    assert answer["action"]["block"]["headers"] == priced
    decisions = shop.get("decisions")
    assert len(decisions) == 3
    for each in decisions:
        explained = shop.get(f"decisions/{each['decision_id']}/explain")
        assert explained["reproduced"]
        headers = explained["trace"]["headers"]
        assert next(one["value"] for one in headers) == '"USD 0.01"'
