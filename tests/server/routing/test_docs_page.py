"""The page of the interface: Swagger UI from our own files, and every problem."""

from __future__ import annotations

import re

import pytest
from tests.server.serving import Served

from tidegate_server.http.problems import KINDS
from tidegate_server.routing import docs_page


def test_the_page_loads_nothing_but_our_own_files(served: Served, node: None) -> None:
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


def test_the_library_shows_the_version_of_our_document(served: Served, node: None) -> None:
    """Swagger UI is served with its types, in a version that reads OpenAPI 3.1."""
    for name, kind in (("swagger-ui-bundle.js", "text/javascript"), ("swagger-ui.css", "text/css")):
        answer = served.http.get(f"/docs/{name}")
        assert answer.headers["content-type"] == f"{kind}; charset=utf-8"
    assert "oas31" in served.http.get("/docs/swagger-ui-bundle.js").text


def test_the_page_names_every_problem(served: Served) -> None:
    """The addresses in problem documents lead into it."""
    text = served.http.get("/docs").text
    assert all(f'id="problem-{code}"' in text for code in KINDS)


def test_a_server_without_a_build_says_so(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page leads to the document, and the library's address says which part is missing."""
    monkeypatch.setattr(docs_page, "SWAGGER_UI", "nowhere")
    docs_page._content.cache_clear()
    try:
        answer = served.http.get("/docs/swagger-ui.css")
    finally:
        docs_page._content.cache_clear()
    assert answer.status_code == 404
    assert answer.json()["detail"] == "this server has no build of the console"
    assert "a build of the console" in served.http.get("/docs").text
