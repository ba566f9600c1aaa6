"""The log of a service through the whole loop of a challenge, and through a login."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.server.challenges.gate import gate_of
from tests.server.deciding import deciding

ISSUER = {"issuer": "http://127.0.0.1:9", "client_id": "tidegate", "client_secret": "SECRETclient"}
CODE, STATE, WORD = "SECRETcode", "SECRETstate", "SECRETpassword"


def test_no_line_has_a_secret(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], process: None
) -> None:
    """Neither proof nor solution, key nor token, code nor state, wherever callers put them."""
    providers = json.dumps({"company": ISSUER})
    with deciding(tmp_path / "data", log_level="debug", login_providers=providers) as service:
        gate = gate_of(service)
        http, owner, key = gate.http, gate.tenant.by("Owner"), gate.tenant.key
        path = gate.challenged("192.0.2.60", "https://shop.example/secret?card=SECRETcard")
        solution = gate.solution(path)
        assert http.post(f"{path}/solution", json={"solution": "SECRETwrong"}).status_code == 422
        back = http.post(f"{path}/solution", data={"solution": solution}).headers["location"]
        proof = parse_qs(urlsplit(back).query)["service_challenge_proof"][0]
        gate.shown(proof, "/secret", "192.0.2.60")
        assert gate.is_valid(proof)
        asked = {"x-service-api-key": key, "x-original-method": "GET", "x-original-url": back}
        for headers in (asked, {**asked, "cookie": f"service_challenge={proof}"}):
            http.get("/authz", headers=headers)
        for secret in (proof, solution[:200], key, owner.token):
            for where in (f"/api/v1/challenge/{secret}", f"/{secret}", f"{path}?again={secret}"):
                http.get(where)
                http.post(where, json={"token": secret}, headers={"authorization": secret})
        http.get("/auth/company/login")
        http.get("/auth/company/callback", params={"code": CODE, "state": STATE})
        http.post("/api/v1/auth/local/token", json={"email": "a@example.test", "password": WORD})
    written = capfd.readouterr().err
    assert "login refused" in written
    assert written.count("/challenge/") > 5
    for secret in (proof, solution[:40], key, owner.token, CODE, STATE, WORD, "SECRET"):
        assert secret not in written
