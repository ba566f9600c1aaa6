"""Programs of Django, FastAPI and Flask as docs/integrations.md has them, by their test clients."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.edge.deciders import deciding

from tidegate import Allow, Block, Challenge, Decision

PAGE = Path(__file__).parents[2] / "docs" / "integrations.md"
PROGRAM = re.compile(r"```python file=(\S+_site\.py)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ASKED = {
    "django_site.py": (
        "from django.test import Client\nget = Client().get\n"
        "post = lambda path: Client().post(path, {'name': 'ann'})"
    ),
    "fastapi_site.py": (
        "from fastapi.testclient import TestClient\n"
        "client = TestClient(site.app, client=('192.0.2.7', 50000))\n"
        "get, post = client.get, client.post"
    ),
    "flask_site.py": "client = site.app.test_client()\nget, post = client.get, client.post",
}


@pytest.mark.parametrize("name", list(ASKED))
def test_the_first_call_of_a_test_client_is_blocked_as_the_page_says(
    name: str, tmp_path: Path, process: None
) -> None:
    """A probe is blocked at once, and the fourth login after three refused ones."""
    programs = dict(PROGRAM.findall(PAGE.read_text()))
    (tmp_path / name).write_text(programs[name])
    script = (
        f"import {name.removesuffix('.py')} as site\n{ASKED[name]}\n"
        "print([get('/.env').status_code, get('/').status_code,"
        " *(post('/login').status_code for _ in range(4))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.strip() == "[403, 200, 401, 401, 401, 403]", done.stderr[-2000:]


def test_a_dependency_protects_its_routes_alone() -> None:
    """It answers in FastAPI's form, hands hooks the request, and reports what a route raises."""
    fastapi = pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from tidegate.edge.fastapi import Protect

    decider = deciding(Block(429, "slow down", {"x-why": "rate"}))
    app = fastapi.FastAPI()
    protect = Protect(decider, fields=lambda request: {"route": request.url.path})

    @app.get("/free")
    async def free() -> str:
        return "free"

    @app.get("/guarded", dependencies=[fastapi.Depends(protect)])
    async def guarded() -> str:
        raise fastapi.HTTPException(401)

    visitor = TestClient(app, client=("192.0.2.7", 50000))
    assert (visitor.get("/free").status_code, decider.asked) == (200, [])
    answer = visitor.get("/guarded")
    assert (answer.status_code, answer.json()) == (429, {"detail": "slow down"})
    assert answer.headers["x-why"] == "rate"
    decider.answer = Decision(Allow(), "no-match")
    assert visitor.get("/guarded").status_code == 401
    assert [each["fields"] for each in decider.asked] == [
        {"route": "/guarded"},
        {"route": "/guarded"},
        {"route": "/guarded", "status": "401"},
    ]
    decider.answer = Decision(Challenge(redirect_url="https://t.test/c"), "policy")
    page = {"accept": "text/html", "sec-fetch-mode": "navigate"}
    sent = visitor.get("/guarded", headers=page, follow_redirects=False)
    assert (sent.status_code, sent.headers["location"]) == (302, "https://t.test/c")


SETTINGS = """
import django
from django.conf import settings
from django.http import HttpResponse
from django.test import Client
from django.urls import path
from tests.edge.deciders import FixedDecider

decider = FixedDecider()
urlpatterns = [path("<slug:name>", lambda request, name: HttpResponse(name, status=404))]

def fields(request):
    return {"agent": request.headers["user-agent"]}

def skip(request):
    return request.path == "/healthz"

settings.configure(
    ROOT_URLCONF="shop", ALLOWED_HOSTS=["*"], MIDDLEWARE=["tidegate.edge.django.Middleware"],
    TIDEGATE=GIVEN,
)
django.setup()
"""


def test_settings_of_django_may_be_dotted_paths(tmp_path: Path, process: None) -> None:
    """Decider and hooks are named, and hooks get Django's request."""
    given = '{"decider": "shop.decider", "fields": "shop.fields", "skip": "shop.skip"}'
    script = (
        "import shop\nvisitor = shop.Client(headers={'user-agent': 'me'})\n"
        "visitor.get('/healthz'), visitor.get('/a')\n"
        "print([each['fields'] for each in shop.decider.asked],"
        " shop.decider.asked[0]['request']['client_ip'])"
    )
    said = run_shop(tmp_path, given, script)
    assert said.stdout.strip() == (
        "[{'agent': 'me'}, {'agent': 'me', 'status': '404'}] 127.0.0.1"
    ), said.stderr[-2000:]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("None", 'the setting TIDEGATE needs "decider"'),
        ('{"decider": "shop.decider", "failopen": True}', "failopen"),
        ('{"decider": "shop.decider", "trusted_proxies": ["localhost"]}', "localhost"),
    ],
)
def test_settings_of_django_that_mean_nothing_are_refused(
    given: str, reason: str, tmp_path: Path, process: None
) -> None:
    """Django does not start, and says why."""
    said = run_shop(tmp_path, given, "import shop; shop.Client().get('/a')")
    assert said.returncode != 0
    assert reason in said.stderr


def run_shop(where: Path, given: str, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script next to a site of Django with a setting."""
    (where / "shop.py").write_text(SETTINGS.replace("GIVEN", given))
    paths = [str(where), str(PAGE.parents[1]), *sys.path]
    return subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )
