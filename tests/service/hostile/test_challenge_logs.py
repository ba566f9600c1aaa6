"""What the log of a service says of challenges: never what opens a door."""

from __future__ import annotations

import json
import re
from html import unescape
from urllib.parse import quote

import altcha
import httpx2 as httpx
from tests.service.service_process import Service

SECRET = "the-secret-of-a-return-address"


def test_no_line_has_a_proof_a_solution_or_a_return_address(service: Service) -> None:
    """Neither in paths and queries nor anywhere else, whatever the visitor does with them."""
    tenant = f"/tenants/{service.tenant_id}"
    challenge = {"provider": "pow", "difficulty": 1}
    mitigation = {"name": "Logged", "mode": "Challenge", "ttl_seconds": 0, "challenge": challenge}
    made = service.control("POST", f"{tenant}/mitigations", mitigation).json()
    clause = {"name": "all", "mitigation_id": made["mitigation_id"]}
    policy = {"name": "Logged", "expression": "request.path == '/logged'", "clauses": [clause]}
    assert service.control("POST", f"{tenant}/policies", policy).status_code == 201
    event = {
        "return_url": f"https://shop.example/logged?token={SECRET}",
        "request": {"path": "/logged", "host": "shop.example", "client_ip": "192.0.2.99"},
    }
    decision = service.hot("/runtime/mitigation", event).json()
    page_url = decision["action"]["challenge"]["redirect_url"]
    found = re.search('challenge="([^"]+)"', httpx.get(page_url).text)
    assert found is not None
    asked = altcha.Challenge.from_dict(json.loads(unescape(found[1])))
    solved = altcha.solve_challenge(asked)
    assert solved is not None
    solution = altcha.Payload(asked, solved).to_base64()
    for sent in ({"solution": "x" + solution}, {"solution": solution}, {"solution": solution}):
        answer = httpx.post(f"{page_url}/solution", json=sent)
        if answer.status_code == 303:
            proof = answer.json()["proof"]
    verify = f"{service.base_url}/api/v1/challenge/proof/verify"
    assert httpx.post(verify, json={"token": proof}).json() == {"valid": True}
    for place in (f"?service_challenge_proof={proof}", f"/{proof}", f"/solution?solution={proof}"):
        httpx.get(page_url + place)
        httpx.post(page_url + place, json={})
    marker = f"/marker-{SECRET[:3]}"
    httpx.get(f"{service.base_url}/api/v1{marker}")
    log = service.log.read_text()
    assert "/solution" in log
    for secret in (proof, solution, quote(solution), SECRET):
        assert secret not in log
