"""The canonical form of a set after changes to some of its rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import attrs
import orjson

Program: TypeAlias = Mapping[str, Any]
Programs: TypeAlias = Mapping[str, bytes]
"""Envelopes of programs, including ``id``, as JSON, by id."""


@attrs.frozen(slots=False, eq=False)
class Compiled:
    """The JSON that a set was compiled from, with cheaper access to its ids."""

    data: bytes
    read_ids: Callable[[], Iterable[str]]

    @cached_property
    def ids(self) -> frozenset[str]:
        return frozenset(self.read_ids())

    @cached_property
    def head(self) -> Mapping[str, Any]:
        """All members except the programs."""
        return {name: part for name, part in self._read().items() if name != "programs"}

    def programs(self) -> list[Program]:
        return list(self._read()["programs"])

    def _read(self) -> dict[str, Any]:
        return dict(orjson.loads(self.data))


@attrs.frozen(eq=False)
class Document:
    """A set as compiled, with later changes; serialised on demand."""

    compiled: Compiled
    _changed: Programs = attrs.field(factory=dict)
    """Changed programs. One with a known id replaces that program, others come last.

    Kept as text: the trees of many changes would be thousands of objects for the garbage collector.
    """
    _removed: frozenset[str] = frozenset()
    """Removed ids; a later program with such an id is a new one."""

    def with_changes(self, programs: Programs, removed: Collection[str]) -> Document:
        """Remove some programs, then replace or add others by id."""
        changed = dict(self._changed)
        for name in removed:
            changed.pop(name, None)
        changed.update(programs)
        gone = self._removed.union(self.compiled.ids.intersection(removed))
        return attrs.evolve(self, changed=changed, removed=gone)

    def to_json(self) -> bytes:
        """The whole current set."""
        if not (self._changed or self._removed):
            return self.compiled.data
        added: dict[str, Any] = {
            name: orjson.Fragment(program) for name, program in self._changed.items()
        }
        programs = [
            added.pop(program["id"], program)
            for program in self.compiled.programs()
            if program["id"] not in self._removed
        ]
        return orjson.dumps({**self.compiled.head, "programs": [*programs, *added.values()]})
