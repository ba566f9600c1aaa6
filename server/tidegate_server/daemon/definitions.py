"""The definitions that a daemon decides by, on disk: by kind, and as the active set.

``tidegate sync KIND`` updates one kind; the active set changes once all kinds together compile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs
import msgspec
import orjson

from tidegate.policy.document import read_document
from tidegate_server.daemon.cache import Cache
from tidegate_server.daemon.failing import fail_part
from tidegate_server.engines.compiled import CompiledSet
from tidegate_server.sync.messages import Secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tidegate_server.daemon.home import Home
    from tidegate_server.sync.messages import Snapshot

Kind: TypeAlias = Literal["actions", "entities", "policies", "mitigations"]
KINDS: tuple[Kind, ...] = ("actions", "entities", "policies", "mitigations")
"""Parts that can be synced alone; each is the document member with the same name."""
_NAME, _FAIL_NAME = "definitions.json", "fail-mode.json"


@attrs.frozen
class DefinitionSet:
    """Definitions, and the tenant's other data that decisions need.

    Args:
        revision: the newest of its parts' revisions.
        document: the definitions document.
        base_url: where browsers reach the service.
        secrets: the keys of the tenant.
    """

    revision: int
    document: Mapping[str, Any] = attrs.field(repr=False)
    base_url: str
    secrets: Secrets = attrs.field(repr=False)

    @classmethod
    def of(cls, snapshot: Snapshot) -> DefinitionSet:
        """The definition set in a snapshot.

        Raises:
            ValueError: it isn't a JSON object.
        """
        document = orjson.loads(bytes(snapshot.document))
        if not isinstance(document, dict):
            raise ValueError("the definitions are no object")
        return cls(snapshot.revision, document, snapshot.base_url, snapshot.secrets)

    def compiled(self) -> CompiledSet:
        """The compiled set, ready to decide; takes a while.

        Raises:
            DefinitionsError: it is inconsistent.
        """
        return CompiledSet.of(read_document(dict(self.document)).compiled)


@attrs.frozen
class Definitions:
    """The definition files.

    Args:
        parts: folder under ``data/`` with one file per kind.
        cache: cache of the service's data.
    """

    parts: Cache
    cache: Cache

    @classmethod
    def of(cls, home: Home) -> Definitions:
        """The definitions in a folder."""
        return cls(Cache.of(home.data, home.api_key), Cache.of(home.cache, home.api_key))

    def in_use(self) -> DefinitionSet | None:
        """The active set; None if there isn't a readable one."""
        found = self.cache.read(_NAME)
        if found is None:
            return None
        read = orjson.loads(found)
        secrets = msgspec.convert(read["secrets"], Secrets)
        return DefinitionSet(read["revision"], read["document"], read["base_url"], secrets)

    def use(self, definitions: DefinitionSet) -> None:
        """Make a compiled set the active one.

        Raises:
            OSError: it cannot be written.
        """
        content = {
            "revision": definitions.revision,
            "base_url": definitions.base_url,
            "secrets": msgspec.to_builtins(definitions.secrets),
            "document": definitions.document,
        }
        self.cache.write(_NAME, orjson.dumps(content))
        self.cache.write(_FAIL_NAME, orjson.dumps(fail_part(definitions.document)))

    def fail_part(self) -> dict[str, Any] | None:
        """The active set's data for the fail mode.

        It has a separate file, which may be readable even if the set is not.
        """
        found = self.cache.read(_FAIL_NAME)
        return None if found is None else dict(orjson.loads(found))

    def write(self, kinds: Iterable[Kind], definitions: DefinitionSet) -> None:
        """Write kinds of a set under ``data/``.

        Raises:
            OSError: they cannot be written.
        """
        for kind in kinds:
            objects = definitions.document.get(kind, [])
            content = {"kind": kind, "revision": definitions.revision, "objects": objects}
            self.parts.write(f"{kind}.json", orjson.dumps(content, option=orjson.OPT_INDENT_2))

    def assembled(self, newest: DefinitionSet) -> DefinitionSet:
        """The kinds under ``data/`` as one set; settings, lists, missing kinds are the newest."""
        document = dict(newest.document)
        for kind in KINDS:
            found = self.parts.read(f"{kind}.json")
            if found is not None:
                document[kind] = orjson.loads(found)["objects"]
        return attrs.evolve(newest, document=document)
