"""Traces of calls that one node takes and another decides."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2 as httpx
import orjson
import pytest
from tests.server.telemetry.receiver import Receiver, receiving
from tests.server.telemetry.test_otlp import of_trace, said, traceparent
from tests.server.telemetry.test_trace_context import PARENT
from tools import plain_http
from tools.cluster import EVENT, Cluster, Node, cluster

pytestmark = pytest.mark.usefixtures("postgresql")


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    """A receiver of OTLP."""
    with receiving() as running:
        yield running


@pytest.fixture(scope="module")
def made(
    tmp_path_factory: pytest.TempPathFactory, postgresql: None, receiver: Receiver
) -> Iterator[Cluster]:
    """A cluster whose nodes send to the receiver."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TIDEGATE_TELEMETRY_OTLP_ENDPOINT", receiver.url)
        with cluster(tmp_path_factory.mktemp("cluster")) as running:
            yield running


def decide(made: Cluster, node: Node, body: object, **headers: str) -> httpx.Response:
    """A call at a node."""
    return plain_http.post(
        f"{node.base_url}/api/v1/runtime/mitigation",
        content=orjson.dumps(body),
        headers={
            "content-type": "application/json",
            "x-service-api-key": made.demo.api_key,
            **headers,
        },
        timeout=30,
    )


@pytest.mark.parametrize("more", [{}, {"x-request-id": "not plain"}], ids=["plain", "parsed"])
def test_a_call_is_one_trace_whichever_node_takes_it(
    made: Cluster, receiver: Receiver, more: dict[str, str]
) -> None:
    """The node that takes a call makes its span; the owner's record and log have the trace."""
    for number, (name, node) in enumerate(made.nodes.items()):
        trace_id = f"{number}{len(more)}".rjust(32, "e")
        answer = decide(made, node, EVENT, traceparent=traceparent(trace_id), **more)
        decision_id = answer.json()["decision_id"]
        span = receiver.span(trace_id)
        assert said(answer) == (trace_id, span.span_id)
        assert span.parent_id == PARENT.decode()
        assert span.resource["service.instance.id"] == name
        assert span.attributes["tidegate.decision.id"] == decision_id
        recorded = plain_http.get(
            f"{node.base_url}/api/v1/tenants/{made.demo.tenant_id}/decisions/{decision_id}",
            headers={"authorization": f"Bearer {made.demo.owner_token}"},
            timeout=30,
        ).json()
        assert recorded["trace_id"] == trace_id
        refused = decide(made, node, {"request": 1}, traceparent=traceparent(trace_id), **more)
        assert refused.headers.get_list("traceresponse") == [refused.headers["traceresponse"]]
        assert said(refused)[0] == trace_id
        line = receiver.line(of_trace(trace_id, "refusal"))
        assert line.resource["service.instance.id"] == made.owner().name
