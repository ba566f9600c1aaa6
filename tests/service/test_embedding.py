"""The files of docs/embedding.md, run as the page says."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from service_process import Service
from tools import plain_http

PAGE = Path(__file__).parents[2] / "docs" / "embedding.md"
FILE = re.compile(r"^```python file=(\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
WORKERS = 4
THRESHOLD = 5
DEFINITIONS = {
    "apiVersion": "tidegate/v1",
    "entities": [{"name": "Address", "key_fields": ["request.client_ip"]}],
    "mitigations": [{"name": "Refuse", "mode": "Block", "ttl_seconds": 900}],
    "policies": [
        {
            "name": "Login rate",
            "expression": 'request.path == "/login"',
            "clauses": [
                {
                    "entity": "address",
                    "mitigation": "refuse",
                    "window": {"duration_seconds": 3600, "threshold": THRESHOLD},
                }
            ],
        }
    ],
}
PATIENCE = 60.0
"""Seconds that something may take to begin on a busy machine."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with the page's files; its name is short enough for a socket's path."""
    made = Path(tempfile.mkdtemp(prefix="tg-", dir="/tmp"))
    for name, content in FILE.findall(PAGE.read_text()):
        (made / name).write_text(content)
    (made / "shop.json").write_text(json.dumps(DEFINITIONS))
    yield made
    shutil.rmtree(made)


@contextmanager
def running(folder: Path, log: str, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the page, and its log; it is stopped at the end."""
    environment = {
        **os.environ,
        "DECIDER_SOCKET": str(folder / "decider.sock"),
        "DECIDER_SECRET": "a secret of this test",
        "DECIDER_DEFINITIONS": str(folder / "shop.json"),
    }
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=(folder / log).open("wb"),
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait()


def test_four_workers_block_at_exactly_the_threshold(folder: Path, process: None) -> None:
    """Whichever worker gets a request, one decider counts it."""
    pytest.importorskip("gunicorn")
    workers = ("-m", "gunicorn", "--workers", str(WORKERS), "--bind", "127.0.0.1:0", "app:app")
    with (
        running(folder, "decider.log", "decider.py") as decider,
        running(folder, "gunicorn.log", *workers) as gunicorn,
        ThreadPoolExecutor(16) as pool,
    ):
        deadline = time.monotonic() + PATIENCE
        while not (folder / "decider.sock").exists():
            assert decider.poll() is None, (folder / "decider.log").read_text()
            assert time.monotonic() < deadline, "the decider does not listen"
            time.sleep(0.02)
        while not (
            found := re.search(r"Listening at: (\S+)", (folder / "gunicorn.log").read_text())
        ):
            assert gunicorn.poll() is None, (folder / "gunicorn.log").read_text()
            assert time.monotonic() < deadline, "gunicorn does not listen"
            time.sleep(0.02)
        site = found[1]

        def visit(path: str) -> tuple[int, str]:
            answer = plain_http.post(f"{site}{path}", timeout=PATIENCE)
            return answer.status_code, answer.headers["x-worker"]

        seen: set[str] = set()
        while len(seen) < WORKERS:  # every worker has decided before it counts
            assert time.monotonic() < deadline, f"only {len(seen)} workers answer"
            seen.update(worker for _, worker in pool.map(visit, ["/"] * 32))
        answers = list(pool.map(visit, ["/login"] * 24))
    assert Counter(status for status, _ in answers) == {200: THRESHOLD - 1, 403: 25 - THRESHOLD}
    assert len(seen | {worker for _, worker in answers}) == WORKERS


def test_a_task_of_celery_asks_the_service(folder: Path, service: Service) -> None:
    """The client of the module works in the process that runs the task."""
    pytest.importorskip("celery")
    program = (
        "import tasks; tasks.shop.conf.task_always_eager = True;"
        "print(tasks.send_newsletter.delay('a-17').get())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "TIDEGATE_URL": service.base_url, "TIDEGATE_KEY": service.api_key},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == ("allow", 0), done.stderr
