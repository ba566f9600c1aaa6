"""The tenant as this machine decides for it: its definitions, its state, and the fail mode."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING
from uuid import UUID

import orjson

from tidegate.daemon.definitions import DefinitionSet
from tidegate.daemon.failing import FailMode, fail_document
from tidegate.engine import BundledEngine
from tidegate.errors import EffectsError, SnapshotError
from tidegate.evaluation.native import Redactor
from tidegate.policy.proofs import ProofKeys
from tidegate.server.engines.engines import Tenant
from tidegate.server.logging import log
from tidegate.server.sync.messages import Secrets

if TYPE_CHECKING:
    from tidegate.policy.backend import Frozen
    from tidegate.server.engines.compiling import CompiledSet

PAGE = 10_000


class LocalTenant:
    """What decides here; but for the making of engines, on the event loop's thread.

    To the hot path it is all runtimes there are.

    Args:
        tenant_id: whose.
        default_mode: the fail mode while no definitions are known.
    """

    def __init__(self, tenant_id: UUID, default_mode: FailMode = "last-known") -> None:
        self.tenant_id = tenant_id
        self.definitions: DefinitionSet | None = None
        self.known: Tenant | None = None
        """By the last known definitions."""
        self._default_mode = default_mode
        self._failing: Tenant | None = None
        self.is_away = False
        """Whether the service has been away for longer than it may."""
        self._make_failing()

    def find(self, tenant_id: UUID) -> Tenant | None:
        """What decides now, for the hot path."""
        return self.deciding if tenant_id == self.tenant_id else None

    def all(self) -> Iterable[Tenant]:
        """The same."""
        return [self.deciding]

    @property
    def deciding(self) -> Tenant:
        """What decides now."""
        if self._failing is not None and (self.is_away or self.known is None):
            return self._failing
        assert self.known is not None
        return self.known

    @property
    def mode(self) -> str:
        """How it stands: ``online``, ``offline``, ``fail-open`` or ``fail-closed``."""
        if self._failing is not None and (self.is_away or self.known is None):
            return "fail-closed" if self.fail_mode == "closed" else "fail-open"
        return "offline" if self.is_away else "online"

    @property
    def fail_mode(self) -> FailMode:
        """Of the tenant, as far as it is known."""
        return self._default_mode if self.known is None else self.known.settings.fail_mode

    def made(self, definitions: DefinitionSet, compiled: CompiledSet) -> Tenant:
        """The tenant by other definitions, with the state that it has; on any thread."""
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
        self._make_failing()

    def restore(self, state: bytes) -> bool:
        """Take a saved state; whether it was one."""
        if self.known is None:
            return False
        try:
            self.known.engine.load_state(state)
        except SnapshotError as error:
            log.warning("the saved state is of no use", reason=str(error))
            return False
        return True

    def apply(self, effects: Iterable[bytes]) -> None:
        """Repeat what decisions, or changes of the service, did to the state."""
        if self.known is None:
            return
        for each in effects:
            try:
                self.known.engine.apply_effects([each])
            except EffectsError as error:
                log.error("effects cannot be applied", reason=str(error))

    def replace_mitigations(self, effects: bytes, own: Iterable[bytes]) -> None:
        """Have the active mitigations be those of a snapshot, and our own that it does not know.

        Args:
            effects: of the snapshot.
            own: effects of decisions that the service does not have yet.
        """
        if self.known is None:
            return
        engine, now = self.known.engine, time.time_ns()
        wanted = set(_mitigations(effects))
        for each in own:
            wanted.update(_mitigations(each))
        last = None
        while page := engine.active_mitigations(now, PAGE, last):
            for found in page:
                key = orjson.dumps(list(found.key))
                if (found.definition, key, found.policy, found.clause) not in wanted:
                    engine.lift(found.definition, found.key, found.policy, found.clause, now)
            last = page[-1]
        self.apply([effects])

    def freeze(self) -> Frozen | None:
        """A copy of the state."""
        return None if self.known is None else self.known.engine.freeze()

    def stats(self) -> dict[str, int]:
        """Numbers about the state."""
        return self.deciding.engine.stats()

    def _make_failing(self) -> None:
        known = None if self.definitions is None else self.definitions.document
        document = fail_document(self.tenant_id, known, self.fail_mode)
        if document is None:
            self._failing = None
            return
        unknown = Secrets(*(os.urandom(32).hex() for _ in range(3)))
        secrets = unknown if self.definitions is None else self.definitions.secrets
        compiled = DefinitionSet(0, document, "", secrets).compiled()
        redactor = _redactor(secrets, compiled)
        engine = BundledEngine(compiled.content, redactor)
        self._failing = _tenant(self.tenant_id, compiled, engine, redactor)


def _redactor(secrets: Secrets, compiled: CompiledSet) -> Redactor:
    return Redactor(list(compiled.settings.redact), bytes.fromhex(secrets.redaction))


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
    )


def _mitigations(effects: bytes) -> Iterable[tuple[str, bytes, str, str]]:
    for kind, definition, key, _, *rest in orjson.loads(effects):
        if kind in ("event", "late", "mitigate"):
            for policy, clause, _ in rest[-1]:
                yield definition, orjson.dumps(key), policy, clause
