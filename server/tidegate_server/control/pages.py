"""Pages of a list, and where the next page starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode
from uuid import UUID

import attrs
import msgspec

from tidegate_server.control.call import Answer, Call

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.http.cursor import Paging

T = TypeVar("T")


def page_by_id(
    call: Call,
    read: Callable[[Connection, int, UUID | None], list[T]],
    show: Callable[[T], Any],
    place: Callable[[T], UUID],
) -> Answer:
    """Return a page of a list that is ordered by id.

    Args:
        read: called with a number and an id; returns at most that many items after the id.
        show: converts an item for the answer.
        place: returns the id of an item.
    """
    after = page_after(call)
    with call.app.store.read() as connection:
        # One item more than is shown tells whether there is a next page.
        found = read(connection, call.query.limit + 1, UUID(str(after[0])) if after else None)
    return page_of(call, found, show, lambda item: [str(place(item))])


def page_of(
    call: Call,
    found: Sequence[T],
    show: Callable[[T], Any],
    place: Callable[[T], Sequence[str | int]],
) -> Answer:
    """Build a list's answer from the items of the page and the following one, if any."""
    shown = found[: call.query.limit]
    following = place(shown[-1]) if len(found) > len(shown) else None
    return Answer(body=[show(each) for each in shown], next=following)


def _scope(call: Call) -> str:
    """Return the scope of a cursor: the list and its query."""
    narrowed = attrs.evolve(call.query, limit=1, cursor=None)
    return f"{call.path}?{urlencode(sorted(_texts(narrowed).items()))}"


def page_after(call: Call) -> Sequence[str | int] | None:
    """Return where the requested page of a list starts; None for the first.

    Raises:
        Problem: ``invalid-request``; the cursor isn't one of this list.
    """
    query: Paging = call.query
    if query.cursor is None:
        return None
    return call.app.cursors.open(query.cursor, _scope(call))


def next_page(call: Call, position: Sequence[str | int]) -> str:
    """Return the path and query of the page after a position."""
    cursor = call.app.cursors.seal(position, _scope(call))
    return f"{call.path}?{urlencode({**_texts(call.query), 'cursor': cursor})}"


def _texts(query: Any) -> dict[str, str]:
    """Return a query as it is written, without omitted parameters."""
    values = msgspec.to_builtins(query)
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in values.items()
        if value is not None
    }
