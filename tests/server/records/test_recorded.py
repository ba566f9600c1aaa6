"""Recorded decisions that are odd, or that no longer are decisions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson
import pytest

from tidegate_server.records.decisions import require_sound
from tidegate_server.records.kept import Kept
from tidegate_server.records.rows import rows_of
from tidegate_server.stores.base import DamagedLogError
from tidegate_server.stores.decision_log.decisions import FoundDecision
from tidegate_server.stores.decision_log.lines import LogLine, encode_line, read_event
from tidegate_server.stores.decision_log.recorded import record_in

KEPT = Kept(None, None)
NAME = UUID(int=7)
RECORD: dict[str, Any] = {
    "action": {"type": "allow"},
    "reason": "no-match",
    "policy": None,
    "clause": None,
    "mitigation": None,
    "entities": [],
    "matched_actions": [],
    "fired": [],
    "errors": {},
}
ENTITY = {"definition": "address", "entity_id": str(NAME), "key": ["192.0.2.1"]}
DAMAGED_RECORDS: dict[str, Any] = {
    "empty": {},
    "of another kind": [],
    "no id": {**RECORD, "entities": [{**ENTITY, "entity_id": "none"}]},
    "no key": {**RECORD, "entities": [{**ENTITY, "key": None}]},
    "no action": {**RECORD, "action": {}},
    "a challenge of nothing": {**RECORD, "action": {"type": "challenge"}},
    "a proof of nothing": {**RECORD, "proof": {"pass_id": "x"}},
}


def line(record: Any = RECORD, event: bytes = b'{"request":{"method":"GET"}}') -> bytes:
    """A line of the log."""
    parts = (b"{}", orjson.dumps(record), b"[]", event)
    return encode_line(str(NAME), 5, None, b"null", "runtime", None, 1, 5, *parts)


def found(seq: int) -> FoundDecision:
    """A decision as the index has it."""
    return FoundDecision(
        tenant_id=NAME,
        decision_id=UUID(int=seq),
        seq=seq,
        received_at_ns=5,
        observed_at_ns=5,
        action="allow",
        reason="no-match",
        policy_id=None,
        path="/",
        api_key_id=None,
        entity_ids=(),
        fired=(),
    )


@pytest.mark.parametrize("what", DAMAGED_RECORDS)
def test_a_record_that_is_not_one_is_damage_with_its_number(what: str) -> None:
    """A decision with a damaged record is refused where it is shown by itself."""
    damaged = LogLine(3, NAME, line(DAMAGED_RECORDS[what])).decision()
    with pytest.raises(DamagedLogError) as error:
        require_sound(damaged, 3)
    assert error.value.seq == 3
    require_sound(LogLine(3, NAME, line()).decision(), 3)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"null",
        b"\xff",
        line()[:-1],
        line().replace(b'"effects"', b'"affects"'),
        line().replace(str(NAME).encode(), b"x"),
        line().replace(b'"received_at":5', b'"received_at":1.5'),
    ],
)
def test_a_line_that_is_not_a_decision_is_damage_with_its_number(text: bytes) -> None:
    """Whatever stands in a line: its reading ends in an error that names it."""
    damaged = LogLine(4, NAME, text)
    with pytest.raises(DamagedLogError) as error:
        require_sound(damaged.decision(), damaged.seq)
    assert error.value.seq == 4


def test_a_damaged_decision_is_shown_in_a_list_with_its_id() -> None:
    """The others are shown as they are."""
    lines = {
        1: line(),
        2: line(event=b'{"request":'),
        3: line({**RECORD, "entities": [1]}),
        5: line(event=b'{"n":1e999,"request":{"method":"PUT"}}'),
    }
    rows = rows_of([found(seq) for seq in range(1, 6)], lines, KEPT)
    assert [each.decision_id for each in rows] == [UUID(int=seq) for seq in range(1, 6)]
    assert [each.damaged for each in rows] == [False, True, True, True, False]
    assert [each.method for each in rows] == ["GET", None, None, None, "PUT"]


def test_numbers_of_an_event_are_read_as_they_are_written() -> None:
    """Also those that no number of Python holds."""
    event = b'{"a":1e999,"b":-0,"c":1.50,"d":123456789012345678901234567890,"e":"\\u0000"}'
    assert read_event(event) == {
        "a": "1e999",
        "b": "-0",
        "c": "1.50",
        "d": "123456789012345678901234567890",
        "e": "\x00",
    }
    with pytest.raises(ValueError, match="object"):
        read_event(b"[]")


def test_a_line_of_an_odd_event_has_its_record() -> None:
    """The event in a line is not looked at for its record."""
    assert record_in(line({**RECORD, "clause": "c"}, b'{"a":1e999}'), 1).clause == "c"
