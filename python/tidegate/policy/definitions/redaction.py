"""The names that tell a tenant's redactor what to store in clear: one answer for all redactors."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import attrs

from tidegate.evaluation.encoder import Source, sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidegate.policy.definitions.compiled import CompiledDefinitions

    _Redactor = TypeVar("_Redactor")

_READ_BY_CHALLENGES = sources("request.host")
"""A challenge returns to the host of the recorded event."""


@attrs.frozen
class Redaction:
    """The definitions' data for a redactor.

    Attributes:
        patterns: names of secrets, as in ``settings.redact``.
        read: the members that the definitions read, if nothing else is stored; None stores
            everything that isn't secret.
    """

    patterns: tuple[str, ...] = ()
    read: frozenset[Source] | None = None

    @classmethod
    def of(cls, compiled: CompiledDefinitions) -> Redaction:
        """The redaction of compiled definitions."""
        settings = compiled.source.settings
        read = compiled.members_read | _READ_BY_CHALLENGES if settings.keep_only_read else None
        return cls(settings.redact, read)

    def redactor(
        self, make: Callable[[list[str], bytes, list[Source] | None], _Redactor], key: bytes
    ) -> _Redactor:
        """A redactor with these names.

        Args:
            make: ``Redactor`` of either evaluator.
            key: key of the hashes.
        """
        return make(list(self.patterns), key, None if self.read is None else sorted(self.read))

    def keeps(self, path: Source) -> bool:
        """Whether a non-secret member is stored: because definitions read it, or all are."""
        if self.read is None:
            return True
        return any(path[:length] in self.read for length in range(1, len(path) + 1))
