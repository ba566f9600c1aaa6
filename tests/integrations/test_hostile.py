"""Hostile addresses and other secrets through every integration, with the service behind it."""

from __future__ import annotations

from urllib.parse import urlsplit

from tests.edge.test_hostile import written
from tests.integrations.asking import BROWSER, ask
from tests.integrations.edges import Edge
from tests.integrations.test_proofs import Mint
from tests.server.deciding import Deciding
from tests.shared_data import some_lines

FILES = ("crlf", "open_redirect", "path_traversal", "sql_nosql_cmd_template", "xxe")
EACH = 8


PAYLOADS = [
    str(line["s"])
    for name in FILES
    for line in some_lines(f"data/adversarial/payloads/{name}.jsonl", EACH)
]
GATE = "/challenged"


def test_no_address_leads_astray(edge: Edge, shop: Deciding) -> None:
    """In path and query no address leads astray: a visitor goes to the challenge or stays; no
    header is forged."""
    proof = Mint(edge, shop).proof()
    challenge = f"{shop.service.base_url}/api/v1/challenge/"
    for text in PAYLOADS:
        target = written(text).replace("#", "%23")
        for asked in (GATE + target, f"{GATE}?next={target}"):
            seen = ask(edge.base_url, asked)
            assert {name for name, _ in seen.headers}.isdisjoint({"set-cookie", "crlf"}), text
            where = seen.header("location")
            assert where is None or where.startswith((challenge, edge.base_url + "/")), text
        mark = "&" if "?" in target else "?"
        seen = ask(edge.base_url, f"{GATE}{target}{mark}service_challenge_proof={proof}")
        where = seen.header("location")
        if seen.status == 307:
            assert urlsplit(str(where)).netloc == urlsplit(edge.base_url).netloc, text
            assert proof not in str(where), text
        else:
            assert seen.status in (301, 302, 308, 400, 403, 404, 414), (text, seen.status)
            assert where is None or where.startswith((challenge, edge.base_url + "/")), text


def test_other_secrets_are_no_proofs(edge: Edge, shop: Deciding) -> None:
    """Neither an API key nor the token of an operator, in the query or as the cookie."""
    for secret in (shop.key, shop.by("Owner").token):
        query = ask(edge.base_url, f"{GATE}?service_challenge_proof={secret}")
        cookie = ask(edge.base_url, GATE, BROWSER | {"cookie": f"service_challenge={secret}"})
        assert (query.status, cookie.status) == (403, 302)
