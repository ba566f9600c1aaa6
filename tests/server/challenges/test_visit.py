"""The page of a challenge, and the one solution that it takes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, quote, urlsplit
from uuid import UUID

import httpx2
import pytest
from tests.server.challenges.gate import Gate, gate_of
from tests.server.deciding import Service
from tests.shared_data import some_lines
from tools import plain_http

from tidegate.edge.forward_auth import LOCATION
from tidegate_server.http.ids import new_id

RACERS = 64


def test_who_solves_goes_back_with_a_proof(gate: Gate) -> None:
    """The exact return URL gets the proof next to its own parameters, and the proof allows."""
    answer = gate.spend(gate.opened("192.0.2.10"))
    assert answer.status_code == 303
    back = urlsplit(answer.headers["location"])
    assert (back.netloc, back.path) == ("shop.example", "/secret")
    given = parse_qs(back.query)
    assert given["page"] == ["2"]
    decision = gate.shown(given["service_challenge_proof"][0], "/secret", "192.0.2.10")
    assert (decision["action"]["type"], decision["reason"]) == ("allow", "challenge-proof")


def test_of_many_that_race_one_gets_the_pass(gate: Gate) -> None:
    """However many send the solution at once, it is spent once."""
    path = gate.opened("192.0.2.11")
    body = {"solution": gate.solution(path)}

    def send(_: int) -> httpx2.Response:
        return plain_http.post(f"{gate.base_url}{path}/solution", json=body, timeout=60)

    with ThreadPoolExecutor(RACERS) as pool:
        answers = list(pool.map(send, range(RACERS)))
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses.count(303) == 1
    assert {answer.json()["code"] for answer in answers if answer.status_code != 303} <= {
        "challenge-solved",
        "overloaded",
        "too-many-requests",
    }
    solved = UUID(path.rpartition("/")[2])
    passes = gate.tenant.get("passes", limit=500)
    assert sum(UUID(each["challenge_id"]) == solved for each in passes) == 1


def test_a_solved_challenge_is_over(gate: Gate) -> None:
    """The back button shows a page that says so, and no second pass."""
    path = gate.opened("192.0.2.12")
    gate.spend(path)
    assert gate.http.get(path).json()["code"] == "challenge-solved"
    page = gate.http.get(path, headers={"accept": "text/html"})
    assert page.headers["content-type"].startswith("text/html")


def test_two_tabs_do_not_disturb_each_other(gate: Gate) -> None:
    """Each decision has its own session, and each can be solved."""
    first, second = gate.opened("192.0.2.13"), gate.opened("192.0.2.13")
    assert {gate.spend(path).status_code for path in (second, first)} == {303}


def test_a_wrong_solution_buys_nothing(gate: Gate) -> None:
    """Rubbish in place of a solution is refused, and the right one still counts."""
    path = gate.opened("192.0.2.14")
    answer = gate.http.post(f"{path}/solution", json={"solution": "e30="})
    assert answer.json()["code"] == "challenge-failed"
    assert gate.spend(path).status_code == 303


def test_an_unknown_challenge_is_not_there(gate: Gate) -> None:
    """An id of no decision, and the id of a decision that challenged nobody, look alike."""
    allowed = gate.tenant.decide("/", "192.0.2.15")["decision_id"]
    answers = [gate.http.get(f"/api/v1/challenge/{each}") for each in (new_id(), allowed)]
    assert [answer.status_code for answer in answers] == [404, 404]


def test_a_challenge_of_long_ago_has_expired(gate: Gate) -> None:
    """The id of a decision says when it was made; after 30 minutes nothing is looked up."""
    old = UUID(int=(new_id().int - (31 * 60_000 << 80)))
    assert gate.http.get(f"/api/v1/challenge/{old}").status_code == 410


def test_nothing_of_an_address_is_shown(gate: Gate) -> None:
    """Whatever stands where the id or a parameter is to be: a plain page, without any of it."""
    for name in ("crlf", "open_redirect", "path_traversal", "sql_nosql_cmd_template", "xxe"):
        for line in some_lines(f"data/adversarial/payloads/{name}.jsonl", 12):
            text = quote(line["s"], safe="")
            for path in (f"/api/v1/challenge/{text}", f"/api/v1/challenge/{new_id()}?again={text}"):
                answer = gate.http.get(path, headers={"accept": "text/html"})
                assert answer.status_code in (400, 404, 422), line
                assert "location" not in answer.headers
                assert len(line["s"]) < 8 or line["s"] not in answer.text


@pytest.mark.parametrize(
    "return_url",
    [
        "https://evil.example/",
        "https://shop.example.evil.example/",
        "https://evil.example\\@shop.example/",
    ],
)
def test_nobody_is_sent_to_a_foreign_origin(gate: Gate, return_url: str) -> None:
    """A return URL of another origin isn't a place to go back to."""
    answer = gate.http.post(
        "/api/v1/runtime/mitigation",
        json={
            "return_url": return_url,
            "request": {"path": "/secret", "client_ip": "192.0.2.16"},
        },
        headers={"x-service-api-key": gate.tenant.key},
    )
    if answer.status_code != 200:
        assert answer.status_code == 422
        return
    url = answer.json()["action"]["challenge"]["redirect_url"]
    path = url[url.index("/api/") :]
    assert gate.http.get(path).status_code == 200
    solved = gate.spend(path)
    assert "location" not in solved.headers


@pytest.mark.parametrize(
    ("origins", "return_url", "returns"),
    [
        ((), None, False),
        ((), "https://shop.example/secret", True),
        ((), "https://shop.example:8443/secret", True),
        (("https://shop.example",), "https://shop.example/secret", True),
        (("https://shop.example",), "https://shop.example:8443/secret", False),
        (("https://shop.example",), "http://shop.example/secret", False),
        (("https://shop.example",), None, False),
    ],
)
def test_a_record_says_whether_its_challenge_leads_back(
    service: Service, origins: tuple[str, ...], return_url: str | None, returns: bool
) -> None:
    """The record says it as soon as the challenge is made, and so it is for who solves it."""
    gate = gate_of(service, origins=origins)
    path = gate.challenged("192.0.2.67", return_url)
    decision_id = path.split("/")[4].partition("?")[0]
    assert gate.tenant.get(f"decisions/{decision_id}")["challenge_returns"] is returns
    assert gate.http.get(path).status_code == 200
    assert (gate.spend(path).json()["redirect_url"] is not None) is returns


def test_a_host_that_the_visitor_made_up_leads_nowhere(service: Service) -> None:
    """Without origins of the tenant, a proxy's visitor is sent to none that the request named."""
    gate = gate_of(service, origins=())
    headers = {
        "x-service-api-key": gate.tenant.key,
        "x-original-method": "GET",
        "x-original-url": "https://evil.example/secret",
        "accept": "text/html",
        "x-forwarded-for": "192.0.2.66",
    }
    url = gate.http.get("/authz", headers=headers).headers[LOCATION]
    path = url[url.index("/api/") :]
    assert gate.http.get(path).status_code == 200
    answer = gate.spend(path)
    assert (answer.status_code, answer.headers.get("location")) == (200, None)
    assert answer.json()["redirect_url"] is None


def test_a_browser_that_fetches_ahead_and_head_open_nothing(gate: Gate) -> None:
    """Over the wire too: the visitor's own request is the first that counts."""
    path = gate.challenged("192.0.2.90")
    assert gate.http.head(path).status_code == 200
    refused = gate.http.get(path, headers={"Sec-Purpose": "prefetch;prerender"})
    assert (refused.status_code, refused.json()["code"]) == (403, "challenge-not-opened")
    assert gate.http.post(f"{path}/solution", json={"method": "wait"}).status_code == 404
    assert gate.http.get(path).status_code == 200
