"""Spellings of paths, hosts, parameters and cookies, each with what a rule makes of it.

Every case of ``spellings.jsonl`` is a request and a condition. One set of definitions has them all:
a request with the name of a case as its user agent is blocked where the condition holds.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from click.testing import CliRunner
from tests.integrations.asking import ask
from tests.server.deciding import Deciding, deciding

import tidegate
from tidegate.cli.main import tidegate as command
from tidegate.edge import AsgiMiddleware, WsgiMiddleware
from tidegate.edge.visit import read_cookies
from tidegate.evaluation.target import pairs_of, query_members

CORPUS = [
    json.loads(line)
    for line in (Path(__file__).parent / "spellings.jsonl").read_text().splitlines()
]
STATUS = 451
DEFINITIONS: Mapping[str, Any] = {
    "apiVersion": "tidegate/v1",
    "tenant": {"name": "Spellings"},
    "mitigations": [
        {"name": "Refuse", "mode": "Block", "ttl_seconds": 0, "block": {"status_code": STATUS}},
    ],
    "policies": [
        {
            "name": case["name"],
            "expression": f'request.user_agent == "{case["name"]}" && ({case["condition"]})',
            "clauses": [{"name": "any", "mitigation": "refuse"}],
        }
        for case in CORPUS
    ],
}
HOST = "shop.example"


def names(cases: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(each, id=each["name"]) for each in cases]


def asked(how: str) -> list[dict[str, Any]]:
    """The cases that are decided on; an absolute address never reaches a program as a path."""
    return [
        each
        for each in CORPUS
        if how not in each.get("refused", ()) and (how == "log" or "only" not in each)
    ]


def headers_of(case: dict[str, Any]) -> dict[str, str]:
    cookie = {"cookie": case["cookie"]} if "cookie" in case else {}
    return {"host": case.get("host", HOST), "user-agent": case["name"], **cookie}


def events_of(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The request in every form of an event that says all of it."""
    target = case["target"]
    cookies: dict[str, list[str]] = {}
    for name, value in read_cookies([("cookie", case.get("cookie", ""))]):
        cookies.setdefault(name, []).append(value)
    path, mark, query = target.partition("?")
    common = {"headers": headers_of(case), "cookies": cookies}
    yield {"request": {"path": target, **common}}
    if mark and "only" not in case:
        yield {"request": {"path": path, "query": query, **common}}
        yield {"request": {"path": path, **query_members(query), **common}}
    grouped = query_members(query).get("query_params")
    is_in_order = "request.query " not in case["condition"] and "b2" not in case["condition"]
    if grouped and is_in_order and "only" not in case:
        yield {"request": {"path": path, "query_params": grouped, **common}}


@pytest.fixture(scope="module", params=["native", "reference"])
def engine(request: pytest.FixtureRequest) -> tidegate.Engine:
    """Both evaluators."""
    definitions = tidegate.parse_definitions(json.dumps(DEFINITIONS))
    return tidegate.Engine(definitions, evaluator=request.param)


@pytest.mark.parametrize("case", names(CORPUS))
def test_the_library_reads_each_spelling(case: dict[str, Any], engine: tidegate.Engine) -> None:
    """A condition has its value for every form of an event, as an object and as JSON."""
    for event in events_of(case):
        for form in (event, json.dumps(event).encode()):
            decision = engine.decide(form)
            assert isinstance(decision.action, tidegate.Block) is case["value"], event


def test_the_command_reads_each_spelling(tmp_path: Path) -> None:
    """Lines of a log, and events of those that a log cannot say, are decided on alike."""
    plain = [each for each in asked("log") if not {"cookie", "host"} & each.keys()]
    others = [each for each in CORPUS if {"cookie", "host"} & each.keys()]
    log, events = tmp_path / "access.log", tmp_path / "events.jsonl"
    log.write_text("".join(map(_line, plain)))
    events.write_text("".join(json.dumps(next(events_of(each))) + "\n" for each in others))
    assert _blocked(log, tmp_path) == [each["value"] for each in plain]
    assert _blocked(events, tmp_path) == [each["value"] for each in others]


def _line(case: dict[str, Any]) -> str:
    target = case["target"].replace("\\", "\\x5C")
    return (
        f'192.0.2.7 - - [02/Mar/2026:10:00:00 +0000] "GET {target} HTTP/1.1" 200 1 "-"'
        f' "{case["name"]}"\n'
    )


def _blocked(lines: Path, folder: Path) -> list[bool]:
    definitions = folder / "definitions.yaml"
    definitions.write_text(json.dumps(DEFINITIONS))
    done = CliRunner().invoke(command, ["decide", str(definitions), str(lines), "--json"])
    assert done.exit_code == 0, done.output
    return [json.loads(each)["action"]["type"] == "block" for each in done.stdout.splitlines()]


@pytest.mark.parametrize("case", names(asked("asgi")))
def test_middleware_for_asgi_reads_each_spelling(
    case: dict[str, Any], engine: tidegate.Engine
) -> None:
    """The event that is made of a scope says all that the client sent."""
    path, _, query = case["target"].partition("?")
    scope = {
        "type": "http",
        "method": "GET",
        "scheme": "https",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), each.encode()) for name, each in headers_of(case).items()],
        "client": ("192.0.2.7", 1),
    }
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nothing is received")

    async def site(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    asyncio.run(AsgiMiddleware(site, engine)(scope, receive, send))
    assert sent[0]["status"] == (STATUS if case["value"] else 200)


@pytest.mark.parametrize("case", names(asked("wsgi")))
def test_middleware_for_wsgi_reads_each_spelling(
    case: dict[str, Any], engine: tidegate.Engine
) -> None:
    """The same of the environment of a WSGI application."""
    path, _, query = case["target"].partition("?")
    environ = {
        "REQUEST_METHOD": "GET",
        "wsgi.url_scheme": "https",
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "REQUEST_URI": case["target"],
        "QUERY_STRING": query,
        "REMOTE_ADDR": "192.0.2.7",
        **{
            f"HTTP_{name.upper().replace('-', '_')}": each
            for name, each in headers_of(case).items()
        },
    }
    answers: list[str] = []

    def start_response(status: str, *_: Any) -> Any:
        answers.append(status)

    def site(_environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [])
        return []

    WsgiMiddleware(site, engine)(environ, start_response)
    assert answers[0].startswith(str(STATUS) if case["value"] else "200")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[Deciding]:
    """A tenant of a service with the definitions of the corpus."""
    with deciding(tmp_path_factory.mktemp("spellings")) as service:
        yield service.tenant(DEFINITIONS)


def test_the_service_reads_each_spelling(shop: Deciding) -> None:
    """Events that are sent to the service are decided on as in the library."""
    wrong = [
        (case["name"], event)
        for case in CORPUS
        for event in events_of(case)
        if (shop.decide(**event)["action"]["type"] == "block") is not case["value"]
    ]
    assert wrong == []


def test_a_proxys_question_has_each_spelling(shop: Deciding) -> None:
    """`/authz` decides on all that the client sent, or refuses it."""
    wrong = []
    for case in CORPUS:
        if "only" in case:
            continue
        own = {name: each for name, each in headers_of(case).items() if name != "host"}
        headers = {
            **own,
            "x-service-api-key": shop.key,
            "x-forwarded-method": "GET",
            "x-forwarded-proto": "https",
            "x-forwarded-host": case.get("host", HOST),
            "x-forwarded-uri": case["target"],
            "x-forwarded-for": "192.0.2.7",
            "accept": "*/*",
        }
        right = 403 if "authz" in case.get("refused", ()) else STATUS if case["value"] else 200
        seen = ask(shop.service.base_url, "/authz", headers).status
        if seen != right:
            wrong.append((case["name"], seen, right))
    assert wrong == []


def test_pairs_are_read_as_the_standard_library_reads_them() -> None:
    """A second reader of queries agrees on every one of the corpus."""
    from urllib.parse import parse_qsl

    for case in CORPUS:
        query = case["target"].partition("?")[2]
        assert pairs_of(query) == parse_qsl(query, keep_blank_values=True)
