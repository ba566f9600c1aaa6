"""The questions of proxies, by the headers that their documentation says they send."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.edge.deciders import PROVEN

from tidegate import Allow, Block, Challenge, Decision
from tidegate.client.errors import UnreachableError
from tidegate.edge.conventions import Boundary
from tidegate.edge.forward_auth import Dialect, UnclearInquiryError, read_inquiry
from tidegate.errors import EventError

Headers = Sequence[tuple[str, str]]

VISITOR: Headers = (
    ("user-agent", "Mozilla/5.0"),
    ("accept", "text/html"),
    ("cookie", "service_challenge=P; a=b"),
    ("x-caf\u00c3\u00a9", "\u00c3\u00a9"),
)
"""Values have a character a byte, as servers hand them over."""
NGINX: Headers = (
    ("x-service-api-key", "K"),
    ("x-original-method", "POST"),
    ("x-original-url", "https://shop.example.test:8443/a%20b?x=1&y=%2F"),
    ("x-forwarded-for", "203.0.113.9"),
    ("host", "tidegate"),
    ("connection", "close"),
    *VISITOR,
)
TRAEFIK: Headers = (
    ("x-service-api-key", "K"),
    ("x-forwarded-method", "POST"),
    ("x-forwarded-proto", "https"),
    ("x-forwarded-host", "shop.example.test:8443"),
    ("x-forwarded-uri", "/a%20b?x=1&y=%2F"),
    ("x-forwarded-for", "203.0.113.9"),
    ("x-forwarded-port", "8443"),
    ("x-forwarded-server", "proxy"),
    ("x-real-ip", "203.0.113.9"),
    ("host", "127.0.0.1:8080"),
    *VISITOR,
)
CADDY: Headers = (
    ("x-service-api-key", "K"),
    ("x-forwarded-method", "POST"),
    ("x-forwarded-proto", "https"),
    ("x-forwarded-host", "shop.example.test:8443"),
    ("x-forwarded-uri", "/a%20b?x=1&y=%2F"),
    ("x-forwarded-for", "203.0.113.9"),
    ("host", "shop.example.test:8443"),
    *VISITOR,
)
ENVOY: Headers = (
    ("x-service-api-key", "K"),
    ("host", "shop.example.test:8443"),
    ("content-length", "0"),
    ("x-forwarded-proto", "https"),
    ("x-forwarded-for", "203.0.113.9"),
    ("x-request-id", "19d2a5d5-6e67-4d0c-b216-417455293d0d"),
    ("x-envoy-internal", "true"),
    *VISITOR,
)
ASKED = {
    "nginx": ("GET", "/authz", "", NGINX, Dialect.AUTH_REQUEST),
    "traefik": ("GET", "/authz", "", TRAEFIK, Dialect.FORWARD_AUTH),
    "caddy": ("GET", "/authz", "", CADDY, Dialect.FORWARD_AUTH),
    "envoy": ("POST", "/authz/a%20b", "x=1&y=%2F", ENVOY, Dialect.EXT_AUTHZ),
}
"""Method, path, query and headers of a proxy's question, and its dialect."""
ALLOW = Decision(Allow(), "no-match")
CHALLENGE = Decision(Challenge(redirect_url="https://tidegate.test/c"), "policy")


@pytest.mark.parametrize("proxy", ASKED)
def test_every_proxy_asks_about_the_same_request(proxy: str) -> None:
    """Every proxy asks about the visitor's own request, without what the proxy adds for itself."""
    method, path, query, headers, dialect = ASKED[proxy]
    inquiry = read_inquiry(method, path, query, headers)
    event = inquiry.event()
    request = event["request"]
    assert inquiry.dialect is dialect
    assert event["return_url"] == "https://shop.example.test:8443/a%20b?x=1&y=%2F"
    assert (request["method"], request["path"]) == ("POST", "/a%20b")
    assert (request["scheme"], request["host"]) == ("https", "shop.example.test:8443")
    assert request["query_params"] == {"x": "1", "y": "/"}
    assert request["cookies"] == {"service_challenge": "P", "a": "b"}
    assert request["headers"]["host"] == "shop.example.test:8443"
    assert request["headers"]["x-forwarded-for"] == "203.0.113.9"
    assert "é" in request["headers"].values()
    ours = {"x-service-api-key", "x-original-url", "x-forwarded-uri", "content-length", "cookie"}
    assert not ours & request["headers"].keys()
    assert "client_ip" not in request


def with_(headers: Headers, **changes: str | None) -> Headers:
    """Headers of which some are changed, or left out."""
    named = {name.replace("_", "-"): value for name, value in changes.items()}
    kept = [pair for pair in headers if pair[0] not in named]
    return [*kept, *((name, value) for name, value in named.items() if value is not None)]


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/authz", VISITOR),
        ("/authz", with_(NGINX, x_forwarded_uri="/free")),
        ("/authz", with_(TRAEFIK, x_original_url="https://shop.example.test/free")),
        ("/authz", with_(NGINX, x_original_method=None)),
        ("/authz", with_(NGINX, x_original_method="CONNECT")),
        ("/authz", with_(TRAEFIK, x_forwarded_method="connect")),
        ("/authz", [*NGINX, ("x-original-url", "https://shop.example.test/free")]),
        ("/authz", [*TRAEFIK, ("x-forwarded-host", "evil.test")]),
        ("/authz", with_(NGINX, x_original_url="/a")),
        ("/authz", with_(NGINX, x_original_url="ftp://shop.example.test/")),
        ("/authz", with_(NGINX, x_original_url="https://a@evil.test/")),
        ("/authz", with_(NGINX, x_original_url="https://shop.example.test")),
        ("/authz", with_(TRAEFIK, x_forwarded_uri="evil.test/")),
        ("/authz", with_(TRAEFIK, x_forwarded_proto="javascript")),
        ("/authz", with_(TRAEFIK, x_forwarded_host="evil.test/\r\na: b")),
        ("/authz/a", with_(ENVOY, x_forwarded_proto=None)),
        ("/authz/a", with_(ENVOY, host=None)),
    ],
)
def test_a_question_that_is_not_clear_is_refused(path: str, headers: Headers) -> None:
    """A question that names two addresses is refused: a visitor could have added the other."""
    with pytest.raises(UnclearInquiryError):
        read_inquiry("GET", path, "", headers)


ODD_PATHS = (
    *(
        "/admin#x",
        "/#",
        "/a b",
        "/a\tb",
        "/a\x7fb",
        "/a\x00",
        "/a\\..\\b",
        "/\\",
        "/adm\xe9",
        "/a\xa0",
    ),
    *("/%", "/%4", "/%zz", "/a%u0041", "/%%41", "/a%00b", "/a%0", "/%+1"),
)
GOOD_PATHS = (
    *("/", "//a//", "/a;b=c/d", "/a%20b", "/%23", "/%5c", "/%2f", "/a/../b", "/%2e%2e/a", "/%250"),
    *("/!$&'()*+,-.:=@_~", '/"<>[]^`{|}', "/%FF", "/%0a"),
)


def asked_by_each(
    path: str, query: str = "", host: str = "a.test"
) -> list[tuple[str, str, Headers]]:
    """Path, query and headers of each dialect's question about an address."""
    target = f"{path}?{query}" if query else path
    return [
        ("/authz", "", with_(NGINX, x_original_url=f"https://{host}{target}")),
        ("/authz", "", with_(TRAEFIK, x_forwarded_uri=target, x_forwarded_host=host)),
        (f"/authz{path}", query, with_(ENVOY, host=host)),
    ]


@pytest.mark.parametrize("path", ODD_PATHS)
def test_a_path_that_a_proxy_could_read_otherwise_is_refused(path: str) -> None:
    """A path that no client may send, or that proxies read in several ways, is refused to each."""
    for where, query, headers in asked_by_each(path):
        with pytest.raises(UnclearInquiryError, match="the path has"):
            read_inquiry("GET", where, query, headers)


@pytest.mark.parametrize("path", GOOD_PATHS)
def test_a_path_is_judged_as_it_was_written(path: str) -> None:
    """Every other path is judged as it was written, in each dialect."""
    for where, query, headers in asked_by_each(path):
        assert read_inquiry("GET", where, query, headers).visit.path == path


@pytest.mark.parametrize("query", ["a#b", "a b", "a\tb", "\x7f", "\x00", "q=\xe9"])
def test_a_query_that_no_client_may_send_is_refused(query: str) -> None:
    """A query is visible ASCII without a fragment behind it; browsers leave the rest as it is."""
    for where, rest, headers in asked_by_each("/a", query):
        with pytest.raises(UnclearInquiryError, match="the query has"):
            read_inquiry("GET", where, rest, headers)
    for where, rest, headers in asked_by_each("/a", "q=100%&p=\\{}|^`%zz%00/../?"):
        assert read_inquiry("GET", where, rest, headers).visit.query.startswith("q=100%")


@pytest.mark.parametrize(
    "path", ["/a/..%2fb", "/a%2f..", "/a%2F%2e%2E%2fb", "/%2e%2fa", "/a/%2f.", "/..%2F", "/a%2f./b"]
)
def test_behind_envoy_no_dot_segment_is_next_to_an_encoded_slash(path: str) -> None:
    """Envoy finds its route without decoding a slash, so it would not see the dot segment."""
    *others, envoy = asked_by_each(path)
    for where, query, headers in others:
        assert read_inquiry("GET", where, query, headers).visit.path == path
    with pytest.raises(UnclearInquiryError, match="dot segment"):
        read_inquiry("GET", envoy[0], envoy[1], envoy[2])
    for good in ("/a%2fb", "/..a%2fb", "/a%2f..b", "/a%2f%2fb", "/a/%2f/"):
        assert read_inquiry("GET", f"/authz{good}", "", ENVOY).visit.path == good


@pytest.mark.parametrize(
    "host",
    [
        *("", ".", "a..test", "a.test..", "a.test:", "a.test:65536", "a.test:+80", "a.test:8 0"),
        *("u@a.test", "a.test,b.test", "a.test b.test", "a%2etest", "a.test\\b", "b\xfccher.test"),
        *("[::1", "[:::1]", "[::1]x", "::1", "[1.2.3.4]", "[v1.a]", "[]", "-a.test", "a.test-"),
    ],
)
def test_a_host_that_others_could_read_otherwise_is_refused(host: str) -> None:
    """A host is a name or an address in brackets, with a port that there can be."""
    for where, query, headers in asked_by_each("/a", host=host):
        with pytest.raises(UnclearInquiryError):
            read_inquiry("GET", where, query, headers)


@pytest.mark.parametrize(
    "host",
    [
        "a.test",
        "A.Test.",
        "a.test.:80",
        "a_b.test:65535",
        "127.0.0.1:1",
        "[::1]:80",
        "[2001:db8::1]",
    ],
)
def test_a_host_is_judged_as_it_was_written(host: str) -> None:
    """A final dot, a port and capitals are a host's own; rules see its name without them."""
    for where, query, headers in asked_by_each("/a", host=host):
        assert read_inquiry("GET", where, query, headers).event()["request"]["host"] == host


def test_behind_envoy_the_headers_of_other_proxies_mean_nothing() -> None:
    """Envoy puts its address in the path, where a visitor cannot put another."""
    forged = with_(ENVOY, x_original_url="https://evil.test/free", x_forwarded_uri="/free")
    assert read_inquiry("GET", "/authz/judged", "", forged).visit.path == "/judged"


def answered(proxy: str, decision: Decision, query: str = "") -> tuple[int, dict[str, str]]:
    """Status and headers of the answer to a page's request."""
    path = f"/a{query}"
    asked = {
        "nginx": ("/authz", "", with_(NGINX, x_original_url=f"https://shop.example.test{path}")),
        "traefik": ("/authz", "", with_(TRAEFIK, x_forwarded_uri=path, x_forwarded_method="GET")),
        "envoy": ("/authz/a", query.removeprefix("?"), ENVOY),
    }
    where, rest, headers = asked[proxy]
    headers = with_(headers, **({"x_original_method": "GET"} if proxy == "nginx" else {}))
    reply = read_inquiry("GET", where, rest, headers).decided(Boundary(False), decision)
    return reply.status, dict(reply.headers)


@pytest.mark.parametrize("proxy", ["nginx", "traefik", "envoy"])
def test_an_allowed_request_passes(proxy: str) -> None:
    """An allowed request gets 200, which every proxy knows."""
    assert answered(proxy, ALLOW) == (200, {"cache-control": "no-store"})


def test_nginx_is_told_in_headers_where_to_send_a_browser() -> None:
    """nginx reads only 401 and 403, and takes nothing else of an answer by itself."""
    status, headers = answered("nginx", CHALLENGE)
    assert (status, headers["x-service-location"]) == (401, "https://tidegate.test/c")
    assert "location" not in headers


def test_nginx_is_told_in_a_header_what_to_tell_a_program() -> None:
    """A document, on one line of ASCII."""
    headers = with_(NGINX, accept="*/*")
    reply = read_inquiry("GET", "/authz", "", headers).decided(Boundary(False), CHALLENGE)
    problem = str(reply.header("x-service-problem"))
    assert reply.status == 401
    assert problem.encode() == reply.body
    assert problem.isascii()
    assert problem.isprintable()


@pytest.mark.parametrize("status", [401, 404, 429, 503])
def test_nginx_sees_every_block_as_403(status: int) -> None:
    """A 401 would be read as a challenge, another status as a failure."""
    body = '{"code":"challenge-required"}'
    status_seen, headers = answered("nginx", Decision(Block(status, body), "policy"))
    assert (status_seen, "x-service-problem" in headers) == (403, False)


def test_other_proxies_hand_on_what_they_are_answered() -> None:
    """Redirects, refusals, cookies."""
    assert answered("traefik", CHALLENGE)[0] == 302
    assert answered("traefik", Decision(Block(503), "policy"))[0] == 503
    assert answered("envoy", Decision(Block(429), "policy"))[0] == 429


def test_a_block_is_no_failure_to_envoy() -> None:
    """Envoy would let a failure pass where it is set to fail open."""
    assert answered("envoy", Decision(Block(503), "policy"))[0] == 403


@pytest.mark.parametrize(("proxy", "status"), [("nginx", 401), ("traefik", 307), ("envoy", 307)])
def test_a_good_proof_gives_every_proxy_the_cookie(proxy: str, status: int) -> None:
    """A good proof gives every proxy the cookie and the clean address."""
    status_seen, headers = answered(proxy, PROVEN, "?service_challenge_proof=P&x=1")
    assert status_seen == status
    assert headers["set-cookie"].startswith("service_challenge=P; Path=/; Secure; HttpOnly;")
    where = headers["x-service-location" if proxy == "nginx" else "location"]
    assert where.endswith("/a?x=1")


@pytest.mark.parametrize("proxy", ASKED)
def test_a_failure_is_told_from_a_request_that_cannot_be_read(proxy: str) -> None:
    """A failure that a visitor can cause is answered with 403, which no proxy lets pass."""
    method, path, query, headers, _ = ASKED[proxy]
    inquiry = read_inquiry(method, path, query, headers)
    assert inquiry.failed(Boundary(False), UnreachableError("away")).status == 502
    assert inquiry.failed(Boundary(False), EventError("too many")).status == 403
