"""A service whose spans and log lines go to a receiver of OTLP over a socket."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import httpx2
import orjson
import pytest
from tests.server.deciding import Deciding, Service, deciding
from tests.server.partitions.workers import through
from tests.server.telemetry.receiver import Receiver, Sent, receiving
from tests.server.telemetry.test_trace_context import PARENT
from tests.waiting import wait_until
from tools import plain_http

from tidegate.errors import SettingsError
from tidegate_server.cli.service.usable import need_telemetry
from tidegate_server.settings.outbound import TelemetrySettings

pytestmark = pytest.mark.usefixtures("process")
EVENT = {"request": {"method": "GET", "path": "/login", "client_ip": "192.0.2.7"}}
RUNTIME, BEACON, BATCH = "runtime/mitigation", "beacon/event", "beacon/events"
AUTHZ = {
    "x-forwarded-method": "GET",
    "x-forwarded-host": "shop.example",
    "x-forwarded-uri": "/products?token=hidden",
    "x-forwarded-for": "203.0.113.9",
    "x-forwarded-proto": "https",
}
SETTINGS = {"log_level": "info", "log_sample_seconds": "0.001"}


@attrs.frozen
class Traced:
    """A tenant of a service with a receiver."""

    shop: Deciding
    receiver: Receiver

    def call(self, place: str, body: Any, trace_id: str, **headers: str) -> httpx2.Response:
        """A call that is part of a trace; an empty trace means none."""
        sent = {"traceparent": traceparent(trace_id), **headers} if trace_id else headers
        return call(self.shop, place, body, **sent)

    def recorded(self, decision_id: str) -> Any:
        """The decision as it was recorded."""
        return self.shop.get(f"decisions/{decision_id}")

    def figure(self, name: str, signal: str) -> float:
        """A figure of the process."""
        return figure(self.shop.service, name, signal)


def call(shop: Deciding, place: str, body: Any, **headers: str) -> httpx2.Response:
    """A call with the tenant's key."""
    given = {"x-service-api-key": shop.key, **headers}
    return shop.service.http.post(f"/api/v1/{place}", json=body, headers=given)


def ask(shop: Deciding, **headers: str) -> httpx2.Response:
    """A question of a proxy with the tenant's key."""
    given = {"x-service-api-key": shop.key, **AUTHZ, **headers}
    return shop.service.http.get("/authz", headers=given)


def traceparent(trace_id: str, flags: str = "01") -> str:
    """The header of a caller in a trace."""
    return f"00-{trace_id}-{PARENT.decode()}-{flags}"


def figure(service: Service, name: str, signal: str) -> float:
    """A figure of the service's only process."""
    page = plain_http.get(f"{service.base_url}/metrics").text
    start = f'tidegate_telemetry_{name}{{signal="{signal}"}} '
    return float(next(line for line in page.splitlines() if line.startswith(start))[len(start) :])


def said(answer: httpx2.Response) -> tuple[str, str]:
    """The trace and the span that an answer says."""
    _, trace_id, span_id, _ = answer.headers["traceresponse"].split("-")
    return trace_id, span_id


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[Traced]:
    """A service that sends to a receiver."""
    with receiving() as receiver:
        settings = {
            "telemetry_otlp_endpoint": receiver.url,
            "telemetry_otlp_headers": "api-key=k%2C1",
        }
        directory = tmp_path_factory.mktemp("traced")
        with deciding(directory, **settings, **SETTINGS) as service:
            yield Traced(service.tenant(), receiver)


def of_trace(trace_id: str, event: str) -> Any:
    """Whether a log line is of a trace, and says this."""

    def is_wanted(line: Sent) -> bool:
        return (line.trace_id, line.text) == (trace_id, event)

    return is_wanted


def test_a_call_is_in_one_trace_everywhere(traced: Traced) -> None:
    """Answer, record, log line and span of a call have its caller's trace."""
    trace_id = "1" * 32
    answer = traced.call(RUNTIME, EVENT, trace_id)
    decision_id = answer.json()["decision_id"]
    span = traced.receiver.span(trace_id)
    assert said(answer) == (trace_id, span.span_id)
    assert span.parent_id == PARENT.decode()
    assert traced.recorded(decision_id)["trace_id"] == trace_id
    line = traced.receiver.line(of_trace(trace_id, "decision"))
    assert line.attributes["decision_id"] == decision_id
    assert span.text == "POST /api/v1/runtime/mitigation"
    assert span.attributes == {
        "http.request.method": "POST",
        "http.route": "/api/v1/runtime/mitigation",
        "http.response.status_code": 200,
        "tidegate.decision.id": decision_id,
        "tidegate.decision.action": answer.json()["action"]["type"],
    }
    assert (span.resource["service.name"], span.resource["service.instance.id"]) == (
        "tidegate",
        "0",
    )


@pytest.mark.parametrize("more", [{}, {"x-request-id": "not plain"}], ids=["plain", "parsed"])
@pytest.mark.parametrize("place", [RUNTIME, BEACON])
def test_each_way_of_a_call_makes_a_span(traced: Traced, place: str, more: dict[str, str]) -> None:
    """A call in the plain form and one that is parsed have the same span."""
    trace_id = f"{len(place):x}{len(more)}".rjust(32, "2")
    answer = traced.call(place, EVENT, trace_id, **more)
    span = traced.receiver.span(trace_id)
    found = answer.json()
    decision_id = found.get("decision_id") or found["item_id"]
    assert said(answer) == (trace_id, span.span_id)
    assert span.attributes["tidegate.decision.id"] == decision_id
    assert traced.recorded(decision_id)["trace_id"] == trace_id


def test_a_batch_is_one_span_of_all_its_decisions(traced: Traced) -> None:
    """Each event of a batch is recorded with the trace of the call, which is one span."""
    trace_id = "3" * 32
    answer = traced.call(BATCH, [EVENT, EVENT, {"request": 1}], trace_id)
    *decided, refused = answer.json()
    for each in decided:
        assert traced.recorded(each["item_id"])["trace_id"] == trace_id
    assert refused["status"] == 422
    span = traced.receiver.span(trace_id)
    assert "tidegate.decision.id" not in span.attributes
    line = traced.receiver.line(of_trace(trace_id, "refusal"))
    assert line.attributes["code"] == "invalid-event"


def test_a_question_of_a_proxy_is_a_span_without_the_path_of_its_visitor(traced: Traced) -> None:
    """The span has the route and the decision, which the proxy isn't told."""
    trace_id = "4" * 32
    answer = ask(traced.shop, traceparent=traceparent(trace_id))
    span = traced.receiver.span(trace_id)
    assert said(answer) == (trace_id, span.span_id)
    assert not [name for name in answer.headers if name.startswith("tidegate")]
    assert (span.text, span.attributes["http.route"]) == ("GET /authz", "/authz")
    assert traced.recorded(span.attributes["tidegate.decision.id"])["trace_id"] == trace_id


def test_a_refusal_is_in_the_trace(traced: Traced) -> None:
    """A refused call has a span with its status, and a log line of the trace."""
    trace_id = "5" * 32
    answer = traced.call(RUNTIME, {"request": 1}, trace_id)
    assert (answer.status_code, said(answer)[0]) == (422, trace_id)
    assert traced.receiver.span(trace_id).attributes["http.response.status_code"] == 422
    line = traced.receiver.line(of_trace(trace_id, "refusal"))
    assert line.attributes["request_id"] == answer.json()["request_id"]


@pytest.mark.parametrize("sent", [{}, {"traceparent": "00-0-0-00"}], ids=["none", "invalid"])
def test_a_call_without_a_trace_begins_one(traced: Traced, sent: dict[str, str]) -> None:
    """The span of a call that names no trace is the root of a new one, which is recorded."""
    answer = call(traced.shop, RUNTIME, EVENT, **sent)
    trace_id, span_id = said(answer)
    assert traced.recorded(answer.json()["decision_id"])["trace_id"] == trace_id
    span = traced.receiver.span(trace_id)
    assert (span.span_id, span.parent_id) == (span_id, "")


def test_a_caller_decides_whether_its_trace_is_sampled(traced: Traced) -> None:
    """A call whose caller's span isn't sampled has no span, and is in the trace all the same."""
    answer = call(traced.shop, RUNTIME, EVENT, traceparent=traceparent("6" * 32, "00"))
    assert said(answer)[0] == "6" * 32
    assert traced.recorded(answer.json()["decision_id"])["trace_id"] == "6" * 32
    traced.call(RUNTIME, EVENT, "7" * 32)
    traced.receiver.span("7" * 32)
    assert not [each for each in traced.receiver.spans if each.trace_id == "6" * 32]


def test_nothing_that_a_caller_keeps_secret_leaves(traced: Traced) -> None:
    """Neither key, body, cookies nor query are in what the receiver gets, whose key is sent."""
    event = {"request": {"path": "/login?token=s3cret-1", "cookies": {"sid": "s3cret-2"}}}
    traced.call(RUNTIME, event, "8" * 32, cookie="sid=s3cret-3", **{"user-agent": "s3cret-4"})
    ask(traced.shop, traceparent=traceparent("9" * 32), cookie="sid=s3cret-5")
    traced.receiver.span("8" * 32)
    traced.receiver.span("9" * 32)
    sent = b"".join(traced.receiver.raw)
    assert b"s3cret" not in sent
    assert b"hidden" not in sent
    assert traced.shop.key.encode() not in sent
    assert {each["api-key"] for each in traced.receiver.headers} == {"k,1"}


def test_what_was_sent_is_counted(traced: Traced) -> None:
    """The figures of the process say how many spans and log lines were sent, and none dropped."""
    traced.call(RUNTIME, EVENT, "a" * 32)
    traced.receiver.span("a" * 32)
    for signal, taken in (("spans", traced.receiver.spans), ("logs", traced.receiver.logs)):
        wait_until(lambda: traced.figure("waiting", signal) == 0)  # noqa: B023
        assert 0 < traced.figure("sent_total", signal) <= len(taken)
        assert traced.figure("dropped_total", signal) == 0


@pytest.fixture(scope="module")
def untraced(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[Deciding]:
    """A tenant of a service of two workers that sends nothing."""
    with deciding(tmp_path_factory.mktemp("untraced"), server_workers="2", **SETTINGS) as service:
        yield service.tenant()


@pytest.mark.parametrize("partition", [0, 1])
@pytest.mark.parametrize("more", [{}, {"x-request-id": "not plain"}], ids=["plain", "parsed"])
def test_a_trace_is_recorded_without_a_receiver_too(
    untraced: Deciding, partition: int, more: dict[str, str]
) -> None:
    """Both workers keep the trace, whichever decides, and say the caller's own span again."""
    shop = through(untraced, partition)
    trace_id = f"{partition}{len(more)}".rjust(32, "b")
    sent = traceparent(trace_id)
    for place in (RUNTIME, BEACON):
        answer = call(shop, place, EVENT, traceparent=sent, **more)
        assert answer.headers.get_list("traceresponse") == [sent]
        decision_id = answer.json().get("decision_id") or answer.json()["item_id"]
        assert shop.get(f"decisions/{decision_id}")["trace_id"] == trace_id
    batch = call(shop, BATCH, [EVENT, EVENT], traceparent=sent, **more)
    assert batch.headers.get_list("traceresponse") == [sent]
    for each in batch.json():
        assert shop.get(f"decisions/{each['item_id']}")["trace_id"] == trace_id
    assert ask(shop, traceparent=sent).headers.get_list("traceresponse") == [sent]
    refused = call(shop, RUNTIME, {"request": 1}, traceparent=sent, **more)
    assert (refused.status_code, refused.headers.get_list("traceresponse")) == (422, [sent])


@pytest.mark.parametrize("partition", [0, 1])
@pytest.mark.parametrize("sent", [{}, {"traceparent": "00-0-0-00"}], ids=["none", "invalid"])
def test_no_trace_is_made_up_without_a_receiver(
    untraced: Deciding, partition: int, sent: dict[str, str]
) -> None:
    """A call without a valid trace has none in its answer and record."""
    shop = through(untraced, partition)
    for place in (RUNTIME, BATCH):
        answer = call(shop, place, EVENT if place == RUNTIME else [EVENT], **sent)
        assert "traceresponse" not in answer.headers
    assert "traceresponse" not in ask(shop, **sent).headers
    decided = call(shop, RUNTIME, EVENT, **sent).json()
    assert shop.get(f"decisions/{decided['decision_id']}")["trace_id"] is None


def test_a_call_that_another_process_decides_is_one_trace(tmp_path: Path) -> None:
    """The worker that takes a call makes its span; the one that decides records its trace."""
    with receiving() as receiver:
        settings = {"telemetry_otlp_endpoint": receiver.url, "server_workers": "2"}
        with deciding(tmp_path, **settings) as service:
            shop = service.tenant()
            instances = []
            for partition in (0, 1):
                trace_id = f"{partition}".rjust(32, "c")
                at = through(shop, partition)
                answer = call(at, RUNTIME, EVENT, traceparent=traceparent(trace_id))
                parsed = call(at, RUNTIME, EVENT, traceparent=traceparent("d" + trace_id[1:]),
                              **{"x-request-id": "not plain"})  # fmt: skip
                for each in (answer, parsed):
                    found, span_id = said(each)
                    span = receiver.span(found)
                    decision_id = each.json()["decision_id"]
                    assert (span.span_id, span.parent_id) == (span_id, PARENT.decode())
                    assert span.attributes["tidegate.decision.id"] == decision_id
                    assert shop.get(f"decisions/{decision_id}")["trace_id"] == found
                    instances.append(span.resource["service.instance.id"])
            assert instances == ["0", "0", "1", "1"]


def test_a_receiver_that_refuses_costs_no_decision(tmp_path: Path) -> None:
    """Calls are answered as ever; what isn't taken is counted, and the log says so."""
    with receiving(status=400) as receiver:
        settings = {"telemetry_otlp_endpoint": receiver.url, **SETTINGS}
        with deciding(tmp_path, **settings) as service:
            shop = service.tenant()
            assert call(shop, RUNTIME, EVENT).status_code == 200
            wait_until(lambda: figure(service, "dropped_total", "spans") == 1)
            assert figure(service, "sent_total", "spans") == 0


def test_a_receiver_that_is_away_costs_no_decision(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Calls are answered as ever, the log says what fails, and the stop is bounded."""
    settings = {"telemetry_otlp_endpoint": "http://127.0.0.1:9", **SETTINGS}
    with deciding(tmp_path, **settings) as service:
        shop = service.tenant()
        assert call(shop, RUNTIME, EVENT).status_code == 200
        wait_until(lambda: figure(service, "dropped_total", "logs") > 0)
    logged = [orjson.loads(line) for line in capfd.readouterr().err.splitlines()]
    failed = [each for each in logged if "export" in each["event"]]
    assert failed, logged
    assert {each["level"] for each in failed} <= {"warning", "error"}


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("OTLP_ENDPOINT", "collector:4318", "it must be http:// or https:// and a host"),
        ("OTLP_ENDPOINT", "http://user:secret@host:4318", "it must be http:// or https://"),
        ("OTLP_ENDPOINT", "http://host:99999999", "it must be http:// or https://"),
        ("OTLP_HEADERS", "secret", "it must be NAME=VALUE"),
        ("SAMPLE_RATIO", "1.5", "it must be 0 to 1"),
        ("OTLP_HEADERS", "api-key=secret", "nothing is sent without `telemetry.otlp_endpoint`"),
        ("SAMPLE_RATIO", "0.5", "nothing is sent without `telemetry.otlp_endpoint`"),
    ],
)
def test_a_setting_that_cannot_be_used_ends_the_start(
    tmp_path: Path, setting: str, value: str, said: str
) -> None:
    """The message names the setting, and how to write it; it has no secret in it."""
    done = subprocess.run(
        [sys.executable, "-m", "tidegate", "serve"],
        env={
            "PATH": "",
            "PYTHONPATH": ":".join(sys.path),
            "HOME": str(tmp_path),
            f"TIDEGATE_TELEMETRY_{setting}": value,
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2, done.stderr
    assert f"telemetry.{setting.lower()}" in " ".join(done.stderr.split())
    assert said in " ".join(done.stderr.split())
    assert "=secret" not in done.stderr


def test_a_missing_extra_is_said_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the libraries the setting can't be used, and the message says what to install."""
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    monkeypatch.delitem(sys.modules, "tidegate_server.telemetry.otlp", raising=False)
    monkeypatch.delattr("tidegate_server.telemetry.otlp", raising=False)
    settings = TelemetrySettings(otlp_endpoint="http://127.0.0.1:4318")
    with pytest.raises(SettingsError, match=r"pip install 'tidegate\[otlp\]'"):
        need_telemetry(settings)
