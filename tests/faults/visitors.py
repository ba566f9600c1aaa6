"""Visitors who are challenged while the server is killed, and what must be there afterwards."""

from __future__ import annotations

import json
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from itertools import count
from typing import TYPE_CHECKING
from uuid import uuid4

import altcha
import attrs
import httpx2 as httpx
from tests.faults.traffic import DOOR, RUNTIME
from tools import plain_http

if TYPE_CHECKING:
    from tests.faults.target import Target

VERIFY = "/api/v1/challenge/proof/verify"
VISITORS = 3
RACERS = 4
"""Requests that send one solution at one time."""
REVOKED_EVERY = 2
"""An operator revokes the pass of every second solved challenge."""
_numbers, _turns = count(1), count()


@attrs.define
class Visit:
    """A visitor's data about a challenge.

    Attributes:
        path: of the page.
        challenge: as the page had it.
        solution: what solves it.
        proofs: what the answers to the solution brought.
        is_answered: whether each request with the solution was answered.
        is_revoked: whether an operator revoked the pass; None when nobody knows.
    """

    path: str
    challenge: str = ""
    solution: str = ""
    proofs: list[str] = attrs.field(factory=list)
    is_answered: bool = False
    is_revoked: bool | None = False


def visit(target: Target, visits: list[Visit]) -> None:
    """Be challenged and solve it, again and again, until the server is gone."""
    base_url, api_key = target.base_url, target.api_key
    with (
        httpx.Client(base_url=base_url, timeout=60, verify=plain_http.CONTEXT) as http,
        ThreadPoolExecutor(RACERS) as pool,
    ):
        try:
            while True:
                made = challenged(http, api_key)
                visits.append(made)
                made.challenge = page(http, made.path)
                made.solution = solved(made.challenge)
                for each in [pool.submit(_spend, base_url, made) for _ in range(RACERS)]:
                    each.result()
                made.is_answered = True
                if next(_turns) % REVOKED_EVERY == 0:
                    _revoke(target, made)
        except httpx.TransportError:
            return


def check(target: Target, visits: list[Visit]) -> tuple[int, int]:
    """Compare what visitors know with what is there.

    Returns:
        How many challenges were solved, and how many of their passes were revoked.

    Raises:
        AssertionError: a promise is broken.
    """
    with httpx.Client(base_url=target.base_url, timeout=60, verify=plain_http.CONTEXT) as http:
        for made in visits:
            _check(http, made)
    listed = target.control("GET", f"{target.tenant}/passes?limit=500").json()
    bought = Counter(each["challenge_id"] for each in listed)
    for made in visits:
        wanted = 1 if made.solution else 0
        found = bought[made.path.rpartition("/")[2]]
        assert found == wanted, f"{made.path} has {found} passes"
    count_solved = sum(bool(made.solution) for made in visits)
    return count_solved, sum(made.is_revoked is True for made in visits)


def _check(http: httpx.Client, made: Visit) -> None:
    """Earlier answers stay the same; the solution is spent once, then or now."""
    assert len(made.proofs) <= 1, f"{made.path} was solved {len(made.proofs)} times"
    if not made.solution:
        if made.challenge:
            assert page(http, made.path) == made.challenge, f"{made.path} was opened again"
        return
    again = http.post(f"{made.path}/solution", json={"solution": made.solution})
    assert again.status_code in (303, 409), again.text
    if made.is_answered or made.proofs:
        assert again.status_code == 409, f"{made.path} was solved again"
        assert made.proofs, f"{made.path} was answered, and nobody got the proof"
    for proof in made.proofs or ([again.json()["proof"]] if again.status_code == 303 else []):
        answer = http.post(VERIFY, json={"token": proof})
        if made.is_revoked is not None:
            assert answer.json() == {"valid": not made.is_revoked}, f"{made.path}: {answer.text}"


def _revoke(target: Target, made: Visit) -> None:
    """An operator revokes the pass of a challenge; what was not answered may have happened."""
    found = target.control("GET", f"{target.tenant}/passes?limit=500").json()
    (bought,) = [each for each in found if each["challenge_id"] == made.path.rpartition("/")[2]]
    made.is_revoked = None
    target.control("DELETE", f"{target.tenant}/passes/{bought['pass_id']}")
    made.is_revoked = True


def challenged(http: httpx.Client, api_key: str) -> Visit:
    """Somebody new, who is sent to a challenge."""
    number = next(_numbers)
    address = f"172.{16 + number // 62_500}.{number // 250 % 250}.{number % 250 + 1}"
    request = {"method": "GET", "path": DOOR, "host": "shop.example", "client_ip": address}
    event = {
        "request": request,
        "return_url": f"https://shop.example{DOOR}",
        "idempotency_key": f"visit-{uuid4()}",
    }
    answer = http.post(RUNTIME, json=event, headers={"x-service-api-key": api_key})
    url = answer.raise_for_status().json()["action"]["challenge"]["redirect_url"]
    return Visit(url[url.index("/api/") :])


def page(http: httpx.Client, path: str) -> str:
    """The challenge in a page."""
    text = http.get(path).raise_for_status().text
    found = re.search('challenge="([^"]+)"', text)
    assert found is not None
    return unescape(found[1])


def solved(challenge: str) -> str:
    """The solution of a challenge."""
    asked = altcha.Challenge.from_dict(json.loads(challenge))
    solution = altcha.solve_challenge(asked)
    assert solution is not None
    return altcha.Payload(asked, solution).to_base64()


def _spend(base_url: str, made: Visit) -> None:
    """Send a solution, and note the proof that it brings."""
    body = {"solution": made.solution}
    answer = plain_http.post(f"{base_url}{made.path}/solution", json=body, timeout=60)
    assert answer.status_code in (303, 409), answer.text
    if answer.status_code == 303:
        made.proofs.append(answer.json()["proof"])
