"""The page of the interface: Swagger UI from our own files, and every problem."""

from __future__ import annotations

import hashlib
import re

from tests.server.serving import Served

from tidegate.server.http.problems import KINDS

DIGESTS = {
    "swagger-ui-bundle.js": "e6a898692f2d768e807c3ba4626068a69a2c5dd960dd6c76f3e4d3a3de180af2",
    "swagger-ui.css": "5ed08757e53da3e026d6cbecc61fe5d43585c9560b302d534ad56692519a273d",
}
"""SHA-256 of the files of Swagger UI's release."""


def test_the_page_loads_nothing_but_our_own_files(served: Served) -> None:
    """Every script and style sheet is one of ours, and the policy allows no other."""
    answer = served.http.get("/docs")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert not re.search(r"<script>|<style|\son\w+=|style=|https?://", answer.text)
    loaded = re.findall(r'(?:src|href)="([^"]+)"', answer.text)
    assert len(loaded) == 5
    for path in loaded:
        assert path.startswith("/")
        assert served.http.get(path).status_code == 200


def test_the_library_is_the_one_that_was_released(served: Served) -> None:
    """The files of Swagger UI are served unchanged, with their types."""
    for name, digest in DIGESTS.items():
        answer = served.http.get(f"/docs/{name}")
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        assert answer.headers["content-type"] == f"{kind}; charset=utf-8"
        assert hashlib.sha256(answer.content).hexdigest() == digest


def test_the_page_names_every_problem(served: Served) -> None:
    """The addresses in problem documents lead into it."""
    text = served.http.get("/docs").text
    assert all(f'id="problem-{code}"' in text for code in KINDS)
