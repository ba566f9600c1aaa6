"""Hot calls in the plain form between nodes."""

from __future__ import annotations

import pytest

from tidegate_server.hot.hot_path import BEACON, RUNTIME
from tidegate_server.http.answer import Answer
from tidegate_server.http.exchange import headers_of
from tidegate_server.http.limits import MAX_BODY_BYTES
from tidegate_server.nodes.messages import Answered, Asked
from tidegate_server.nodes.plain import read_answer, read_plain, written
from tidegate_server.turns.call import HotCall

KEY = (b"x-service-api-key", b"tg_key")
JSON = (b"content-type", b"application/json")
TARGET = b"/api/v1/runtime/mitigation"


class Call(HotCall):
    """A call of a connection."""

    def answer(self, outcome: object) -> None:
        raise AssertionError(outcome)


def asked(*headers: tuple[bytes, bytes], **changes: object) -> Asked:
    """A request with some headers."""
    made = {"method": "POST", "target": TARGET, "body": b"{}", "client": None, "scheme": "http"}
    return Asked(**{**made, "headers": list(headers), **changes})  # type: ignore[arg-type]


def test_a_call_is_read_as_it_was_written() -> None:
    """An owner finds what the connection found: endpoint, credential, request id and body."""
    for endpoint in (RUNTIME, BEACON):
        for request_id in (None, b"call-1"):
            call = Call()
            call.endpoint, call.credential, call.body = endpoint, b"tg_key", b'{"request":{}}'
            call.request_id = request_id
            request = written(call)
            assert read_plain(request) == (endpoint, b"tg_key", request_id)
            assert request.body == call.body
            assert (b"content-length", b"14") in request.headers


def test_a_request_id_that_cannot_be_sent_back_is_not_read() -> None:
    """The owner makes one for a refusal, as at its own port."""
    assert read_plain(asked(KEY, JSON, (b"x-request-id", b"not one"))) == (RUNTIME, b"tg_key", None)


@pytest.mark.parametrize(
    "request_",
    [
        asked(KEY, JSON, method="GET"),
        asked(KEY, JSON, target=TARGET + b"?a=1"),
        asked(KEY, JSON, target=b"/api/v1/beacon/events"),
        asked(KEY, JSON, target=b"/authz"),
        asked(KEY, JSON, body=b" " * (MAX_BODY_BYTES + 1)),
        asked(JSON),
        asked(KEY),
        asked(KEY, KEY, JSON),
        asked(KEY, JSON, JSON),
        asked(KEY, (b"content-type", b"text/plain")),
        asked(KEY, JSON, (b"content-encoding", b"gzip")),
    ],
)
def test_every_other_request_is_left_to_the_application(request_: Asked) -> None:
    """Other methods and targets, and whatever a check of headers could refuse."""
    assert read_plain(request_) is None


def test_an_answer_keeps_its_headers_but_those_that_a_connection_writes() -> None:
    """Type and length are members of an answer or follow from it."""
    for answer in (
        Answer(b"{}"),
        Answer(b"[]", 429, ((b"retry-after", b"1"),), b"application/problem+json"),
    ):
        assert read_answer(Answered(answer.status, headers_of(answer), answer.body)) == answer
