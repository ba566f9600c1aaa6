"""``python -m benchmarks.challenges``: what a challenge costs in a browser and natively.

Chromium solves challenges of the running service, one after another; the time is from the answer
with the page to the request with the solution.  The native solver derives keys with OpenSSL's
scrypt on every core.  Both are given per key, so that the ratio does not depend on the number that
was drawn.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
import httpx2 as httpx
from playwright.sync_api import Browser, sync_playwright
from tests.browser import launched
from tests.service.service_process import start, stop

from tidegate_server.challenge.pow import BLOCK_SIZE, COST, mean_keys

DIFFICULTIES = (1, 4, 6, 8)
ROUNDS = 5
NATIVE_KEYS = 400


@attrs.frozen
class Asking:
    """The demonstration, asked for challenges."""

    base_url: str
    tenant: str
    owner: dict[str, str]
    key: str

    def call(self, method: str, path: str, body: Any) -> Any:
        """A call of the control plane."""
        url = f"{self.base_url}/api/v1/tenants/{self.tenant}{path}"
        return httpx.request(method, url, json=body, headers=self.owner, timeout=30).json()

    def define(self, difficulty: int) -> None:
        """Challenge a path of its own at a difficulty."""
        challenge = {"provider": "pow", "difficulty": difficulty}
        made = self.call(
            "POST",
            "/mitigations",
            {
                "name": f"d{difficulty}",
                "mode": "Challenge",
                "ttl_seconds": 0,
                "challenge": challenge,
            },
        )
        clause = {
            "expression": f'request.path == "/{difficulty}"',
            "mitigation_id": made["mitigation_id"],
        }
        policy = {"name": f"p{difficulty}", "status": "active", "priority": 1, "clauses": [clause]}
        self.call("POST", "/policies", policy)

    def challenged(self, difficulty: int, number: int) -> str:
        """The address of a new challenge."""
        request = {"path": f"/{difficulty}", "client_ip": f"192.0.2.{number}"}
        answer = httpx.post(
            f"{self.base_url}/api/v1/runtime/mitigation",
            json={"request": request},
            headers={"x-service-api-key": self.key},
        )
        return str(answer.json()["action"]["challenge"]["redirect_url"])


def solved(browser: Browser, address: str) -> float:
    """Seconds that a browser takes for a challenge."""
    context = browser.new_context()
    page = context.new_page()
    with page.expect_request("**/solution", timeout=300_000):
        page.goto(address)
        began = time.perf_counter()
    took = time.perf_counter() - began
    context.close()
    return took


def native_seconds() -> float:
    """Seconds for each key, with every core at it."""
    salt = os.urandom(16)

    def derive(number: int) -> None:
        hashlib.scrypt(number.to_bytes(4), salt=salt, n=COST, r=BLOCK_SIZE, p=1, dklen=32)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        began = time.perf_counter()
        list(pool.map(derive, range(NATIVE_KEYS)))
        return (time.perf_counter() - began) / NATIVE_KEYS


def main() -> None:
    """Print the table, and the ratio of a native solver's speed to the browser's."""
    native = native_seconds()
    print(f"native, {os.cpu_count()} cores: {native * 1_000:.2f} ms a key")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        process, said = start("--demo", log=Path(folder) / "log")
        bearer = {"authorization": f"Bearer {said['owner_token']}"}
        asking = Asking(said["base_url"], said["tenant_id"], bearer, said["api_key"])
        browser = launched(playwright)
        try:
            for difficulty in DIFFICULTIES:
                asking.define(difficulty)
                times = [
                    solved(browser, asking.challenged(difficulty, number))
                    for number in range(ROUNDS)
                ]
                took, keys = statistics.median(times), mean_keys(difficulty)
                print(
                    f"difficulty {difficulty}: {keys} keys, browser {took:.2f} s,"
                    f" native {native * keys:.3f} s, ratio {took / keys / native:.1f}"
                )
        finally:
            browser.close()
            stop(process)


if __name__ == "__main__":
    main()
