"""The names by which a tenant's redactor tells what is kept of an event in clear: one answer for
all that redact."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import attrs

from tidegate.evaluation.encoder import sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidegate.evaluation.encoder import Source
    from tidegate.policy.definitions.compiled import CompiledDefinitions

    _Redactor = TypeVar("_Redactor")

_READ_BY_CHALLENGES = sources("request.host")
"""A challenge leads back to the host of the recorded event."""


@attrs.frozen
class Redaction:
    """The part of definitions that a redactor is made of.

    Attributes:
        patterns: names of secrets, as in ``settings.redact``.
        read: the members that the definitions read, if nothing else is kept; None keeps all that
            is no secret.
    """

    patterns: tuple[str, ...] = ()
    read: frozenset[Source] | None = None

    @classmethod
    def of(cls, compiled: CompiledDefinitions) -> Redaction:
        """The redaction by compiled definitions."""
        settings = compiled.source.settings
        read = compiled.members_read | _READ_BY_CHALLENGES if settings.keep_only_read else None
        return cls(settings.redact, read)

    def redactor(
        self, make: Callable[[list[str], bytes, list[Source] | None], _Redactor], key: bytes
    ) -> _Redactor:
        """A redactor.

        Args:
            make: ``Redactor`` of either evaluator.
            key: what the hashes are made with.
        """
        return make(list(self.patterns), key, None if self.read is None else sorted(self.read))

    def keeps(self, path: Source) -> bool:
        """Whether a member is kept as far as it is no secret: because definitions read it, or
        because all are kept."""
        if self.read is None:
            return True
        return any(path[:length] in self.read for length in range(1, len(path) + 1))
