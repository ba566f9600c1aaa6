"""Responses of the service, as objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import attrs

from tidegate.client.errors import ClientError, service_error
from tidegate.decider import DEFAULT_STATUS, Action, Allow, Block, Challenge, Decision

if TYPE_CHECKING:
    from tidegate.client.answer import Answer
    from tidegate.decider import Reason

FailMode: TypeAlias = Literal["open", "closed", "raise"]


@attrs.frozen(kw_only=True)
class RuntimeDecision(Decision):
    """The decision on one request.

    ``is_fallback`` means that the service did not decide: the fail mode did, because of ``error``.
    Such a result has no ``decision_id``, and ``reason`` is ``fail-open`` or ``fail-closed``.
    """

    idempotency_key: str
    is_replayed: bool = False
    """Whether the service repeats an earlier response for the idempotency key."""
    is_fallback: bool = False
    error: ClientError | None = None


@attrs.frozen(kw_only=True)
class BeaconResponse:
    """The outcome of one event."""

    item_id: str
    lookup_entity_id: str | None
    """The entity of the first entity definition that applies; None if none does."""
    active_mitigation: str | None
    """``Challenge`` or ``Block`` if its actor is mitigated now."""


@attrs.frozen(kw_only=True)
class DeliveryCounts:
    """The events given to ``send`` so far.

    ``accepted`` is always ``delivered + failed + waiting``; dropped events were not accepted.
    """

    accepted: int = 0
    delivered: int = 0
    failed: int = 0
    dropped: int = 0
    waiting: int = 0


@attrs.frozen(kw_only=True)
class FailedEvent:
    """An event that was not delivered, unchanged, and the reason."""

    event: Mapping[str, Any]
    idempotency_key: str
    error: ClientError
    attempts: int


def fallback(mode: Literal["open", "closed"], error: ClientError, key: str) -> RuntimeDecision:
    """The decision if the service gave none."""
    return RuntimeDecision(
        action=Block(503) if mode == "closed" else Allow(),
        reason="fail-closed" if mode == "closed" else "fail-open",
        idempotency_key=key,
        is_fallback=True,
        error=error,
    )


def read_decision(answer: Answer, key: str) -> RuntimeDecision:
    """The runtime decision in a response.

    Raises:
        ClientError: it is an error, or malformed.
    """
    match answer.json():
        case {"action": dict(found), **rest} if (action := _action(found)) is not None:
            decision_id, reason = rest.get("decision_id"), rest.get("reason")
            return RuntimeDecision(
                action=action,
                # Don't reject the response because of a reason that only a later service knows.
                reason=cast("Reason", reason if isinstance(reason, str) else ""),
                decision_id=decision_id if isinstance(decision_id, str) else None,
                idempotency_key=key,
                is_replayed=answer.is_replayed,
            )
    raise answer.unexpected("the answer is no runtime decision")


def _action(found: dict[str, Any]) -> Action | None:
    match found:
        case {"type": "allow"}:
            return Allow()
        case {"type": "challenge", "challenge": {"redirect_url": str(url)}}:
            return Challenge(redirect_url=url)
        case {"type": "block"}:
            return _block(found.get("block"))
    return None


def _block(found: object) -> Block | None:
    if found is None:
        return Block()
    if not isinstance(found, dict):
        return None
    status, body, headers = found.get("status_code"), found.get("body"), found.get("headers")
    headers = {} if headers is None else headers
    if (
        (status is None or (type(status) is int and 400 <= status <= 599))
        and (body is None or isinstance(body, str))
        and isinstance(headers, dict)
        and all(isinstance(value, str) for value in headers.values())
    ):
        return Block(DEFAULT_STATUS if status is None else status, body or "", headers)
    return None


def read_beacon(answer: Answer) -> BeaconResponse:
    """The result for one event.

    Raises:
        ClientError: it is an error, or malformed.
    """
    found = _beacon(answer.json())
    if found is None:
        raise answer.unexpected("the answer is no beacon event response")
    return found


def read_items(answer: Answer, count: int) -> list[BeaconResponse | ClientError]:
    """The results for a batch's events, in order.

    Raises:
        ClientError: the whole batch was rejected, or the response is malformed.
    """
    items = answer.json()
    if not isinstance(items, list) or len(items) != count:
        raise answer.unexpected(f"the answer is no array of {count} items")
    return [_item(answer, item) for item in items]


def _item(answer: Answer, item: object) -> BeaconResponse | ClientError:
    match item:
        case {"status": int(status), "problem": problem} if status >= 400:
            return service_error(status, problem)
    return _beacon(item) or answer.unexpected("an item of the answer has another shape")


def _beacon(found: object) -> BeaconResponse | None:
    match found:
        case {"item_id": str(item_id), **rest}:
            entity = rest.get("lookup_entity_id")
            mode = None
            if isinstance(active := rest.get("active_mitigation"), dict):
                mode = active.get("decision")
            return BeaconResponse(
                item_id=item_id,
                lookup_entity_id=entity if isinstance(entity, str) else None,
                active_mitigation=mode if isinstance(mode, str) else None,
            )
    return None


def read_proof(answer: Answer) -> bool:
    """Whether a proof is valid.

    Raises:
        ClientError: the response is an error, or malformed.
    """
    match answer.json():
        case {"valid": bool(valid)}:
            return valid
    raise answer.unexpected("the answer is no verdict on a proof")
