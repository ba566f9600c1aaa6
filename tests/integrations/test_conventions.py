"""Every integration keeps the same conventions: one body each, through a server on a socket."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.integrations.asking import BROWSER, PROGRAM, ask
from tests.integrations.edges import COMMANDS, Edge, running
from tests.server.deciding import Deciding, deciding

from tidegate_server.challenge.return_url import OF_VISITOR

BAD_PROOF = "dGhpcyBpcyBubyBwcm9vZiBhdCBhbGw"
PAGE = b"A small site"
PROXIES = ("nginx", "caddy", "envoy", "haproxy")


def test_an_allowed_request_reaches_the_site(edge: Edge) -> None:
    """The site answers, and nothing is added to its answer."""
    seen = ask(edge.base_url, "/free?a=b")
    assert (seen.status, PAGE in seen.body) == (200, True)
    assert seen.header("set-cookie") is None


def test_a_blocked_request_gets_status_body_and_headers(edge: Edge) -> None:
    """A blocked request gets the mitigation's answer; nginx reads only that it is refused."""
    seen = ask(edge.base_url, "/blocked")
    assert PAGE not in seen.body
    if edge.name == "nginx":
        assert seen.status == 403
        return
    assert (seen.status, seen.json()) == (451, {"no": "not here"})
    assert seen.header("x-why") == "the law"
    assert seen.header("content-type") == "application/json"


def test_a_block_with_a_server_error_stays_a_block(edge: Edge) -> None:
    """Envoy would take a 5xx for a failure, which may let the request pass."""
    seen = ask(edge.base_url, "/closed")
    expected = 403 if edge.name in ("nginx", "envoy") else 503
    assert (seen.status, PAGE in seen.body) == (expected, False)


def test_a_block_without_a_body_is_a_page_that_names_the_decision(edge: Edge) -> None:
    """A visitor can quote the reference; nginx has pages of its own, and a program gets no page."""
    shown, read = ask(edge.base_url, "/closed"), ask(edge.base_url, "/closed", PROGRAM)
    assert b"Request blocked" not in read.body
    if edge.name != "nginx":
        assert "<h1>Request blocked</h1>" in shown.body.decode()
        assert re.search(r"<code>[0-9a-f-]{36}</code>", shown.body.decode())
        assert str(shown.header("content-security-policy")).startswith("default-src 'none'")


def test_a_browser_is_redirected_to_the_challenge(edge: Edge, shop: Deciding) -> None:
    """A browser is redirected to the service, privately, and no referrer gives away the address."""
    seen = ask(edge.base_url, "/challenged")
    assert seen.status == 302
    challenge = f"{shop.service.base_url}/api/v1/challenge/"
    assert str(seen.header("location")).startswith(challenge)
    assert seen.header("cache-control") == "no-store"
    assert seen.header("referrer-policy") == "no-referrer"


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", PROGRAM),
        ("POST", PROGRAM | {"accept": "text/html"}),
        ("GET", BROWSER | {"sec-fetch-mode": "cors"}),
    ],
    ids=["wants no page", "sends a form by a script", "fetches"],
)
def test_a_program_gets_a_document_with_the_address(
    edge: Edge, shop: Deciding, method: str, headers: dict[str, str]
) -> None:
    """A redirect would lead a program to a page that it cannot use."""
    seen = ask(edge.base_url, "/challenged", headers, method=method, body=b"")
    assert (seen.status, seen.header("content-type")) == (403, "application/problem+json")
    problem = seen.json()
    assert problem["code"] == "challenge-required"
    assert problem["redirect_url"].startswith(f"{shop.service.base_url}/api/v1/challenge/")


def test_a_browser_that_sends_a_form_is_redirected(edge: Edge) -> None:
    """Somebody looks at a page that is to come, whatever the method."""
    assert ask(edge.base_url, "/challenged", method="POST", body=b"a=b").status == 302


@pytest.mark.parametrize(
    "proof", [BAD_PROOF, "", "%0d%0aset-cookie:a=b", f"{BAD_PROOF}&service_challenge_proof=x", "é"]
)
def test_a_bad_proof_in_the_query_is_refused(edge: Edge, proof: str) -> None:
    """A bad proof gets 403, on a path that everybody may see too; it becomes no cookie."""
    target = f"/free?service_challenge_proof={proof}".encode().decode("latin-1")
    if edge.name == "envoy" and not proof.isascii():
        return  # Envoy itself refuses such a target.
    seen = ask(edge.base_url, quoted(target), headers=BROWSER)
    assert (seen.status, PAGE in seen.body) == (403, False)
    assert seen.header("set-cookie") is None


def quoted(target: str) -> str:
    """The target in a form for ``http.client``, which takes ASCII only."""
    return "".join(each if each.isascii() else f"%{ord(each):02X}" for each in target)


def test_the_name_of_the_parameter_may_be_encoded(edge: Edge) -> None:
    """``service%5Fchallenge%5Fproof`` is the same parameter."""
    seen = ask(edge.base_url, f"/free?service%5Fchallenge%5Fproof={BAD_PROOF}")
    assert seen.status == 403


def test_a_bad_cookie_is_no_reason_to_refuse(edge: Edge) -> None:
    """The request is decided on as if the cookie were not there."""
    headers = BROWSER | {"cookie": f"a=b; service_challenge={BAD_PROOF}"}
    assert ask(edge.base_url, "/free", headers).status == 200
    assert ask(edge.base_url, "/challenged", headers).status == 302


def test_a_cookie_cannot_stand_in_for_a_bad_proof(edge: Edge) -> None:
    """A proof in the query is verified alone, without the cookie."""
    headers = BROWSER | {"cookie": f"service_challenge={BAD_PROOF}"}
    seen = ask(edge.base_url, f"/free?service_challenge_proof={BAD_PROOF}", headers)
    assert seen.status == 403


def test_the_event_is_the_request_as_it_was_asked(edge: Edge, shop: Deciding) -> None:
    """Method, path, parameters, headers, the exact address and the visitor's own."""
    target = "/challenged/a%20b%2Fc?x=1&y=%2F..%2f&z&x=2"
    headers = PROGRAM | {
        "x-forwarded-for": "203.0.113.9",
        "x-service-api-key": "tg_guess",
        "x-original-protocol": "HTTP/3",
    }
    problem = ask(edge.base_url, target, headers, method="PUT", body=b"").json()
    decision = shop.get(f"decisions/{problem['redirect_url'].rpartition('/')[2]}")
    event, request = decision["event"], decision["event"]["request"]
    # A proxy's own word for the host is the visitor's.
    mark = OF_VISITOR if edge.name in PROXIES else ""
    assert event["return_url"] == edge.base_url + target + mark
    assert (request["method"], request["path"]) == ("PUT", "/challenged/a%20b%2Fc")
    assert request["query_params"] == {"x": ["1", "2"], "y": "/../", "z": ""}
    assert request["protocol"] == "HTTP/1.1"
    assert request["headers"]["user-agent"] == PROGRAM["user-agent"]
    assert "x-service-api-key" not in request["headers"]
    assert ("x-original-protocol" in request["headers"]) is (edge.name not in PROXIES)
    assert "cookie" not in request["headers"]
    seen, _ = decision["entities"][0]["key"]
    assert seen != "203.0.113.9"
    # For a visitor on its own machine Envoy gives the address of that machine.
    assert edge.name == "envoy" or seen == "127.0.0.1"


def test_a_visitor_cannot_choose_the_path_that_is_judged(edge: Edge) -> None:
    """Headers by which proxies tell addresses are the proxy's, whoever sends them."""
    for name in ("x-original-url", "x-forwarded-uri", "x-rewrite-url", "x-envoy-original-path"):
        for value in ("/free", f"{edge.base_url}/free"):
            sent = BROWSER | {name: value, "x-original-method": "GET"}
            assert ask(edge.base_url, "/blocked", sent).status in (403, 451)


@pytest.fixture(scope="module")
def cut_off(
    tmp_path_factory: pytest.TempPathFactory, process: None, proxy: None, node: None
) -> Iterator[dict[str, Edge]]:
    """Each integration, after a service that answered it was stopped."""
    directory = tmp_path_factory.mktemp("cut-off")
    with ExitStack() as stack:
        with deciding(directory / "data") as alone:
            key, edges = alone.tenant().key, {}
            for name in COMMANDS:
                place = directory / name
                place.mkdir()
                edges[name] = stack.enter_context(running(name, alone.base_url, key, place))
                assert ask(edges[name].base_url, "/").status == 200
        yield edges


@pytest.mark.parametrize("name", COMMANDS)
def test_without_the_service_a_visitor_gets_502(name: str, cut_off: dict[str, Edge]) -> None:
    """Nothing passes, and the answer says what is wrong."""
    seen = ask(cut_off[name].base_url, "/")
    assert (seen.status, PAGE in seen.body) == (502, False)


def test_a_wrong_key_lets_nothing_pass(edge: Edge, shop: Deciding, tmp_path: Path) -> None:
    """A wrong key refuses visitors, so that its owner notices."""
    with running(edge.name, shop.service.base_url, "tg_wrong_key", tmp_path) as wrong:
        seen = ask(wrong.base_url, "/")
        expected = 401 if edge.name in ("caddy", "envoy", "haproxy") else 502
        assert (seen.status, PAGE in seen.body) == (expected, False)


def test_no_log_has_a_proof(edge: Edge) -> None:
    """Neither the integration's nor its server's, which would write the whole address."""
    ask(edge.base_url, "/free?shown=1&service_challenge_proof=UNMISTAKABLEproof")
    ask(edge.base_url, "/free", BROWSER | {"cookie": "service_challenge=UNMISTAKABLEproof"})
    assert "UNMISTAKABLE" not in edge.log.read_text()
