"""Hostile addresses, cookies, headers and decisions: no foreign redirect, no header of theirs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from tests.client.scripted import ScriptedServer, reply
from tests.edge import serving
from tests.edge.conftest import Fronted, asgi_site
from tests.edge.deciders import PROVEN, FixedDecider, deciding
from tests.integrations.asking import BROWSER, Seen, ask
from tests.integrations.edges import Edge, running
from tests.shared_data import shared_lines

from tidegate import AsyncClient, Block, Challenge
from tidegate.edge import AsgiMiddleware

PROOF = "service_challenge_proof=P"
ADDRESSES = [
    str(line["s"])
    for name in ("open_redirect", "crlf", "path_traversal")
    for line in shared_lines(f"data/adversarial/payloads/{name}.jsonl")[:200]
]
USUAL = {
    *("content-type", "content-length", "x-content-type-options", "cache-control", "date"),
    *("server", "referrer-policy", "location", "set-cookie", "connection", "keep-alive"),
}
"""Headers that an answer may have."""


def written(text: str) -> str:
    """A target that a server takes: with a slash in front, and no character that ends a line."""
    target = quote(text, safe="".join(map(chr, range(0x21, 0x7F))))
    return target if target.startswith("/") else f"/{target}"


@pytest.fixture(scope="module")
def proven_site() -> Iterator[str]:
    """A site to which every proof is good."""
    with serving.asgi(AsgiMiddleware(asgi_site, FixedDecider(PROVEN))) as site:
        yield site


def test_a_clean_address_is_on_the_site_itself(proven_site: str) -> None:
    """Whatever stands in the path or the query, in every spelling."""
    for text in ADDRESSES:
        target = written(text).replace("#", "%23")
        path, mark, query = target.partition("?")
        for asked in (
            f"{path}?{query}&{PROOF}" if mark else f"{path}?{PROOF}",
            f"/?u={path}&{PROOF}",
        ):
            seen = ask(proven_site, asked)
            if seen.status == 400:
                continue  # The server itself refuses such a target.
            where = str(seen.header("location"))
            assert where.startswith(proven_site + "/"), text
            assert urlsplit(where).netloc == urlsplit(proven_site).netloc, text
            assert {name for name, _ in seen.headers} <= USUAL, text


def test_a_hostile_host_never_becomes_an_address_to_go_to() -> None:
    """A hostile host is refused, or the address is on that very host."""
    decider = FixedDecider(PROVEN)
    with serving.asgi(AsgiMiddleware(asgi_site, decider)) as site:
        for line in shared_lines("data/adversarial/url/return_url_verdicts.jsonl"):
            text = line["return_url"].encode("utf-8", "surrogatepass").decode("latin-1")
            for host in (
                text,
                text.partition("://")[2],
                text.partition("://")[2].partition("/")[0],
            ):
                if not host or re.search(r"[\r\n]", host):
                    continue
                seen = ask(site, f"/?{PROOF}", host=host)
                if seen.status != 400:
                    assert seen.header("location") == f"http://{host}/"


def test_hostile_cookies_reach_the_decision_and_nothing_else(fronted: Fronted) -> None:
    """Only the pass's own name is read as the pass, and no cookie stops a request."""
    proof, decider = "PROOFproof", FixedDecider()
    with fronted(decider) as site:
        for line in shared_lines("data/adversarial/cookies/cookie_header.jsonl"):
            text = re.sub(r"\{PROOF\w*\}", proof, line["header"])
            decider.asked.clear()
            seen = ask(site, "/", {"cookie": text.encode().decode("latin-1")})
            if not decider.asked:
                assert seen.status in (400, 431), line  # The server itself refuses it.
                continue
            (event,) = decider.asked
            named = event["request"]["cookies"].get("service_challenge")
            pairs = [pair.partition("=") for pair in text.split(";")]
            own = [
                value.strip()
                for name, mark, value in pairs
                if mark and name.strip() == "service_challenge"
            ]
            assert ([named] if isinstance(named, str) else named or []) == own, line


BLOCKS = [
    line for line in shared_lines("data/adversarial/headers/block_action.jsonl") if "name" in line
]


def test_hostile_headers_of_a_block_are_left_out(fronted: Fronted) -> None:
    """The visitor stays blocked, and no header frames, splits or forges."""
    for line in BLOCKS:
        with fronted(deciding(Block(429, "no", {line["name"]: line["value"]}))) as site:
            check_blocked(ask(site, "/"), line)


def check_blocked(seen: Seen, line: dict[str, Any]) -> None:
    """Whether a hostile header came through."""
    assert (seen.status, seen.body) == (429, b"no"), line
    names = {name for name, _ in seen.headers}
    assert "set-cookie" not in names, line
    if line["at_definition"].startswith("reject") and "documented" not in line["at_definition"]:
        assert names <= USUAL, line
        assert dict(seen.headers).get("connection", "close") in ("close", "keep-alive"), line


def test_hostile_redirects_lead_nowhere(fronted: Fronted) -> None:
    """A challenge is at an absolute http or https address, in visible ASCII, of a host alone."""
    texts = [
        *ADDRESSES,
        "https://t.test/\r\na: b",
        "https://t.test/\x00",
        "https://t.test\\@evil.test/",
    ]
    for text in texts[:: max(1, len(texts) // 60)]:
        if re.fullmatch(r"https?://[\w.-]+(:\d+)?([/?#][!-\[\]-~]*)?", text):
            continue
        with fronted(deciding(Challenge(redirect_url=text))) as site:
            assert ask(site, "/").status == 502, text


@pytest.fixture(scope="module")
def scripted() -> Iterator[ScriptedServer]:
    """A service that answers as the test says."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module", params=["python", "javascript"])
def client_site(
    request: pytest.FixtureRequest,
    scripted: ScriptedServer,
    tmp_path_factory: pytest.TempPathFactory,
    node: None,
) -> Iterator[str]:
    """A site behind that service, in both languages."""
    if request.param == "python":
        client = AsyncClient(scripted.base_url, "key")
        with serving.asgi(AsgiMiddleware(asgi_site, client)) as site:
            yield site
        return
    directory: Path = tmp_path_factory.mktemp("express")
    edge: Edge
    with running("express", scripted.base_url, "key", directory) as edge:
        yield edge.base_url


ODD: list[object] = [
    [], "allow", None, {}, {"action": "allow"}, {"action": {"type": "Allow"}},
    {"action": {"type": None}},
    {"action": {"type": "challenge"}}, {"action": {"type": "challenge", "challenge": {}}},
    {"action": {"type": "challenge", "challenge": {"redirect_url": 1}}},
    {"action": {"type": "challenge", "challenge": {"redirect_url": "/relative"}}},
    {"action": {"type": "challenge", "challenge": {"redirect_url": "javascript:alert(1)"}}},
    {"action": {"type": "challenge", "challenge": {"redirect_url": "https://a.test\\@b.test/"}}},
    {"action": {"type": "block", "block": []}}, {"action": {"type": "block", "block": {"body": 1}}},
    {"action": {"type": "block", "block": {"headers": []}}},
    *({"action": {"type": "block", "block": {"status_code": code}}}
      for code in (200, 99, -1, 1000.0, 403.5, "403", True)),
]  # fmt: skip


def test_an_odd_decision_is_answered_with_502(client_site: str, scripted: ScriptedServer) -> None:
    """Whatever shape it has."""
    for content in ODD:
        scripted.always = reply(200, content)
        assert ask(client_site, "/").status == 502, content


@pytest.mark.parametrize("status", [204, 302, 401, 403, 404, 429, 500, 503])
def test_an_odd_status_is_answered_with_502(
    client_site: str, scripted: ScriptedServer, status: int
) -> None:
    """Though it comes with an allowing body; a redirect is not followed."""
    allow = {"action": {"type": "allow"}}
    scripted.always = reply(status, allow, location="http://127.0.0.1:1/")
    assert ask(client_site, "/").status == 502


def test_a_block_from_the_wire_is_looked_at_again(
    client_site: str, scripted: ScriptedServer
) -> None:
    """Every hostile header is left out, in both languages."""
    for line in BLOCKS:
        block = {"status_code": 429, "body": "no", "headers": {line["name"]: line["value"]}}
        scripted.always = reply(200, {"action": {"type": "block", "block": block}})
        check_blocked(ask(client_site, "/", BROWSER), line)


def test_a_block_without_anything_is_403(client_site: str, scripted: ScriptedServer) -> None:
    """The status is the integration's own where the decision has none."""
    for action in (
        {"type": "block"},
        {"type": "block", "block": None},
        {"type": "block", "block": {}},
    ):
        scripted.always = reply(200, {"action": action})
        assert ask(client_site, "/").status == 403
