"""A decision as callers see it, and the interface that returns one.

The in-process engine and the service's clients return decisions of the same shape, so that a
program, a middleware or a test can be written for any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar

import attrs

import tidegate.notebook as notebook

if TYPE_CHECKING:
    from tidegate.event_form import Event

ActionType: TypeAlias = Literal["allow", "challenge", "block"]
Reason: TypeAlias = Literal[
    "no-match",
    "policy",
    "active-mitigation",
    "budget-exceeded",
    "challenge-proof",
    "banned",
    "exempt",
    "fail-open",
    "fail-closed",
]
DEFAULT_STATUS = 403
"""The default status of a block."""


@attrs.frozen
class Allow:
    """Let the request pass."""

    type: Literal["allow"] = attrs.field(default="allow", init=False)


@attrs.frozen(kw_only=True)
class Challenge:
    """Ask the visitor to complete a challenge first.

    Attributes:
        redirect_url: where the service sends the visitor; None from an engine, whose program
            provides its own challenge.
        provider: the challenge's provider; None from a client, because the service handles it.
        difficulty: None from a client, too.
        return_url: where the visitor wants to go afterwards, if known.
    """

    type: Literal["challenge"] = attrs.field(default="challenge", init=False)
    redirect_url: str | None = None
    provider: str | None = None
    difficulty: int | None = None
    return_url: str | None = None


@attrs.frozen
class Block:
    """Reject the request.

    Attributes:
        status_code: the HTTP status, 400 to 599.
        body: the response body.
        headers: the response headers.
    """

    type: Literal["block"] = attrs.field(default="block", init=False)
    status_code: int = DEFAULT_STATUS
    body: str = ""
    headers: Mapping[str, str] = attrs.field(factory=dict)


Action: TypeAlias = Allow | Challenge | Block
"""Distinguish them with ``match``, or by ``type``."""


@attrs.frozen
class Decision:
    """The decision on one request.

    Attributes:
        action: the action to carry out; :class:`Allow`, :class:`Challenge` or :class:`Block`.
        reason: the reason, as one word.
        decision_id: the id under which a service recorded it; None if it isn't recorded.
    """

    action: Action
    reason: Reason
    decision_id: str | None = attrs.field(default=None, kw_only=True)

    def _repr_html_(self) -> str:
        return notebook.table((), self._shown())

    def _shown(self) -> list[tuple[str, object]]:
        """The rows shown in a notebook."""
        how = attrs.asdict(self.action, filter=lambda _, value: value not in (None, "", {}))
        return [("action", how.pop("type")), *how.items(), ("reason", self.reason)]


Answer_co = TypeVar("Answer_co", covariant=True)


class Decider(Protocol[Answer_co]):
    """Anything that decides on events.

    An engine and a ``Client`` are a ``Decider[Decision]``, an ``AsyncClient`` is a
    ``Decider[Awaitable[Decision]]``.
    """

    def decide(self, event: Event, /) -> Answer_co:
        """Decide on one event and count it.

        Args:
            event: in the shape of docs/fields.md.

        Raises:
            EventError: the event is rejected; nothing is counted.
        """
        ...
