"""A decision as the calling program sees it, and the interface that gives one.

The engine in the process and the clients of a service give decisions of one shape, so that a
program, a middleware or a test can be written for any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import attrs

from tidegate import notebook

ActionType: TypeAlias = Literal["allow", "challenge", "block"]
Reason: TypeAlias = Literal[
    "no-match",
    "policy",
    "active-mitigation",
    "budget-exceeded",
    "challenge-proof",
    "fail-open",
    "fail-closed",
]
DEFAULT_STATUS = 403
"""The status of a block that names none."""


@attrs.frozen
class Allow:
    """Let the request pass."""

    type: Literal["allow"] = attrs.field(default="allow", init=False)


@attrs.frozen(kw_only=True)
class Challenge:
    """Have the visitor complete a challenge first.

    Attributes:
        redirect_url: where a service wants the visitor sent; None from an engine, whose program
            has a challenge of its own.
        provider: of the challenge; None from a client, because the service deals with it.
        difficulty: the same.
        return_url: where the visitor wants to go afterwards, as far as it is known.
    """

    type: Literal["challenge"] = attrs.field(default="challenge", init=False)
    redirect_url: str | None = None
    provider: str | None = None
    difficulty: int | None = None
    return_url: str | None = None


@attrs.frozen
class Block:
    """Refuse the request.

    Attributes:
        status_code: of HTTP, 400 to 599.
        body: what the visitor is sent.
        headers: the same.
    """

    type: Literal["block"] = attrs.field(default="block", init=False)
    status_code: int = DEFAULT_STATUS
    body: str = ""
    headers: Mapping[str, str] = attrs.field(factory=dict)


Action: TypeAlias = Allow | Challenge | Block
"""``match`` tells them apart, and so does ``type``."""


@attrs.frozen
class Decision:
    """The decision on one request.

    Attributes:
        action: to be done; :class:`Allow`, :class:`Challenge` or :class:`Block`.
        reason: why, in one word.
        decision_id: what a service has recorded it under; None where nothing is recorded.
    """

    action: Action
    reason: Reason
    decision_id: str | None = attrs.field(default=None, kw_only=True)

    def _repr_html_(self) -> str:
        return notebook.table((), self._shown())

    def _shown(self) -> list[tuple[str, object]]:
        """The rows that a notebook shows."""
        how = attrs.asdict(self.action, filter=lambda _, value: value not in (None, "", {}))
        return [("action", how.pop("type")), *how.items(), ("reason", self.reason)]


Answer_co = TypeVar("Answer_co", covariant=True)


class Decider(Protocol[Answer_co]):
    """Whatever decides on events.

    An engine and a ``Client`` are a ``Decider[Decision]``, an ``AsyncClient`` is a
    ``Decider[Awaitable[Decision]]``.
    """

    def decide(self, event: Mapping[str, Any], /) -> Answer_co:
        """Decide on one event and count it.

        Args:
            event: in the shape of docs/fields.md.

        Raises:
            EventError: the event is refused; nothing is counted.
        """
        ...
