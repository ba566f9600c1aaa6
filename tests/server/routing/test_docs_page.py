"""The page of the interface: Swagger UI from our own files, and every problem."""

from __future__ import annotations

import re

from tests.server.serving import Served
from tools import carried

from tidegate_server.http.problems import KINDS


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


def test_the_library_shows_the_version_of_our_document(served: Served) -> None:
    """Swagger UI is served with its types, in a version that reads OpenAPI 3.1."""
    for name, kind in (("swagger-ui-bundle.js", "text/javascript"), ("swagger-ui.css", "text/css")):
        answer = served.http.get(f"/docs/{name}")
        assert answer.headers["content-type"] == f"{kind}; charset=utf-8"
    assert "oas31" in served.http.get("/docs/swagger-ui-bundle.js").text


def test_the_files_of_swagger_ui_are_as_they_were_published() -> None:
    """Both files are those of the version that is written down, with its licences."""
    folder = carried.SWAGGER_UI
    assert carried.wrong(folder) == []
    version = carried.origin(folder)["version"]
    assert f'PACKAGE_VERSION:"{version}"' in (folder / "swagger-ui-bundle.js").read_text()
    assert all("Copyright" in text for text in carried.notices(folder).values())


def test_the_page_names_every_problem(served: Served) -> None:
    """The addresses in problem documents lead into it."""
    text = served.http.get("/docs").text
    assert all(f'id="problem-{code}"' in text for code in KINDS)
