"""The compile cache: definitions compiled in this process, kept for later work.

Most requests about a tenant's definitions concern the same ones, or a small change of them. A
worker keeps those of a few tenants.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate.policy.definitions.compile import Compilation
    from tidegate.policy.definitions.model import Definitions
    from tidegate_server.engines.definition_set import ActiveDefinitions

MAX_SETS = 4
"""How many compiled sets of each kind are kept."""
MAX_POLICIES = 10_000
"""The most policies in all kept sets of a kind, not counting the last used set.

10,000 of them take some 200 MiB.
"""


class _Recent:
    """The few most recently used values.

    Args:
        policies: returns how many policies a value has.
    """

    def __init__(self, policies: Callable[[Any], int]) -> None:
        self._policies = policies
        self._lock = Lock()
        self._values: OrderedDict[Any, Any] = OrderedDict()

    def get(self, key: Any) -> Any:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Any, value: Any) -> None:
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > 1 and self._are_many():
                self._values.popitem(last=False)

    def _are_many(self) -> bool:
        kept = sum(map(self._policies, self._values.values()))
        return len(self._values) > MAX_SETS or kept > MAX_POLICIES


class CompileCache:
    """Compiled definitions: the newest of each tenant, and past ones for explanations."""

    def __init__(self) -> None:
        self._newest = _Recent(lambda known: len(known.compilation.compiled.source.policies))
        self._past = _Recent(lambda definitions: len(definitions.policies))

    def newest(self, tenant_id: UUID) -> ActiveDefinitions | None:
        """Return the last compilation of a tenant's present definitions."""
        found: ActiveDefinitions | None = self._newest.get(tenant_id)
        return found

    def compiled(self, tenant_id: UUID, known: ActiveDefinitions) -> None:
        """Keep the compilation of stored definitions."""
        self._newest.put(tenant_id, known)
        definitions = known.compilation.compiled.source
        self._past.put((tenant_id, definitions.revision), definitions)

    def checked(self, tenant_id: UUID, compilation: Compilation) -> None:
        """Keep the compilation from a check of a change: the next one reuses its expressions."""
        known = self.newest(tenant_id)
        if known is not None:
            self._newest.put(tenant_id, attrs.evolve(known, compilation=compilation))

    def find(self, tenant_id: UUID, revision: int) -> Definitions | None:
        """Return the definitions of a revision, if cached."""
        found: Definitions | None = self._past.get((tenant_id, revision))
        return found

    def of_revision(
        self, tenant_id: UUID, revision: int, make: Callable[[], Definitions]
    ) -> Definitions:
        """Return the definitions of a revision, built if not cached."""
        found = self.find(tenant_id, revision)
        if found is None:
            found = make()
            self._past.put((tenant_id, revision), found)
        return found
