"""Puts what is found of signatures into events, before the decision, so it is recorded with them.

Only events whose request has ``Signature-Input`` are looked at, of tenants that accept keys; other
events of these tenants pay for a search of their text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs
import msgspec
import orjson

from tidegate_server.signatures.message import Message
from tidegate_server.signatures.nonces import Nonces
from tidegate_server.signatures.verify import SKEW_SECONDS, find

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate_server.engines.tenant import Tenant
    from tidegate_server.turns.call import HotCall

SECOND_NS = 1_000_000_000
UNREADABLE = {"signature_problem": "unreadable"}
MOST_TENANTS = 10_000
"""Tenants whose nonces are known; with more, all are forgotten."""

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


@attrs.define
class Signatures:
    """The signatures of a process.

    Attributes:
        since: when it began to decide, in nanoseconds since 1970.
    """

    since: int
    _nonces: dict[tuple[UUID, str], Nonces] = attrs.field(factory=dict, init=False)

    def find(self, tenant: Tenant, calls: Sequence[HotCall], at: int) -> None:
        """Put findings into the events of calls.

        An event that has a finding keeps it: its source, or an earlier step, made it.

        Args:
            tenant: of all calls; one step at a time.
            calls: those that may be signed; their bodies are replaced.
            at: nanoseconds since 1970.
        """
        for call in calls:
            self._find(tenant, call, at)

    def _find(self, tenant: Tenant, call: HotCall, at: int) -> None:
        try:
            members = _MEMBERS.decode(call.body)
        except msgspec.DecodeError:
            return  # it is refused when it is read
        if "agent" in members or not is_signed(bytes(members.get("request", b""))):
            return
        try:
            request, fields, named = (
                orjson.loads(bytes(members[name])) if name in members else None
                for name in ("request", "fields", "idempotency_key")
            )
        except orjson.JSONDecodeError:
            # An accepted event may have a number that no double holds.
            call.body = with_finding(call.body, UNREADABLE)
            return
        if not isinstance(request, dict) or not isinstance(request.get("headers"), dict):
            return
        message = Message(request, _body(fields))
        if "signature-input" not in message.headers:
            return
        nonces = self._nonces_of((tenant.tenant_id, call.endpoint.name), at)

        def uses(key_id: str, nonce: str, created: int) -> bool:
            own = named if isinstance(named, str) else ""
            return nonces.use(key_id, nonce, created, own, _first_second(at))

        found = find(message, tenant.directories, at / SECOND_NS, uses)
        if found is not None:
            call.body = with_finding(call.body, found)

    def _nonces_of(self, place: tuple[UUID, str], at: int) -> Nonces:
        known = self._nonces.get(place)
        if known is None:
            if len(self._nonces) >= MOST_TENANTS:
                self._nonces.clear()
                self.since = at
            known = self._nonces[place] = Nonces(_first_second(self.since))
        return known


def signed_among(tenant: Tenant, calls: Sequence[HotCall]) -> Sequence[HotCall]:
    """Return the calls that may be signed; none of a tenant that accepts no keys."""
    return [each for each in calls if is_signed(each.body)] if tenant.directories.all else ()


def is_signed(body: bytes) -> bool:
    """Tell whether an event may have ``Signature-Input``."""
    return b"signature-input" in body.lower()


def with_finding(body: bytes, found: dict[str, str]) -> bytes:
    """Return an event with a finding as its first member; all else stays as it was sent."""
    start = body.index(b"{") + 1
    return b'%b"agent":%b,%b' % (body[:start], orjson.dumps(found), body[start:])


def _first_second(at: int) -> int:
    """Return the first second whose signatures can't have been made before a moment."""
    return at // SECOND_NS + 1 + SKEW_SECONDS


def _body(fields: Any) -> str | None:
    body = fields.get("body") if isinstance(fields, dict) else None
    return body if isinstance(body, str) else None
