"""Many send one solution while the server is killed."""

from __future__ import annotations

import signal
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

import httpx2 as httpx
from tests.faults import visitors
from tests.faults.target import Target
from tools import plain_http

RACERS = 64


def test_a_solution_buys_one_pass_across_a_kill(tmp_path: Path, process: None) -> None:
    """64 clients send it, the server is killed when the first has its answer, and all send it
    again."""
    target = Target.make(tmp_path / "data", tmp_path / "log", {})
    try:
        with httpx.Client(base_url=target.base_url, timeout=60, verify=plain_http.CONTEXT) as http:
            made = visitors.challenged(http, target.api_key)
            made.solution = visitors.solved(visitors.page(http, made.path))
        with ThreadPoolExecutor(RACERS) as pool:
            racing = [pool.submit(_spend, target.base_url, made) for _ in range(RACERS)]
            wait(racing, return_when=FIRST_COMPLETED)
            target.end(signal.SIGKILL)
            target.start()
            again = [pool.submit(_spend, target.base_url, made) for _ in range(RACERS)]
        proofs = [proof for each in (*racing, *again) if (proof := each.result()) is not None]
        assert len(proofs) <= 1
        listed = target.control("GET", f"{target.tenant}/passes").json()
        assert len(listed) == 1
        for proof in proofs:
            answer = plain_http.post(f"{target.base_url}{visitors.VERIFY}", json={"token": proof})
            assert answer.json() == {"valid": True}
    finally:
        target.end(signal.SIGKILL)


def _spend(base_url: str, made: visitors.Visit) -> str | None:
    """The proof that a solution brings; None when it is refused, or the server is gone."""
    body = {"solution": made.solution}
    try:
        answer = plain_http.post(f"{base_url}{made.path}/solution", json=body, timeout=60)
    except httpx.TransportError:
        return None
    assert answer.status_code in (303, 409, 429, 503), answer.text
    return str(answer.json()["proof"]) if answer.status_code == 303 else None
