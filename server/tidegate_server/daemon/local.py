"""The tenant as this machine decides for it: its definitions, its state, and the fail mode."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import orjson

from tidegate.errors import EffectsError, SnapshotError
from tidegate.evaluation.native import Redactor
from tidegate.policy.proofs import ProofKeys
from tidegate_server.daemon.definitions import DefinitionSet
from tidegate_server.daemon.failing import fail_document, has_fail_mode, unknown_document
from tidegate_server.engines.serving import BundledEngine
from tidegate_server.engines.tenant import Tenant
from tidegate_server.logging import log
from tidegate_server.sync.messages import Secrets

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager

    from tidegate.policy.backend import Frozen
    from tidegate.policy.definitions.model import FailMode
    from tidegate.policy.state.inspection import ActiveMitigation
    from tidegate_server.engines.compiled import CompiledSet

PAGE = 10_000


class LocalTenant:
    """The engines of this machine. Except for making engines, it runs on the event loop's thread.

    To the hot path it is the set of all runtimes.

    Args:
        tenant_id: the tenant.
        default_mode: the fail mode while nothing is known about the tenant.
    """

    def __init__(self, tenant_id: UUID, default_mode: FailMode = "last-known") -> None:
        self.tenant_id = tenant_id
        self.definitions: DefinitionSet | None = None
        """The last known definitions."""
        self.known: Tenant | None = None
        """The engine for the last known definitions, or for their fail mode; it has the state."""
        self.is_away = False
        """Whether the service has been away for longer than allowed."""
        self._is_failing = False
        self._changing = asyncio.Lock()
        self._unknown = self._by_fail_mode(unknown_document(tenant_id, default_mode))

    def find(self, tenant_id: UUID) -> Tenant | None:
        """The currently deciding tenant, for the hot path."""
        return self.deciding if tenant_id == self.tenant_id else None

    def call(self, tenant_id: UUID) -> bool:  # noqa: ARG002 - the form of the service's
        """Whether the tenant isn't loaded yet: never, for the hot path."""
        return False

    def all(self) -> Iterable[Tenant]:
        """The same."""
        return [self.deciding]

    @property
    def deciding(self) -> Tenant:
        """The currently deciding tenant."""
        return self._unknown if self.known is None else self.known

    @property
    def mode(self) -> str:
        """The mode: ``online``, ``offline``, ``fail-open`` or ``fail-closed``."""
        if self.known is None or (self.is_away and self.fail_mode != "last-known"):
            return "fail-closed" if self.fail_mode == "closed" else "fail-open"
        return "offline" if self.is_away else "online"

    @property
    def fail_mode(self) -> FailMode:
        """The tenant's fail mode, as far as it is known."""
        return self.deciding.settings.fail_mode

    @property
    def proof_keys(self) -> ProofKeys | None:
        """Keys that seal challenge tickets; None while the definitions are not known."""
        known = self.definitions
        return None if known is None else _proof_keys(self.tenant_id, known.secrets)

    def use_fail_part(self, part: Mapping[str, Any]) -> None:
        """Decide by a tenant's fail mode when nothing else of it can be read.

        Raises:
            DefinitionsError: it is inconsistent.
        """
        self._unknown = self._by_fail_mode(part)

    @property
    def is_level(self) -> bool:
        """Whether the fail mode decides exactly as much as it should."""
        known = self.definitions
        is_wanted = self.is_away and known is not None and has_fail_mode(known.document)
        return is_wanted == self._is_failing

    async def decide_by(
        self, definitions: DefinitionSet, still: Callable[[], AbstractAsyncContextManager[None]]
    ) -> None:
        """Decide by definitions, or by their fail mode while the service is away.

        Args:
            definitions: the last known ones.
            still: entered to change the deciding engine, between two decisions.

        Raises:
            DefinitionsError: they are inconsistent; the previous ones keep deciding.
            SnapshotError: they belong to another tenant.
        """
        async with self._changing:
            failing = fail_document(definitions.document) if self.is_away else None
            wanted = definitions if failing is None else attrs.evolve(definitions, document=failing)
            compiled = await asyncio.to_thread(wanted.compiled)
            made = await asyncio.to_thread(self.made, wanted, compiled)
            async with still():
                self.use(definitions, made)
                self._is_failing = failing is not None

    def made(self, definitions: DefinitionSet, compiled: CompiledSet) -> Tenant:
        """The tenant with other definitions and its current state; on any thread."""
        redactor = _redactor(definitions.secrets, compiled)
        present = self.known
        if present is None:
            keys = _proof_keys(self.tenant_id, definitions.secrets)
            engine = BundledEngine(compiled.content, redactor, proof_keys=keys)
        else:
            engine = present.engine.with_bundle(compiled.content, redactor)
        return _tenant(self.tenant_id, compiled, engine, redactor)

    def use(self, definitions: DefinitionSet, made: Tenant) -> None:
        """Decide by other definitions from now on."""
        self.definitions, self.known = definitions, made

    def restore(self, state: bytes) -> bool:
        """Load a saved state; return whether it was valid."""
        if self.known is None:
            return False
        try:
            self.known.engine.load_state(state)
        except SnapshotError as error:
            log.warning("the saved state is of no use", reason=str(error))
            return False
        return True

    def apply(self, effects: Iterable[bytes]) -> None:
        """Repeat the effects of decisions, or of changes by the service, on the state."""
        if self.known is None:
            return
        for each in effects:
            try:
                self.known.engine.apply_effects([each])
            except EffectsError as error:
                log.error("effects cannot be applied", reason=str(error))

    def unknown_to(self, effects: Iterable[bytes]) -> list[ActiveMitigation]:
        """The active mitigations that a snapshot does not have; on any thread.

        Args:
            effects: effects in the snapshot.
        """
        if self.known is None:
            return []
        engine, now = self.known.engine, time.time_ns()
        page = engine.active_mitigations(now, PAGE)
        # The hash of a name is enough: the names of 100,000 mitigations take some 60 MB.
        wanted = {hash(name) for each in effects for name in _mitigations(each)} if page else ()
        found = []
        while page:
            found += [each for each in page if hash(_name(each)) not in wanted]
            page = engine.active_mitigations(now, PAGE, page[-1])
        return found

    def lift(self, mitigations: Iterable[ActiveMitigation], own: Iterable[bytes]) -> None:
        """End mitigations that the service does not know, except our own.

        Args:
            mitigations: mitigations missing from a snapshot.
            own: effects of decisions that the service does not have yet.
        """
        if self.known is None:
            return
        now, kept = time.time_ns(), {name for each in own for name in _mitigations(each)}
        for each in mitigations:
            if _name(each) not in kept:
                self.known.engine.lift(each.definition, each.key, each.policy, each.clause, now)

    def blocking(self, now: int) -> dict[str, Any]:
        """The active mitigations of entities with one key part, and their definitions.

        Args:
            now: nanoseconds since 1970.

        Returns:
            ``document`` and ``effects`` (docs/decision.md, "Effects"); empty ones while nothing
            about the tenant is known.
        """
        if self.known is None or self.definitions is None:
            return {"document": {}, "effects": []}
        engine = self.known.engine
        effects: list[Any] = []
        page = engine.active_mitigations(now, PAGE)
        while page:
            effects += [
                [
                    "mitigate", each.definition, list(each.key), "0",
                    [[each.policy, each.clause, str(each.expires_at)]],
                ]
                for each in page
                if each.mode == "Block" and len(each.key) == 1
            ]  # fmt: skip
            page = engine.active_mitigations(now, PAGE, page[-1])
        document = self.definitions.document
        parts = ("tenant", "entities", "mitigations", "policies", "overrides")
        return {
            "document": {name: document[name] for name in parts if name in document},
            "effects": effects,
        }

    def freeze(self) -> Frozen | None:
        """A copy of the state."""
        return None if self.known is None else self.known.engine.freeze()

    def stats(self) -> dict[str, int]:
        """Numbers about the state."""
        return self.deciding.engine.stats()

    def _by_fail_mode(self, part: Mapping[str, Any]) -> Tenant:
        secrets = Secrets(*(os.urandom(32).hex() for _ in range(3)))
        compiled = DefinitionSet(0, fail_document(part) or part, "", secrets).compiled()
        redactor = _redactor(secrets, compiled)
        engine = BundledEngine(compiled.content, redactor)
        return _tenant(self.tenant_id, compiled, engine, redactor)


def _redactor(secrets: Secrets, compiled: CompiledSet) -> Redactor:
    return compiled.keys.redaction.redactor(Redactor, bytes.fromhex(secrets.redaction))


def _proof_keys(tenant_id: UUID, secrets: Secrets) -> ProofKeys:
    return ProofKeys(tenant_id, bytes.fromhex(secrets.proofs), bytes.fromhex(secrets.sealing))


def _tenant(
    tenant_id: UUID, compiled: CompiledSet, engine: BundledEngine, redactor: Redactor
) -> Tenant:
    return Tenant(
        tenant_id,
        compiled.revision,
        (compiled.revision, compiled.revision),
        engine,
        redactor,
        compiled.names,
        compiled.settings,
        compiled.keys,
        compiled.directories,
    )


def _name(mitigation: ActiveMitigation) -> tuple[str, bytes, str, str]:
    key = orjson.dumps(list(mitigation.key))
    return mitigation.definition, key, mitigation.policy, mitigation.clause


def _mitigations(effects: bytes) -> Iterable[tuple[str, bytes, str, str]]:
    for kind, definition, key, _, *rest in orjson.loads(effects):
        if kind in ("event", "late", "mitigate"):
            for policy, clause, _ in rest[-1]:
                yield definition, orjson.dumps(key), policy, clause
