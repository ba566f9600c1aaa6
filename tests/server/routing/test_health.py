"""Health, readiness and metrics of a running service."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from uuid import UUID, uuid4

import attrs
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from tests.address_databases import write
from tests.server.challenges.gate import gate_of
from tests.server.deciding import Deciding, Service, deciding
from tests.server.serving import Served
from tests.server.telemetry.receiver import receiving

from tidegate_server.control.runtime import LiveRuntime, NoRuntime
from tidegate_server.engines.compiled import CompiledSet
from tidegate_server.engines.engines import Runtimes
from tidegate_server.hot.metrics import Figures, HotMetrics, Shown
from tidegate_server.operators.keys import load_keys
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.sqlite import SqliteStore

WAIT_SECONDS = 30.0
DOCS = Path(__file__).parents[3] / "docs" / "service.md"


def test_a_running_service_is_alive_and_ready(service: Service) -> None:
    """Health and readiness need no credential and are never cached."""
    for path, status in (("/healthz", "ok"), ("/readyz", "ready")):
        answer = service.http.get(path)
        assert (answer.status_code, answer.json()) == (200, {"status": status})
        assert answer.headers["cache-control"] == "no-store"


def test_what_cannot_decide_lives_but_is_not_ready(served: Served) -> None:
    """A control plane without engines: alive, not ready, and it says so as a problem."""
    assert served.http.get("/healthz").status_code == 200
    answer = served.http.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["code"] == "not-ready"
    assert answer.headers["retry-after"] == "1"


async def compiled_nowhere(_: UUID, __: int | None) -> CompiledSet:
    """A compiler for tests in which nothing is compiled."""
    raise AssertionError


def test_a_log_that_cannot_be_written_is_not_ready(tmp_path: Path) -> None:
    """A service is not ready at its start, while the log cannot be written, and at its stop."""

    @attrs.define
    class Log:
        is_deciding: bool = True

    url = f"sqlite:///{tmp_path / 'data' / 'tidegate.db'}"
    migrate(url)
    store = SqliteStore(url)
    live = LiveRuntime(
        store, Runtimes(store, load_keys(tmp_path / "keys"), compiled_nowhere), HotMetrics()
    )
    reason = live.why_not_ready()
    assert reason is not None
    assert "starting" in reason
    log = Log()
    live.recorder, live.is_ready = log, True  # type: ignore[assignment]
    assert live.why_not_ready() is None
    log.is_deciding = False
    assert live.why_not_ready() == "the decision log cannot be written"
    store.close()


def test_metrics_count_what_is_decided(shop: Deciding) -> None:
    """Decisions by endpoint and action, failed expressions, the state, the queue, the index."""

    def read() -> dict[str, float]:
        page = shop.service.http.get("/metrics")
        assert page.headers["content-type"].startswith("text/plain")
        lines = (line.rpartition(" ") for line in page.text.splitlines() if line[0] != "#")
        return {name: float(value) for name, _, value in lines}

    def gathered() -> dict[str, float]:
        """The figures, once those of the engines have been gathered again."""
        until = time.monotonic() + WAIT_SECONDS
        while True:
            found = read()
            if found["tidegate_state_keys"] > before["tidegate_state_keys"]:
                return found
            assert time.monotonic() < until
            time.sleep(0.05)

    before = read()
    shop.decide("/login")
    shop.decide("/", fields={"count": "no number"})
    after = gathered()
    allowed = 'tidegate_decisions_total{action="allow",endpoint="runtime"}'
    unmatched = 'tidegate_policy_decisions_total{action="allow",policy_id="",reason="no-match"}'
    assert after[unmatched] == before.get(unmatched, 0) + 2
    assert after[allowed] == before.get(allowed, 0) + 2
    assert after["tidegate_rule_errors_total"] == before["tidegate_rule_errors_total"] + 1
    assert after["tidegate_ready"] == 1
    for name in (
        "tidegate_definition_revision",
        "tidegate_evictions_total",
        "tidegate_index_lag",
        "tidegate_queue_age_seconds",
        "tidegate_snapshot_age_seconds",
        "tidegate_waiting_decisions",
    ):
        assert after[name] >= 0
    assert not [name for name in after if shop.tenant_id in name]


def test_decisions_are_counted_by_policy_and_reason(shop: Deciding) -> None:
    """The third login is blocked by a policy, the next request by the mitigation it set."""
    policy = shop.ids("policies")["stuffing"]
    for _ in range(3):
        shop.decide("/login", "192.0.2.99")
    shop.decide("/", "192.0.2.99")
    page = shop.service.http.get("/metrics").text
    for reason in ("policy", "active-mitigation"):
        labels = f'action="block",policy_id="{policy}",reason="{reason}"'
        assert f"tidegate_policy_decisions_total{{{labels}}} 1.0" in page


def test_a_policy_that_answered_has_its_name(shop: Deciding) -> None:
    """The metric joins the slug with the figures of the policy."""
    policies = shop.ids("policies")
    for _ in range(3):
        shop.decide("/login", "192.0.2.98")
    line = f'tidegate_policy_info{{policy="stuffing",policy_id="{policies["stuffing"]}"}} 1.0'
    until = time.monotonic() + WAIT_SECONDS
    while line not in shop.service.http.get("/metrics").text:
        assert time.monotonic() < until
        time.sleep(0.05)


def documented() -> dict[str, tuple[str, set[str], bool]]:
    """The metrics that the page *The service* lists: type, labels, whether everybody sees them."""
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?)\| (yes )?\|", DOCS.read_text(), re.MULTILINE)
    return {
        name: (kind, set(re.findall(r"`(\w+)`", labels)), bool(public))
        for name, kind, labels, public in rows
    }


def families(page: str) -> dict[str, Metric]:
    """The metrics of a page by name, as the reader of the Prometheus project reads them."""
    found = list(text_string_to_metric_families(page))
    total = {"counter": "_total"}
    by_name = {each.name + total.get(each.type, ""): each for each in found}
    assert len(by_name) == len(found)
    return by_name


def test_the_page_of_metrics_is_as_it_is_documented(tmp_path: Path, process: None) -> None:
    """Names, types, labels, and what is shown without a credential, by the official reader."""
    located = str(write(tmp_path / "country.mmdb"))
    options = {"metrics_token": "a token of metrics", "geo_databases": located}
    with (
        receiving() as receiver,
        deciding(tmp_path / "data", telemetry_otlp_endpoint=receiver.url, **options) as made,
    ):
        shop = made.tenant()
        for _ in range(3):  # the third is answered by a policy
            shop.decide("/login")
        shop.decide("/", address="unknown")
        gate_of(made).proof("192.0.2.7")
        for path in ("/nowhere", "/api/v1/me"):
            made.http.request("DELETE", path)
        made.http.post("/api/v1/runtime/mitigation", json={})
        until = time.monotonic() + WAIT_SECONDS
        token = {"authorization": "Bearer a token of metrics"}
        while not (whole := families(made.http.get("/metrics", headers=token).text)).keys() >= {
            "tidegate_policy_info"
        }:
            assert time.monotonic() < until
        public = families(made.http.get("/metrics").text)
    found = {
        name: (
            each.type,
            {label for sample in each.samples for label in sample.labels} - {"le"},
            name in public,
        )
        for name, each in whole.items()
    }
    for name, each in whole.items():
        if not each.samples:  # nothing was counted yet, so it has no labels
            kind, _, is_public = found[name]
            found[name] = (kind, documented()[name][1], is_public)
    assert found == documented()
    for name, each in whole.items():
        assert each.documentation, name
        assert name.startswith(("tidegate_", "process_", "python_")), name
        assert name.endswith("_total") == (each.type == "counter"), name
        assert not re.search("_(ms|us|ns|milliseconds|minutes|kib|mib|percent)(_|$)", name), name
    answered = whole["tidegate_control_duration_seconds"].samples
    routes = {(each.labels["route"], each.labels["status"]) for each in answered}
    assert {
        ("other", "4xx"),
        ("/api/v1/tenants/{tenant_id}/definitions", "2xx"),
    } <= routes
    assert not [route for route, _ in routes if shop.tenant_id in route]


def names(page: bytes) -> set[str]:
    return {line.partition(b" ")[0].decode() for line in page.splitlines() if line[:1] != b"#"}


def test_figures_of_tenants_are_not_shown_to_everybody(tmp_path: Path, process: None) -> None:
    """Figures of tenants need the token; without it only those of process and store are shown."""
    with deciding(tmp_path, metrics_token="a token of metrics") as made:
        anybody = made.http.get("/metrics")
        token = {"authorization": "Bearer a token of metrics"}
        knowing = made.http.get("/metrics", headers=token)
        wrong = made.http.get("/metrics", headers={"authorization": "Bearer another"})
    assert names(anybody.content) < names(knowing.content)
    assert {"tidegate_ready", "tidegate_failed_commits_total"} <= names(anybody.content)
    assert not [
        name
        for name in names(anybody.content)
        if re.search("tenant|decision_|policy|refus|rule|state|definition|evict|control", name)
        or name.startswith("tidegate_decisions_total")
    ]
    assert wrong.status_code == 401
    assert wrong.json()["code"] == "unauthenticated"


@pytest.mark.parametrize(
    ("public", "header", "shown"),
    [
        ("none", None, None),
        ("none", "Bearer right", Shown.ALL),
        ("health", None, Shown.HEALTH),
        ("health", "Bearer wrong", None),
        ("health", "Basic right", None),
        ("health", "bearer right", Shown.ALL),
        ("all", None, Shown.ALL),
        ("all", "Bearer wrong", Shown.ALL),
    ],
)
def test_who_sees_which_figures_is_a_setting(
    public: str, header: str | None, shown: Shown | None
) -> None:
    """The setting `none` shows nothing, and without a configured token no header helps."""
    assert Figures(public, "right").shown_to(header) is shown
    assert Figures(public, "").shown_to("Bearer ") is (Shown.ALL if public == "all" else None)


def test_nothing_is_known_where_nothing_decides() -> None:
    """The stand-in has no engine and lifts nothing."""
    nothing = NoRuntime()
    assert nothing.find(uuid4()) is None
    assert nothing.state_of(uuid4(), b"{}", 0) is None
    assert nothing.evictions(uuid4()) == 0
    assert nothing.lift(uuid4(), [], "ann", "r") is False
    assert nothing.metrics(Shown.ALL) == b""


def healthcheck(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "tidegate", "healthcheck", *arguments],
        capture_output=True,
        check=False,
    )


def test_the_command_asks_the_server(service: Service) -> None:
    """`tidegate healthcheck` exits with 0 when the server is ready."""
    done = healthcheck("--url", service.base_url)
    assert (done.returncode, done.stdout.strip()) == (0, b"ready")
    port = service.base_url.rpartition(":")[2]
    done = healthcheck("--server-port", port, "--live")
    assert (done.returncode, done.stdout.strip()) == (0, b"ok")


def test_the_command_fails_when_the_server_is_not_ready(served: Served, process: None) -> None:
    """1 when it cannot decide, with the reason."""
    done = healthcheck("--url", served.base_url)
    assert done.returncode == 1
    assert b"nothing decides here" in done.stderr


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "gopher://127.0.0.1"])
def test_the_command_fails_without_an_answer(address: str, process: None) -> None:
    """1 when nobody listens, 2 for what isn't an address."""
    done = healthcheck("--url", address)
    assert done.returncode == (1 if address.startswith("http") else 2)
    assert b"Traceback" not in done.stderr
