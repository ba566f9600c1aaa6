"""Every exception Tidegate raises.

TidegateError
├── ExpressionError     an expression was refused; .diagnostics says why, all at once
├── EvaluationError     an evaluation ended in an error; .code, .span
├── EventError          an event was refused; .pointer, .offset
├── DefinitionsError    a definitions document was refused; .diagnostics
├── CanonicalFormError  JSON isn't a canonical tree or rule set; .pointer
├── SettingsError       a setting cannot be used; .setting, .value, .source
├── SnapshotError       a saved state could not be read
├── EffectsError        recorded effects could not be read; .position
├── WorkerError         a worker process of the service ended in the middle of its work
└── StoreError          a store could not do what was asked; its own tree is in stores/base.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tidegate.language.tree.ast import Span
    from tidegate.language.tree.diagnostics import Diagnostic


_SHOWN = 200
"""Most characters of a value in a message."""


class TidegateError(Exception):
    """Base of every error that Tidegate raises deliberately."""

    def __reduce__(self) -> tuple[Callable[..., TidegateError], tuple[Any, ...], dict[str, Any]]:
        # Pickling calls the class with `args`, which is the message alone.
        return _made_again, (type(self), self.args), self.__dict__


def _made_again(kind: type[TidegateError], args: tuple[Any, ...]) -> TidegateError:
    error = kind.__new__(kind)
    error.args = args
    return error


class ExpressionError(TidegateError):
    """An expression does not parse or does not check; ``diagnostics`` has every finding."""

    code = "invalid-expression"

    def __init__(self, diagnostics: Sequence[Diagnostic], rendered: str) -> None:
        super().__init__(rendered)
        self.diagnostics = tuple(diagnostics)


class EvaluationError(TidegateError):
    """An evaluation failed; ``code`` is one of the language's stable codes."""

    def __init__(self, code: str, message: str, span: Span | None = None) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.message = message
        self.span = span


class EventError(TidegateError):
    """An event was rejected.

    Attributes:
        pointer: location of the member.
        offset: its byte offset in the text.
        is_unreadable: the text as a whole cannot be read: it isn't JSON, or exceeds a limit.
    """

    code = "invalid-event"

    def __init__(
        self,
        message: str,
        pointer: str = "",
        offset: int | None = None,
        is_unreadable: bool = False,
    ) -> None:
        place = f" at `{pointer}`" if pointer else ""
        place += f" (byte {offset})" if offset is not None else ""
        super().__init__(message + place)
        self.message = message
        self.pointer = pointer
        self.offset = offset
        self.is_unreadable = is_unreadable


class DefinitionsError(TidegateError):
    """A definitions document was rejected; ``diagnostics`` has every finding, with positions."""

    code = "invalid-definitions"

    def __init__(self, diagnostics: Sequence[object], rendered: str) -> None:
        super().__init__(rendered)
        self.diagnostics = tuple(diagnostics)


class CanonicalFormError(TidegateError):
    """JSON isn't the canonical form of an expression or rule set; ``pointer`` says where."""

    code = "invalid-canonical-form"

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(f"{message} at `{pointer}`" if pointer else message)
        self.message = message
        self.pointer = pointer


class SettingsError(TidegateError):
    """A setting is invalid.

    Args:
        reason: what is wrong with its value, and which values are allowed.
        setting: its name, as in the settings file; empty if the file itself is meant.
        value: as it was read; None if it is missing, or a secret.
        source: where it was read; empty if unknown.
    """

    code = "invalid-settings"

    def __init__(
        self, reason: str, setting: str = "", value: object = None, source: str = ""
    ) -> None:
        shown = "" if value is None else f" is `{' '.join(str(value).split())[:_SHOWN]}`"
        origin = f" ({source})" if source else ""
        super().__init__(f"`{setting}`{shown}{origin}: {reason}" if setting else reason)
        self.reason = reason
        self.setting = setting
        self.value = value
        self.source = source


class SnapshotError(TidegateError):
    """A saved state could not be read."""

    code = "invalid-snapshot"


class EffectsError(TidegateError):
    """Recorded effects could not be read; ``position`` is the index of the faulty one."""

    code = "invalid-effects"

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(f"{message} (entry {position})")
        self.message = message
        self.position = position


class WorkerError(TidegateError):
    """A worker process ended in the middle of its work; the next job gets a new one."""

    code = "worker-ended"
