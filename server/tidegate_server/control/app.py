"""The parts of the service that handlers of the control plane use."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Protocol, TypeVar

import attrs
from anyio import CapacityLimiter

from tidegate.edge.addresses import TrustedProxies
from tidegate_server.challenge.parts import ChallengeParts
from tidegate_server.connection.accept_limit import AcceptLimit
from tidegate_server.connection.held import HeldBytes
from tidegate_server.control.runtime import NoRuntime
from tidegate_server.engines.compile_cache import CompileCache
from tidegate_server.engines.engines import proof_keys_of
from tidegate_server.engines.replay import NoReplays
from tidegate_server.hot.metrics import Figures
from tidegate_server.hot.unauthenticated import UnauthenticatedCalls
from tidegate_server.http.access_log import AccessLog
from tidegate_server.http.cursor import Cursors
from tidegate_server.http.latency import ControlLatency
from tidegate_server.http.limits import MAX_BODIES, MAX_BODIES_EACH
from tidegate_server.http.problems import Problem
from tidegate_server.login.attempts import LoginAttempts
from tidegate_server.login.devices import DeviceCookie
from tidegate_server.login.logins import Logins
from tidegate_server.offload.jobs import Inline
from tidegate_server.offload.kinds import Crowd
from tidegate_server.offload.slots import default_slots
from tidegate_server.offload.throttle import Throttle
from tidegate_server.operators.second_factor import SecondFactors
from tidegate_server.operators.tokens import LIFETIME_SECONDS, Tokens

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate.policy.proofs import ProofKeys
    from tidegate_server.control.runtime import Runtime
    from tidegate_server.offload.inbox import ReplayJobs
    from tidegate_server.offload.jobs import Workers
    from tidegate_server.offload.slots import Places
    from tidegate_server.operators.key_ring import ApiKey
    from tidegate_server.operators.keys import Keys
    from tidegate_server.stores.port import Records


T = TypeVar("T")

_TURNS = 64
"""The number of locks: more than the tenants that change at the same time."""
LIGHT_THREADS = 24
PUBLIC_THREADS = 4
"""Threads for logins and other callers without a token.

They never wait for an operator's thread, nor operators for theirs.
"""
VISITOR_THREADS = 8
ADMITTING_THREADS = 1
"""Threads that look up callers, which is short work in Python.

With several of them the loop and the committing thread would wait for the interpreter several times
as long.
"""


class ListRefresher(Protocol):
    """Fetches published lists."""

    async def refresh(self, tenant_id: UUID, list_id: UUID, requested_by: str | None) -> None:
        """Refresh a list from its source, or note why that is refused.

        Args:
            tenant_id: the tenant.
            list_id: a list that has a source.
            requested_by: the operator who asked for it; None if nobody did.
        """


@attrs.frozen(kw_only=True)
class Alerting:
    """The settings that alerts depend on.

    Attributes:
        is_on: whether alerts are evaluated.
        publishes: whether decisions are sent on to another system.
        mails: whether there is a mail server.
    """

    is_on: bool = False
    publishes: bool = False
    mails: bool = False


def _nobody(_: UUID) -> None:
    """Ignore a change, as nobody waits for it."""


def _no_key(_: bytes) -> ApiKey:
    """Refuse a key, as this process makes no decisions."""
    raise Problem("unauthenticated")


@attrs.frozen(kw_only=True)
class Application:
    """The parts of a running service, handed to every call.

    Attributes:
        base_url: returns the address that browsers reach the service by, without a trailing slash.
        issuer: the claim ``iss`` of operator tokens.
        logins: the login methods.
        api_key_rate_limit_per_minute: the limit of keys without their own.
        max_api_key_rate_limit_per_minute: the highest limit of a key.
        definitions_changed: called with the tenant whose definitions, settings or existence
            changed, after the commit; returns False if the previous ones still decide.
        api_keys_changed: called with the tenant whose API keys changed, after the commit.
        partitions: the number of the log's partitions, for new tenants.
        runtime: the active engines.
        replays: the replay jobs.
        workers: processes for work that would block the interpreter; ``passwords`` is the one that
            checks passwords, so that logins wait for nothing else.
        figures: which caller may see which figures.
        latency: the response times.
        patience: throttles callers that go on after refusals.
        access: writes the access log.
        reception: where requests and delayed refusals wait for their turn.
        known: the cache of definitions compiled here.
        places: the slots that limit concurrent requests.
        bodies: the bytes of incomplete bodies, by sender.
        challenges: makes, checks and counts challenges.
        admit_key: counts a request against the limit of its key; returns the key.
        proxies: the service's own trusted proxies.
        clock: nanoseconds since 1970.
        refresher: fetches published lists; None where that is off.
        alerting: what alerts can do here.
    """

    store: Records
    keys: Keys
    base_url: Callable[[], str] = lambda: ""
    issuer: str = "tidegate"
    logins: Logins = attrs.field(factory=Logins)
    token_lifetime_seconds: int = LIFETIME_SECONDS
    api_key_rate_limit_per_minute: int = 6_000
    max_api_key_rate_limit_per_minute: int = 600_000
    definitions_changed: Callable[[UUID], object] = _nobody
    api_keys_changed: Callable[[UUID], None] = _nobody
    partitions: int = 1
    proxies: TrustedProxies = attrs.field(factory=lambda: TrustedProxies((), unix=False))
    runtime: Runtime = attrs.field(factory=NoRuntime)
    admit_key: Callable[[bytes], ApiKey] = _no_key
    challenges: ChallengeParts = attrs.field()
    clock: Callable[[], int] = time.time_ns
    refresher: ListRefresher | None = None
    alerting: Alerting = attrs.field(factory=Alerting)
    replays: ReplayJobs = attrs.field(factory=NoReplays)
    workers: Workers = attrs.field(factory=Inline)
    passwords: Workers = attrs.field(factory=Inline)
    known: CompileCache = attrs.field(factory=CompileCache)
    places: Mapping[Crowd, Places] = attrs.field(factory=default_slots)
    bodies: HeldBytes = attrs.field(factory=lambda: HeldBytes(MAX_BODIES_EACH, MAX_BODIES))
    figures: Figures = attrs.field(factory=Figures)
    latency: ControlLatency = attrs.field(factory=ControlLatency)
    accept_limit: AcceptLimit = attrs.field(factory=AcceptLimit)
    throttle: Throttle = attrs.field(init=False)
    access: AccessLog = attrs.field(factory=AccessLog)
    light_threads: CapacityLimiter = attrs.field(factory=lambda: CapacityLimiter(LIGHT_THREADS))
    public_threads: CapacityLimiter = attrs.field(factory=lambda: CapacityLimiter(PUBLIC_THREADS))
    visitor_threads: CapacityLimiter = attrs.field(factory=lambda: CapacityLimiter(VISITOR_THREADS))
    admitting_threads: CapacityLimiter = attrs.field(
        factory=lambda: CapacityLimiter(ADMITTING_THREADS)
    )
    unauthenticated: UnauthenticatedCalls = attrs.field(factory=UnauthenticatedCalls, init=False)
    devices: DeviceCookie = attrs.field(init=False)
    second_factors: SecondFactors = attrs.field(init=False)
    login_attempts: LoginAttempts = attrs.field(factory=LoginAttempts, init=False)
    tokens: Tokens = attrs.field(init=False)
    cursors: Cursors = attrs.field(init=False)
    _turns: tuple[Lock, ...] = attrs.field(
        factory=lambda: tuple(Lock() for _ in range(_TURNS)), init=False
    )

    def turn(self, tenant_id: UUID) -> Lock:
        """Return the lock for a tenant's changes of definitions, so that no check is wasted."""
        return self._turns[hash(tenant_id) % _TURNS]

    def threads(self, crowd: Crowd) -> CapacityLimiter:
        """Return the threads for a handler that waits for the store."""
        of_crowd = {Crowd.VISITORS: self.visitor_threads, Crowd.PUBLIC: self.public_threads}
        return of_crowd.get(crowd, self.light_threads)

    def keyed(self, key: str | None, client: str) -> UUID | None:
        """Count a call that may have an API key; return the key's tenant. Runs on the event loop.

        Args:
            key: the header.
            client: the caller, for a call without a key.

        Raises:
            Problem: ``unauthenticated``, ``rate-limited``.
        """
        if key is not None:
            return self.admit_key(key.encode("latin-1")).tenant_id
        self.unauthenticated.count(client)
        return None

    def proof_keys(self, tenant_id: UUID) -> ProofKeys:
        """Return the keys that make and read a tenant's proofs."""
        return proof_keys_of(tenant_id, self.keys)

    @challenges.default
    def _make_challenges(self) -> ChallengeParts:
        return ChallengeParts.of(self.keys.proofs)

    @throttle.default
    def _make_patience(self) -> Throttle:
        return Throttle(self.accept_limit)

    @devices.default
    def _make_devices(self) -> DeviceCookie:
        return DeviceCookie(self.keys.pepper)

    @second_factors.default
    def _make_second_factors(self) -> SecondFactors:
        return SecondFactors(self.keys.pepper)

    @tokens.default
    def _make_tokens(self) -> Tokens:
        return Tokens(self.keys.signing, self.issuer)

    @cursors.default
    def _make_cursors(self) -> Cursors:
        return Cursors(self.keys.cursors)
