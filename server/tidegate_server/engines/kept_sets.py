"""Compiled definitions in the store, which a start reads instead of compiling from text.

The form belongs to one revision of the definitions and one build of the program. One that doesn't
fit, or is damaged, is never used: the definitions are compiled again.
"""

from __future__ import annotations

import hashlib
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING

import attrs
import msgspec

from tidegate_server.engines.compiled import CompiledSet
from tidegate_server.stores.index import compiled_sets
from tidegate_server.stores.index.compiled_sets import Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate_server.engines.tenant import Revision
    from tidegate_server.stores.port import Records

_SOURCES = (("tidegate", ""), ("tidegate_server", "engines"))
"""The packages and folders whose sources determine a compiled form."""
_SUFFIXES = (".py", ".lark")


def place_of(tenant_id: UUID, revision: Revision) -> Place:
    """Return the place of a tenant's compiled definitions, as this program compiles them."""
    changes, own = revision
    return Place(tenant_id=tenant_id, revision=changes, own_revision=own, program=program())


def keep(store: Records, place: Place, made: CompiledSet) -> None:
    """Keep a compiled set for the next starts.

    Raises:
        NotFoundError: the tenant was deleted.
        StoreUnavailableError: nothing can be written now.
    """
    body = msgspec.msgpack.encode(attrs.evolve(made, sample=()))
    packed = compiled_sets.pack(body)
    store.write(partial(compiled_sets.put, place=place, packed=packed), quietly=True).result()


def find(connection: Connection, place: Place) -> CompiledSet | None:
    """Return the kept set of these very definitions, without a sample; None if there isn't one."""
    body = compiled_sets.find(connection, place)
    if body is None:
        return None
    try:
        return msgspec.msgpack.decode(body, type=CompiledSet)
    except msgspec.MsgspecError:  # made by a program with other libraries
        return None


@cache
def program() -> bytes:
    """Return a hash of the sources that determine a compiled form, 16 bytes.

    A version number would be the same for two builds between releases.
    """
    digest = hashlib.blake2b(digest_size=16)
    for package, folder in _SOURCES:
        for name, source in _sources(files(package).joinpath(folder)):
            digest.update(f"{package} {name} {len(source)}\n".encode())
            digest.update(source)
    return digest.digest()


def _sources(folder: Traversable, path: str = "") -> Iterator[tuple[str, bytes]]:
    for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
        name = f"{path}/{each.name}"
        if each.is_dir():
            yield from _sources(each, name)
        elif each.name.endswith(_SUFFIXES):
            yield name, each.read_bytes()
