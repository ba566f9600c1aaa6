"""The decision in the answer to a hot call."""

from __future__ import annotations

import msgspec


class _Named(msgspec.Struct):
    type: str = ""
    decision: str = ""


class _Answer(msgspec.Struct):
    decision_id: str = ""
    action: _Named | None = None
    item_id: str = ""
    active_mitigation: _Named | None = None


_ANSWERS = msgspec.json.Decoder(_Answer)
_MODES = {"Challenge": "challenge", "Block": "block"}


def decision_in(body: bytes) -> tuple[str, str] | None:
    """Return the id and the action of the decision in an answer; None if it has none.

    Args:
        body: as a caller of ``runtime/mitigation`` or ``beacon/event`` gets it.
    """
    try:
        answer = _ANSWERS.decode(body)
    except msgspec.DecodeError:
        return None
    if answer.action is not None and answer.decision_id:
        return answer.decision_id, answer.action.type
    mode = "" if answer.active_mitigation is None else answer.active_mitigation.decision
    return (answer.item_id, _MODES.get(mode, "allow")) if answer.item_id else None
