"""What the handlers of the control plane stand on."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

import attrs

from tidegate.operators.tokens import LIFETIME_SECONDS, Tokens
from tidegate.server.live import NoRuntime
from tidegate.server.login_attempts import LoginAttempts
from tidegate.server.paging import Cursors
from tidegate.server.replay import Replays

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate.operators.keys import Keys
    from tidegate.server.live import Runtime
    from tidegate.stores.base import Store


_TURNS = 64
"""More tenants than are often changed at the same time."""


def _nobody(_: UUID) -> None:
    """A change that nobody waits for."""


@attrs.frozen(kw_only=True)
class Application:
    """The parts of a running service, handed to every call.

    Attributes:
        issuer: the claim ``iss`` of operator tokens.
        api_key_rate_limit_per_minute: of keys that name no limit of their own.
        definitions_changed: told the tenant whose definitions, settings or existence changed,
            after the commit.
        api_keys_changed: told the tenant whose API keys changed, after the commit.
        runtime: the engines at work.
        clock: nanoseconds since 1970.
    """

    store: Store
    keys: Keys
    issuer: str = "tidegate"
    token_lifetime_seconds: int = LIFETIME_SECONDS
    api_key_rate_limit_per_minute: int = 6_000
    definitions_changed: Callable[[UUID], None] = _nobody
    api_keys_changed: Callable[[UUID], None] = _nobody
    runtime: Runtime = attrs.field(factory=NoRuntime)
    clock: Callable[[], int] = time.time_ns
    replays: Replays = attrs.field(init=False)
    login_attempts: LoginAttempts = attrs.field(factory=LoginAttempts, init=False)
    tokens: Tokens = attrs.field(init=False)
    cursors: Cursors = attrs.field(init=False)
    _turns: tuple[Lock, ...] = attrs.field(
        factory=lambda: tuple(Lock() for _ in range(_TURNS)), init=False
    )

    def turn(self, tenant_id: UUID) -> Lock:
        """Held by who changes definitions of a tenant, so that one check is not for nothing."""
        return self._turns[hash(tenant_id) % _TURNS]

    @replays.default
    def _make_replays(self) -> Replays:
        return Replays(self.store, redaction_key=self.keys.redaction)

    @tokens.default
    def _make_tokens(self) -> Tokens:
        return Tokens(self.keys.signing, self.issuer)

    @cursors.default
    def _make_cursors(self) -> Cursors:
        return Cursors(self.keys.cursors)
