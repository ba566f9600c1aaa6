"""The response to a visitor for each decision, through both kinds of middleware."""

from __future__ import annotations

import pytest
from tests.edge.conftest import Fronted
from tests.edge.deciders import PROVEN, FixedDecider, deciding
from tests.integrations.asking import BROWSER, PROGRAM, ask

from tidegate import Allow, Block, Challenge, Decision
from tidegate.client.errors import (
    AuthenticationError,
    ForbiddenError,
    InvalidRequestError,
    PayloadTooLargeError,
    UnavailableError,
    UnreachableError,
)
from tidegate.errors import EventError

PROOF = "abc.def-ghi_123"
QUERY = f"service_challenge_proof={PROOF}"


def test_a_good_proof_becomes_a_cookie_and_a_clean_address(fronted: Fronted) -> None:
    """The cookie is for this host alone, out of reach of scripts, and the method is kept."""
    with fronted(FixedDecider(PROVEN)) as site:
        seen = ask(site, f"/a%20b//?x=%2F&{QUERY}&y")
    assert (seen.status, seen.header("location")) == (307, f"{site}/a%20b//?x=%2F&y")
    cookie = f"service_challenge={PROOF}; Path=/; Secure; HttpOnly; SameSite=Lax"
    assert seen.header("set-cookie") == cookie
    assert seen.header("referrer-policy") == "no-referrer"
    assert seen.header("cache-control") == "no-store"
    assert seen.header("x-site") is None


def test_a_proof_in_the_query_is_asked_about_without_the_cookie(fronted: Fronted) -> None:
    """Otherwise a good cookie would make a bad proof look good."""
    decider = FixedDecider(PROVEN)
    with fronted(decider) as site:
        ask(site, f"/?{QUERY}", BROWSER | {"cookie": "a=b; service_challenge=old"})
    (event,) = decider.asked
    assert event["request"]["query_params"] == {"service_challenge_proof": PROOF}
    assert event["request"]["cookies"] == {"a": "b"}
    assert event["return_url"] == f"{site}/"


@pytest.mark.parametrize(
    "decision",
    [
        Decision(Allow(), "no-match"),
        Decision(Challenge(redirect_url="https://t.test/c"), "policy"),
        Decision(Block(429), "policy"),
    ],
    ids=["allow", "challenge", "block"],
)
def test_a_bad_proof_is_refused_whatever_is_decided(fronted: Fronted, decision: Decision) -> None:
    """A bad proof is refused with 403, in a sentence or a document."""
    with fronted(FixedDecider(decision)) as site:
        shown, read = ask(site, f"/?{QUERY}"), ask(site, f"/?{QUERY}", PROGRAM)
    assert (shown.status, read.status) == (403, 403)
    assert shown.header("content-type") == "text/plain; charset=utf-8"
    assert read.json()["code"] == "invalid-proof"
    assert shown.header("set-cookie") is None


@pytest.mark.parametrize("proof", ["", "a%0d%0ab", "a;b", "%22", "a" * 3801, "a&" + QUERY])
def test_what_cannot_be_a_proof_is_asked_about_by_nobody(fronted: Fronted, proof: str) -> None:
    """A text that could not be a cookie, or that is there twice, is not asked about."""
    decider = FixedDecider(PROVEN)
    with fronted(decider) as site:
        seen = ask(site, f"/?service_challenge_proof={proof}")
    assert (seen.status, decider.asked) == (403, [])


def test_cookies_reach_the_decision(fronted: Fronted) -> None:
    """The proof among them, and every value of a name that is there twice."""
    decider = FixedDecider()
    with fronted(decider) as site:
        ask(site, "/", BROWSER | {"cookie": "service_challenge=x; a=1;a=2; =3; none"})
    (event,) = decider.asked
    assert event["request"]["cookies"] == {"service_challenge": "x", "a": ["1", "2"]}
    assert "cookie" not in event["request"]["headers"]


FAILURES = [UnreachableError("away"), UnavailableError(503, {}), RuntimeError("a defect")]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda each: type(each).__name__)
def test_a_failure_is_answered_with_502(fronted: Fronted, failure: Exception) -> None:
    """Unless it was set that a visitor passes."""
    with fronted(FixedDecider(failure)) as site:
        seen = ask(site, "/", PROGRAM)
    assert (seen.status, seen.json()["code"]) == (502, "no-decision")
    with fronted(FixedDecider(failure), fail_open=True) as site:
        assert ask(site, "/").header("x-site") == "1"


@pytest.mark.parametrize("url", [None, "javascript:alert(1)", "//evil.test", "https://a@b.test/"])
def test_a_challenge_that_leads_nowhere_is_a_failure(fronted: Fronted, url: str | None) -> None:
    """A challenge without a valid address counts as a failure, and sends no visitor anywhere."""
    decider = deciding(Challenge(redirect_url=url))
    with fronted(decider) as site:
        assert ask(site, "/").status == 502
    with fronted(decider, fail_open=True) as site:
        assert ask(site, "/").status == 200


@pytest.mark.parametrize(
    "refusal",
    [EventError("too many members"), InvalidRequestError(422, {}), PayloadTooLargeError(413, {})],
    ids=lambda each: type(each).__name__,
)
def test_a_visitor_cannot_choose_the_failure(fronted: Fronted, refusal: Exception) -> None:
    """A request that cannot be decided on because of what it is does not pass."""
    with fronted(FixedDecider(refusal), fail_open=True) as site:
        seen = ask(site, "/", PROGRAM)
    assert (seen.status, seen.json()["code"]) == (403, "request-refused")


@pytest.mark.parametrize("refusal", [AuthenticationError(401, {}), ForbiddenError(403, {})])
def test_with_a_wrong_key_nothing_passes(
    fronted: Fronted, refusal: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """Fail open is for an outage, and a key that the service refuses isn't one."""
    decider = FixedDecider(UnreachableError("away"))
    with fronted(decider, fail_open=True) as site:
        assert ask(site, "/").status == 200
        decider.answer = refusal
        assert [ask(site, "/").status, ask(site, f"/?{QUERY}").status] == [502, 502]
    told = [each.getMessage() for each in caplog.records if each.name == "tidegate.edge"]
    assert [each.partition(":")[0] for each in told] == [
        "no decision, failing open",
        "no decision, failing closed",
    ]


def test_failing_open_keeps_a_proof_for_later(fronted: Fronted) -> None:
    """The proof becomes the cookie unread, and the next decision reads it."""
    with fronted(FixedDecider(UnreachableError("away")), fail_open=True) as site:
        seen = ask(site, f"/a?{QUERY}")
    assert (seen.status, seen.header("location")) == (307, f"{site}/a")
    assert str(seen.header("set-cookie")).startswith(f"service_challenge={PROOF};")


def test_the_fail_mode_of_a_client_is_carried_out(fronted: Fronted) -> None:
    """Open or closed, as the client that was handed over has it."""
    with fronted(deciding(Block(503), "fail-closed")) as site:
        assert ask(site, f"/?{QUERY}").status == 503
    with fronted(deciding(Allow(), "fail-open")) as site:
        assert ask(site, f"/?{QUERY}").status == 307
        assert ask(site, "/").status == 200


@pytest.mark.parametrize(
    "header",
    [
        {"sec-purpose": "prefetch"},
        {"sec-purpose": "prefetch;prerender"},
        {"purpose": "prefetch"},
        {"x-purpose": "preview"},
        {"x-moz": "prefetch"},
    ],
)
def test_a_page_that_is_fetched_ahead_opens_no_challenge(
    fronted: Fronted, header: dict[str, str]
) -> None:
    """The browser throws the refusal away, and is challenged when somebody wants the page."""
    with fronted(deciding(Challenge(redirect_url="https://t.test/c"))) as site:
        assert ask(site, "/", {**BROWSER, **header}).status == 403
        assert ask(site, "/", BROWSER).status == 302


@pytest.mark.parametrize(("status", "sent"), [(429, 429), (599, 599), (200, 403), (99, 403)])
def test_a_block_has_a_status_that_blocks(fronted: Fronted, status: int, sent: int) -> None:
    """Any other is replaced by 403."""
    with fronted(deciding(Block(status, "no"))) as site:
        seen = ask(site, "/")
    assert (seen.status, seen.body) == (sent, b"no")


def test_a_block_without_a_body_is_a_page_with_the_reference(fronted: Fronted) -> None:
    """A browser shows it in the visitor's language; a program gets no body."""
    decision = Decision(Block(429), "policy", decision_id="01a221bf-db96-7092-a08d-1e7c1678d4ff")
    with fronted(FixedDecider(decision)) as site:
        shown, read = (
            ask(site, "/", {**BROWSER, "accept-language": "nl, de;q=0.5"}),
            ask(site, "/", PROGRAM),
        )
    assert (shown.status, shown.header("content-type")) == (429, "text/html; charset=utf-8")
    assert shown.header("content-language") == "nl"
    assert "<h1>Verzoek geblokkeerd</h1>" in shown.body.decode()
    assert f"<code>{decision.decision_id}</code>" in shown.body.decode()
    assert (read.status, read.body, read.header("content-language")) == (429, b"", None)


@pytest.mark.parametrize(
    "block",
    [Block(403, "no"), Block(403, headers={"Content-Type": "text/html"})],
    ids=["a body", "a content type"],
)
def test_a_block_of_the_tenants_own_stays_as_it_is(fronted: Fronted, block: Block) -> None:
    """The page replaces no body, not even an empty one with a type."""
    with fronted(deciding(block)) as site:
        seen = ask(site, "/", BROWSER)
    assert seen.body == block.body.encode()
    assert seen.header("content-security-policy") is None


def test_a_head_request_gets_no_body(fronted: Fronted) -> None:
    """Whatever is answered."""
    with fronted(deciding(Block(429, "no"))) as site:
        seen = ask(site, "/", method="HEAD")
    assert (seen.status, seen.body, seen.header("content-length")) == (429, b"", "2")


@pytest.mark.parametrize("host", ["", "a b", "evil.test/", "a@b.test", "[::1", "é.test", "-a.test"])
def test_a_request_without_a_host_is_refused(fronted: Fronted, host: str) -> None:
    """Nobody could be sent back to it."""
    decider = FixedDecider()
    with fronted(decider) as site:
        seen = ask(site, "/", PROGRAM, host=host.encode().decode("latin-1"))
    assert (seen.status, decider.asked) == (400, [])


def test_the_origin_may_be_set(fronted: Fronted) -> None:
    """The origin may be set for a site that cannot see the visitor's."""
    decider = FixedDecider()
    with fronted(decider, origin="https://shop.example.test") as site:
        ask(site, "/a")
    assert decider.asked[0]["return_url"] == "https://shop.example.test/a"
    assert decider.asked[0]["request"]["host"] == "shop.example.test"


def test_a_trusted_proxy_says_who_asks(fronted: Fronted) -> None:
    """Address and scheme; from anybody else they are passed over."""
    told_by = BROWSER | {
        "x-forwarded-for": "203.0.113.9, 198.51.100.7",
        "x-forwarded-proto": "https",
    }
    decider = FixedDecider()
    with fronted(decider) as site:
        ask(site, "/", told_by)
    with fronted(decider, trusted_proxies=["127.0.0.0/8"]) as site:
        ask(site, "/", told_by)
    stranger, proxy = decider.asked
    assert (stranger["request"]["client_ip"], stranger["request"]["scheme"]) == (
        "127.0.0.1",
        "http",
    )
    assert (proxy["request"]["client_ip"], proxy["request"]["scheme"]) == ("198.51.100.7", "https")


@pytest.mark.parametrize(
    "settings",
    [{"trusted_proxies": ["localhost"]}, {"origin": "shop.example"}, {"origin": "a://b"}],
)
def test_settings_that_mean_nothing_are_refused(fronted: Fronted, settings: object) -> None:
    """Settings without a meaning are refused when the middleware is made, not at a visit."""
    with pytest.raises(ValueError, match=r"network|origin"), fronted(FixedDecider(), **settings):  # type: ignore[arg-type]
        pass
