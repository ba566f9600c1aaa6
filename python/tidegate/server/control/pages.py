"""One page of a list, and the place where the next begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode
from uuid import UUID

import attrs
import msgspec

from tidegate.server.control.call import Answer, Call

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate.server.http.cursor import Paging

T = TypeVar("T")


def page_by_id(
    call: Call,
    read: Callable[[Connection, int, UUID | None], list[T]],
    show: Callable[[T], Any],
    place: Callable[[T], UUID],
) -> Answer:
    """A page of a list that is ordered by id.

    Args:
        read: given a number and an id, at most that many items after the id.
        show: an item as it is answered.
        place: the id of an item.
    """
    after = page_after(call)
    with call.app.store.read() as connection:
        # One item more than is shown says whether there is a next page.
        found = read(connection, call.query.limit + 1, UUID(str(after[0])) if after else None)
    return page_of(call, found, show, lambda item: [str(place(item))])


def page_of(
    call: Call,
    found: Sequence[T],
    show: Callable[[T], Any],
    place: Callable[[T], Sequence[str | int]],
) -> Answer:
    """The answer of a list, made from the items of the page and the one after them, if there is
    one."""
    shown = found[: call.query.limit]
    following = place(shown[-1]) if len(found) > len(shown) else None
    return Answer(body=[show(each) for each in shown], next=following)


def _scope(call: Call) -> str:
    """The scope of a cursor: the list and its query."""
    narrowed = attrs.evolve(call.query, limit=1, cursor=None)
    return f"{call.path}?{urlencode(sorted(_texts(narrowed).items()))}"


def page_after(call: Call) -> Sequence[str | int] | None:
    """The place where the wanted page of a list begins; None for the first.

    Raises:
        Problem: ``invalid-request``; the cursor is not one of this list.
    """
    query: Paging = call.query
    if query.cursor is None:
        return None
    return call.app.cursors.open(query.cursor, _scope(call))


def next_page(call: Call, position: Sequence[str | int]) -> str:
    """The path and query of the page that begins after a position."""
    cursor = call.app.cursors.seal(position, _scope(call))
    return f"{call.path}?{urlencode({**_texts(call.query), 'cursor': cursor})}"


def _texts(query: Any) -> dict[str, str]:
    """A query as it is written: without what was left out."""
    values = msgspec.to_builtins(query)
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in values.items()
        if value is not None
    }
