"""The answer and the log entry of a hot call: the definition to which native blocks are held."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from uuid import UUID

import attrs
import orjson
from xxhash import xxh3_64_intdigest, xxh3_128_intdigest

from tidegate.evaluation.encoder import encode
from tidegate.evaluation.envelope import envelope
from tidegate.evaluation.json_text import Node, read_json
from tidegate.policy.proofs import ChallengeContext
from tidegate.types import STRING
from tidegate_server.stores.decision_log.lines import encode_index, encode_line

if TYPE_CHECKING:
    from tidegate.policy.proofs import ProofKeys
    from tidegate.policy.served import Served

_NO_ERRORS = b'"errors":{}}'
"""The end of a record in which no expression failed."""


@attrs.frozen
class Surroundings:
    """The values shared by all calls of a tenant.

    Args:
        tenant_id: whose they are.
        revision: of the definitions.
        policy_ids: from slug to id.
        redact: makes what is kept of an event.
        base_url: of the service.
        hash_key: what idempotency keys are hashed with.
        proof_keys: seal what challenges need; without, nothing is sealed.
    """

    tenant_id: UUID
    revision: int
    policy_ids: Mapping[str, str]
    redact: Callable[[bytes], bytes]
    base_url: str
    hash_key: bytes
    proof_keys: ProofKeys | None = None

    def identify(self, endpoint: str, key: str) -> bytes:
        """16 bytes that stand for an idempotency key."""
        text = b"%b%b\0%b" % (self.tenant_id.bytes, endpoint.encode(), key.encode())
        return hashlib.blake2b(text, digest_size=16, key=self.hash_key).digest()


@attrs.frozen
class LoggedCall:
    """A call as it came."""

    endpoint: str
    body: bytes
    api_key_id: str
    decision_id: str
    received_at: int


@attrs.frozen
class Entry:
    """The results of a decision."""

    answer: bytes
    line: bytes
    index: bytes


def entry(around: Surroundings, call: LoggedCall, served: Served, duration_us: int) -> Entry:
    """The answer, the line and the index entry of a decision."""
    known = envelope(call.body)
    pair = None
    if known.idempotency_key is not None:
        identity = around.identify(call.endpoint, known.idempotency_key)
        pair = identity, fingerprint(call.body)
    answer = answer_of(around, call, served)
    line = encode_line(
        call.decision_id,
        call.received_at,
        call.api_key_id,
        orjson.dumps(known.source),
        call.endpoint,
        pair,
        around.revision,
        duration_us,
        answer,
        served.record,
        served.effects,
        around.redact(call.body),
        sealed_of(around, call, served),
    )
    ids = around.policy_ids
    index = encode_index(
        str(around.tenant_id),
        call.decision_id,
        call.received_at,
        call.api_key_id,
        pair,
        served.observed_at,
        served.action,
        served.reason,
        None if served.policy is None else ids[served.policy],
        served.path,
        served.entity_ids,
        [(ids[slug], mode) for slug, mode in served.fired],
        failed_policies(ids, served.record),
    )
    return Entry(answer, line, index)


def answer_of(around: Surroundings, call: LoggedCall, served: Served) -> bytes:
    """The body of the answer: the runtime decision, with ``decision_id`` and ``reason``, or the
    beacon event response of the interface specification.
    """
    if call.endpoint == "beacon":
        fired = orjson.loads(served.record)["fired"]
        monitors = "Monitor" if any(each["mitigation"] for each in fired) else None
        mode = served.mode or monitors
        return orjson.dumps(
            {
                "item_id": call.decision_id,
                "lookup_entity_id": served.entity_id,
                "active_mitigation": None if mode is None else {"decision": mode},
            }
        )
    if served.action != "challenge":
        return served.answer
    redirect = f"{around.base_url}/api/v1/challenge/{call.decision_id}"
    return orjson.dumps(
        {
            "action": {"type": "challenge", "challenge": {"redirect_url": redirect}},
            "reason": served.reason,
            "decision_id": call.decision_id,
        }
    )


def sealed_of(around: Surroundings, call: LoggedCall, served: Served) -> bytes | None:
    """The sealed context for a challenge; None for any other decision."""
    keys = around.proof_keys
    if keys is None or served.action != "challenge":
        return None
    names = ("request.client_ip", "request.user_agent", "return_url")
    fields = encode(call.body, names, variables={"return_url": STRING})
    client = keys.client(fields["request.client_ip"], fields["request.user_agent"])
    context = ChallengeContext(fields.get("return_url") or None, client)
    return keys.seal(UUID(call.decision_id), context)


def failed_policies(policy_ids: Mapping[str, str], record: bytes) -> list[str]:
    """Ids of the policies an expression of which failed; ``""`` for actions and entities."""
    if record.endswith(_NO_ERRORS):
        return []
    failed: dict[str, None] = {}
    for place in orjson.loads(record)["errors"]:
        section, slug, *_ = place.split(".", 2)
        failed[policy_ids[slug] if section == "policies" else ""] = None
    return list(failed)


def fingerprint(body: bytes) -> bytes:
    """16 bytes that stand for what a body says: the sum over its values, each hashed with its
    place."""
    return (_meaning(read_json(body), 0) % 2**128).to_bytes(16, "big")


def _meaning(node: Node, place: int) -> int:
    match node.kind:
        case "string":
            return _leaf(b'"', str(node.content), place)
        case "number":
            return _leaf(b"0", str(node.content), place)
        case "bool":
            return _leaf(b"w", "true" if node.content else "false", place)
        case "null":
            return _leaf(b"w", "null", place)
        case "array":
            within = xxh3_64_intdigest(b"[", place)
            parts = ((at.to_bytes(8, "little"), each) for at, each in enumerate(node.content))
        case _:
            within = xxh3_64_intdigest(b"{", place)
            parts = ((name.encode(), each) for name, each in node.content.items())
    kind = b"[" if node.kind == "array" else b"{"
    inner = (_meaning(each, xxh3_64_intdigest(part, within)) for part, each in parts)
    return _leaf(kind, "", place) + sum(inner)


def _leaf(kind: bytes, text: str, place: int) -> int:
    return xxh3_128_intdigest(text.encode(), xxh3_64_intdigest(kind, place))
