"""A tenant's API keys: create, change, rotate, revoke. Their text is shown once."""

from __future__ import annotations

import base64
import secrets
from typing import TYPE_CHECKING, Any

from tidegate_server.control.call import Answer, Call
from tidegate_server.control.pages import page_by_id
from tidegate_server.http.authorise import SECOND
from tidegate_server.http.ids import new_id
from tidegate_server.http.problems import ErrorDetail, Problem
from tidegate_server.operators.key_ring import PREFIX_BYTES, SECRET_BYTES, make_key
from tidegate_server.stores.objects import api_keys
from tidegate_server.wire import api_keys as wire_api_keys
from tidegate_server.wire import audit as wire_audit
from tidegate_server.wire import common as wire_common

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Connection

    from tidegate_server.stores.objects.api_keys import ApiKey

_LAST = 2**63
"""The end of the times that the store can hold, in nanoseconds since 1970: in the year 2262."""


def list_(call: Call) -> Answer:
    """List all keys, including revoked and expired ones."""
    return page_by_id(
        call,
        lambda connection, limit, after: api_keys.page(connection, call.tenant_id, limit, after),
        lambda key: wire_api_keys.ApiKey(**_members(key)),
        lambda key: key.api_key_id,
    )


def create(call: Call) -> Answer:
    """Create a key, and return its text."""
    body: wire_api_keys.ApiKeyCreate = call.body
    made = make_key(secrets.token_bytes(PREFIX_BYTES + SECRET_BYTES), call.app.keys.pepper)
    key = api_keys.ApiKey(
        api_key_id=new_id(),
        tenant_id=call.tenant_id,
        name=body.name,
        source_id=body.source_id,
        trust_level=body.trust_level,
        can_sync=body.can_sync,
        rate_limit_per_minute=_rate_limit(call, body.rate_limit_per_minute),
        prefix=made.prefix,
        secret_hash=made.secret_hash,
        expires_at_ns=_require_expiry(call, _nanoseconds(body.expires_at)),
        created_at_ns=call.now,
        updated_at_ns=call.now,
    )

    answer = Answer(
        body=wire_api_keys.NewApiKey(key=made.text, **_members(key)),
        revision=key.revision,
        location=f"{call.path}/{key.api_key_id}",
    )

    def work(connection: Connection) -> None:
        api_keys.create(connection, key)
        call.audit(connection, "create", "api-key", key.api_key_id, after=_audited(key))
        call.keep(connection, answer)

    call.write(work)
    call.app.api_keys_changed(call.tenant_id)
    return answer


def read(call: Call) -> Answer:
    """Return one key, without its text."""
    with call.app.store.read() as connection:
        return _answer(api_keys.find(connection, call.tenant_id, call.ids["api_key_id"]))


def change(call: Call) -> Answer:
    """Change a key's name, source, trust level, limit or expiry."""
    given = wire_common.given(call.body)
    if "expires_at" in given:
        given["expires_at_ns"] = _nanoseconds(given.pop("expires_at"))

    def work(connection: Connection, key: ApiKey) -> None:
        # Unchanged values may exceed limits that a new value has to keep.
        values = {name: value for name, value in given.items() if getattr(key, name) != value}
        if "expires_at_ns" in values:
            _require_expiry(call, values["expires_at_ns"])
        if "rate_limit_per_minute" in values:
            limit = _rate_limit(call, values["rate_limit_per_minute"])
            values["rate_limit_per_minute"] = limit
        if any(getattr(key, name) != value for name, value in values.items()):
            api_keys.change(connection, call.tenant_id, key.api_key_id, call.now, **values)

    return _write(call, "update", work, _answer)


def rotate(call: Call) -> Answer:
    """Give a key a second secret, and return its text; the first stays valid for a while."""
    body: wire_api_keys.ApiKeyRotation = call.body
    texts: list[str] = []

    def work(connection: Connection, key: ApiKey) -> None:
        if key.revoked_at_ns is not None:
            raise Problem("conflict", "the key is revoked: make a new one")
        prefix = base64.b32decode(key.prefix.upper())
        made = make_key(prefix + secrets.token_bytes(SECRET_BYTES), call.app.keys.pepper)
        texts.append(made.text)
        until = call.now + body.overlap_seconds * SECOND
        api_keys.rotate(
            connection, call.tenant_id, key.api_key_id, made.secret_hash, until, call.now
        )

    def answer(key: ApiKey) -> Answer:
        return Answer(
            body=wire_api_keys.NewApiKey(key=texts[-1], **_members(key)), revision=key.revision
        )

    return _write(call, "rotate", work, answer)


def revoke(call: Call) -> Answer:
    """Revoke a key for good; decisions still name it."""

    def work(connection: Connection, key: ApiKey) -> None:
        api_keys.revoke(connection, call.tenant_id, key.api_key_id, call.now)

    return _write(call, "revoke", work, lambda _: Answer())


def _answer(key: ApiKey) -> Answer:
    return Answer(body=wire_api_keys.ApiKey(**_members(key)), revision=key.revision)


def _write(
    call: Call,
    action: str,
    work: Callable[[Connection, ApiKey], None],
    answer: Callable[[ApiKey], Answer],
) -> Answer:
    """Change the key in the path, audit it, and notify the hot path; return the answer."""
    api_key_id = call.ids["api_key_id"]

    def write(connection: Connection) -> Answer:
        before = api_keys.find(connection, call.tenant_id, api_key_id)
        call.require_revision(before.revision)
        work(connection, before)
        after = api_keys.find(connection, call.tenant_id, api_key_id)
        if after.revision != before.revision:
            call.audit(
                connection,
                action,
                "api-key",
                api_key_id,
                before=_audited(before),
                after=_audited(after),
            )
        made = answer(after)
        call.keep(connection, made)
        return made

    made = call.write(write)
    call.app.api_keys_changed(call.tenant_id)
    return made


def _rate_limit(call: Call, given: int | None) -> int:
    most = call.app.max_api_key_rate_limit_per_minute
    if given is None:
        return min(call.app.api_key_rate_limit_per_minute, most)
    if given > most:
        detail = (
            f"a key has at most {most} a minute here; the operator of the service may raise"
            " `server.max_api_key_rate_limit_per_minute`"
        )
        errors = [ErrorDetail(detail=detail, pointer="/rate_limit_per_minute", code="out-of-range")]
        raise Problem("invalid-request", detail, errors=errors)
    return given


def _nanoseconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp()) * SECOND


def _require_expiry(call: Call, nanoseconds: int | None) -> int | None:
    if nanoseconds is not None and not call.now < nanoseconds < _LAST:
        detail = "the expiry is in the past, or too far ahead; to end a key, delete it"
        errors = [ErrorDetail(detail=detail, pointer="/expires_at", code="out-of-range")]
        raise Problem("invalid-request", detail, errors=errors)
    return nanoseconds


def _members(key: ApiKey) -> dict[str, Any]:
    previous = key.previous_secret_until_ns
    return {
        "api_key_id": key.api_key_id,
        "tenant_id": key.tenant_id,
        "name": key.name,
        "source_id": key.source_id,
        "trust_level": key.trust_level,
        "can_sync": key.can_sync,
        "rate_limit_per_minute": key.rate_limit_per_minute,
        "prefix": key.prefix,
        "expires_at": wire_common.optional_time(key.expires_at_ns),
        "last_used_at": wire_common.optional_time(key.last_used_at_ns),
        "revoked_at": wire_common.optional_time(key.revoked_at_ns),
        "previous_secret_expires_at": wire_common.optional_time(previous),
        "created_at": wire_common.time_text(key.created_at_ns),
        "updated_at": wire_common.time_text(key.updated_at_ns),
        "revision": key.revision,
    }


def _audited(key: ApiKey) -> dict[str, Any]:
    """Return a key for the audit trail: as it is answered, so without its secret."""
    return wire_audit.audited(wire_api_keys.ApiKey(**_members(key)))
