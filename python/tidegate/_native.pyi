"""The native extension.  Only ``tidegate.evaluation.native`` and ``tidegate.engine`` import it."""

from collections.abc import Mapping
from typing import Any, final

@final
class Prepared:
    """An event encoded for one rule set, to be evaluated many times."""

@final
class RuleSet:
    """Programs compiled from a bundle: JSON with fields, lists, limits and canonical trees.

    A context is an event as a dict, as JSON bytes, or prepared.

    Raises:
        CanonicalFormError: the bundle is malformed.
    """

    def __new__(cls, bundle: bytes) -> RuleSet: ...
    def __len__(self) -> int: ...
    def evaluate(self, index: int, context: Mapping[str, Any] | bytes | Prepared) -> Any:
        """The value of one program.

        Raises:
            EvaluationError: the evaluation ended in an error.
            EventError: the event is refused.
            IndexError: there is no program of this number.
        """

    def outcome(
        self, index: int, context: Mapping[str, Any] | bytes | Prepared
    ) -> tuple[bytes | None, str | None, tuple[int, int] | None, int]:
        """The end of one evaluation: VALUE as JSON, or an error's code and span; and the cost.

        Raises:
            EventError: the event is refused.
            IndexError: there is no program of this number.
        """

    def match(
        self, context: Mapping[str, Any] | bytes | Prepared, errors: bool = False
    ) -> tuple[list[str], dict[str, str]]:
        """Ids of the programs that are true, in order; with ``errors``, id to code of those that fail.

        Raises:
            EventError: the event is refused.
        """

    def prepare(self, context: Mapping[str, Any] | bytes) -> Prepared:
        """Encode an event once.

        Raises:
            EventError: the event is refused.
        """

def encode(
    bundle: bytes, event: Mapping[str, Any] | bytes, databases: list[bytes] = ...
) -> dict[str, bytes]:
    """Every declared field that an event has, as VALUE JSON; for tests of the encoder.

    Args:
        bundle: as for ``RuleSet``.
        databases: contents of address databases.

    Raises:
        EventError: the event is refused.
        ValueError: a database is none.
    """
