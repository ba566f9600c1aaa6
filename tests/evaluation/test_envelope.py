"""What is known of an event before it is decided on, the same from both."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings

from shared_data import shared_lines
from tidegate.errors import EventError
from tidegate.evaluation import envelope as reference
from tidegate.evaluation import native
from tidegate.testing.strategies import event_bytes


def outcome(read: Any, body: bytes) -> tuple[object, ...]:
    try:
        made = read(body)
    except EventError as error:
        return ("refused", error.pointer)
    return (made.idempotency_key, made.tenant_id, made.source, made.empty)


@pytest.mark.parametrize("read", [reference.envelope, native.envelope])
class TestEither:
    def test_members_about_the_event_are_taken_out(self, read: Any) -> None:
        """Absent and null are the same."""
        body = b'{"idempotency_key":"k\\n","tenant_id":null,"source":"","request":{"path":"/"}}'
        assert outcome(read, body) == ("k\n", None, "", False)

    @pytest.mark.parametrize(
        ("text", "empty"),
        [
            ("{}", True),
            ('{"request":null,"fields":{}}', True),
            ('{"request":{"path":null,"other":null},"fields":{"a":null}}', True),
            ('{"source":"x","other":{"a":1}}', True),
            ('{"request":{"headers":{}}}', False),
            ('{"request":{"other":0}}', False),
            ('{"fields":{"a":""}}', False),
            ('{"fields":{"body":{}}}', False),
        ],
    )
    def test_an_event_is_empty_without_request_and_fields(
        self, read: Any, text: str, empty: bool
    ) -> None:
        """A member that is null is absent."""
        assert outcome(read, text.encode())[3] is empty

    @pytest.mark.parametrize(
        ("text", "pointer"),
        [
            (b"[]", ""),
            (b"{", ""),
            (b'{"source":1}', "/source"),
            (b'{"idempotency_key":{}}', "/idempotency_key"),
            (b'{"tenant_id":[]}', "/tenant_id"),
            (b'{"request":{"method":1}}', "/request/method"),
            (b'{"source":"a","source":"b"}', ""),
            (b'{"observed_at":"now"}', "/observed_at"),
            (b" " * 65_537, ""),
        ],
    )
    def test_what_a_decision_would_refuse_is_refused(
        self, read: Any, text: bytes, pointer: str
    ) -> None:
        """With the same pointer."""
        assert outcome(read, text) == ("refused", pointer)


@settings(max_examples=300)
@given(event_bytes())
def test_both_read_generated_events_alike(body: bytes) -> None:
    """Equal members, or equal refusals."""
    assert outcome(native.envelope, body) == outcome(reference.envelope, body)


def test_both_read_recorded_traffic_alike() -> None:
    """Events of the recorded traffic."""
    for event in shared_lines("data/traffic/events.jsonl.gz")[::200]:
        body = orjson.dumps(event)
        assert outcome(native.envelope, body) == outcome(reference.envelope, body)
